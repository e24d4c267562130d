"""Writes what was decided about a pod's volumes, and waits until the volume controller has carried it out."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kubesched.clock import Clock
from kubesched.errors import ClientError, InvalidObjectError
from kubesched.objects import CSINode, Node, PersistentVolume, PersistentVolumeClaim, Pod, to_builtins
from kubesched.objects.meta import ObjectMeta
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import SUCCESS, ApiWriter, ObjectStores, Status
from kubesched.scheduler.plugins.support.storage.claims import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    is_fully_bound,
    not_found,
)
from kubesched.scheduler.plugins.volume_binding.reservation import Binding, Reservation
from kubesched.scheduler.plugins.volume_binding.volume_affinity import affinity_of, as_translated_on

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0
"""kube-scheduler looks every second; most volumes are bound sooner."""


class VolumeBinder:
    """Binds reserved volumes (BindPodVolumes). Nothing is undone here: that is `unreserve`'s."""

    def __init__(
        self, api: ApiWriter, objects: ObjectStores, cluster: ClusterTables, clock: Clock, timeout_seconds: float
    ) -> None:
        self._api = api
        self._cluster = cluster
        self._clock = clock
        self._timeout = timeout_seconds
        self._pods = objects.of(Pod)
        self._claims = objects.of(PersistentVolumeClaim)
        self._volumes = objects.of(PersistentVolume)
        self._csi_nodes = objects.of(CSINode)

    async def bind(self, pod: Pod, reservation: Reservation) -> Status:
        try:
            for binding in reservation.bindings:
                await self._write_volume(binding)
            written = [await self._write_claim(claim) for claim in reservation.provisions]
        except ClientError as error:
            return Status.failed(error)
        return await self._wait(pod, reservation, written)

    async def _write_volume(self, binding: Binding) -> None:
        if not binding.is_changed:
            return
        metadata, reference = binding.volume.metadata, binding.volume.spec.claim_ref
        body = {**_guard(metadata), "spec": {"claimRef": to_builtins(reference)}}
        if BOUND_BY_CONTROLLER in metadata.annotations:
            body["metadata"]["annotations"] = {BOUND_BY_CONTROLLER: metadata.annotations[BOUND_BY_CONTROLLER]}
        answer = await self._api.patch(PersistentVolume, metadata.name, body)
        binding.volume = replace(binding.volume, metadata=_as_written(metadata, answer.metadata))

    async def _write_claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Returns the claim in the version that it has now."""
        metadata = claim.metadata
        body = _guard(metadata)
        body["metadata"]["annotations"] = {SELECTED_NODE: metadata.annotations[SELECTED_NODE]}
        answer = await self._api.patch(PersistentVolumeClaim, metadata.name, body, namespace=metadata.namespace)
        return replace(claim, metadata=_as_written(metadata, answer.metadata))

    async def _wait(self, pod: Pod, reservation: Reservation, written: list[PersistentVolumeClaim]) -> Status:
        deadline = self._clock.monotonic() + self._timeout
        pause = _FIRST_PAUSE
        while True:
            left = deadline - self._clock.monotonic()
            await self._clock.sleep(min(pause, left))
            problem = self._look(pod, reservation, written)
            if problem == "":
                return SUCCESS
            if problem is not None:
                return Status.failed(f"binding volumes: {problem}")
            if left <= pause:
                return Status.failed("binding volumes: context deadline exceeded")
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _look(self, pod: Pod, reservation: Reservation, written: list[PersistentVolumeClaim]) -> str | None:
        """What makes waiting pointless; empty if all is bound, None if it is not yet (checkBindings)."""
        node = self._node(reservation.node_name)
        if node is None:
            return f'failed to get node "{reservation.node_name}": node "{reservation.node_name}" not found'
        if self._pods.get(pod.metadata.name, pod.metadata.namespace) is None:
            return f"pod does not exist any more: {not_found(Pod, pod.metadata.name)}"
        csi_node = self._csi_nodes.get(node.metadata.name)
        for binding in reservation.bindings:
            problem = self._look_at_binding(binding, node, csi_node)
            if problem != "":
                return problem
        for claim in written:
            problem = self._look_at_provision(claim, node, csi_node)
            if problem != "":
                return problem
        return ""

    def _look_at_binding(self, binding: Binding, node: Node, csi_node: CSINode | None) -> str | None:
        name, key = binding.volume.metadata.name, binding.claim.metadata.key
        volume, claim = self._volumes.get(name), self._claims.get(key)
        if volume is None:
            return f'failed to check binding: persistentvolumes "{name}" not found'
        if claim is None:
            return f'failed to check binding: persistentvolumeclaims "{key}" not found'
        if _is_older(volume.metadata, binding.volume.metadata):
            return None
        if problem := _access_problem(
            volume, node, csi_node, "failed to translate pv to csi: could not translate pv: "
        ):
            return problem
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            return f'ClaimRef got reset for pv "{name}"'
        return "" if is_fully_bound(claim) else None

    def _look_at_provision(self, written: PersistentVolumeClaim, node: Node, csi_node: CSINode | None) -> str | None:
        name, key = written.metadata.name, written.metadata.key
        claim = self._claims.get(key)
        if claim is None:
            return f'failed to check provisioning pvc: persistentvolumeclaims "{key}" not found'
        if _is_older(claim.metadata, written.metadata):
            return None
        if not claim.metadata.annotations:
            return f'selectedNode annotation reset for PVC "{name}"'
        if claim.metadata.annotations.get(SELECTED_NODE) != node.metadata.name:
            # The provisioner's way of saying that it has failed.
            return f'provisioning failed for PVC "{name}"'
        if claim.spec.volume_name:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                return None  # it is on its way, or the claim will be unbound again
            if problem := _access_problem(volume, node, csi_node, "could not translate pv: "):
                return problem
        return "" if is_fully_bound(claim) else None

    def _node(self, name: str) -> Node | None:
        row = self._cluster.nodes.row_of.get(name)
        return self._cluster.nodes.nodes[row] if row is not None else None


def _guard(metadata: ObjectMeta) -> dict[str, Any]:
    """A patch that fails if somebody else has changed the object meanwhile."""
    return {"metadata": {"resourceVersion": metadata.resource_version} if metadata.resource_version else {}}


def _as_written(metadata: ObjectMeta, answer: ObjectMeta) -> ObjectMeta:
    return replace(metadata, resource_version=answer.resource_version)


def _access_problem(volume: PersistentVolume, node: Node, csi_node: CSINode | None, untranslatable: str) -> str:
    """Why a node no longer reaches a volume (its labels may have changed); empty if it does."""
    try:
        affinity = affinity_of(as_translated_on(volume, csi_node))
    except InvalidObjectError as error:
        return f"{untranslatable}{error}"
    if affinity is None or affinity.matches(node.metadata.labels, ""):
        return ""
    why = affinity.problem or "no matching NodeSelectorTerms"
    return f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node.metadata.name}": {why}'


def _is_older(seen: ObjectMeta, written: ObjectMeta) -> bool:
    """What was written has not come back yet."""
    return _version(seen) < _version(written)


def _version(metadata: ObjectMeta) -> int:
    return int(metadata.resource_version) if metadata.resource_version.isdecimal() else 0
