"""Resource claims that are no longer used: reservations end with their pods, devices with the last reservation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.resource_claims import claim_names
from kubesched.cluster.controllers.workqueue import Key
from kubesched.cluster.records import ClaimRecord, PodRecord
from kubesched.objects import PodGroup
from kubesched.objects.base import Json
from kubesched.objects.dra import ResourceClaimConsumerReference

NAME: Final = "resource-claim-release"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""The scheduler's: it allocated the claim, and a claim with devices must not vanish."""


class ClaimReleaseController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._resource = context.resource_claims.resource
        context.resource_claims.listen(self._claim_changed)
        context.pods.listen(self._pod_changed)
        context.pod_groups.listen(self._group_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        """`syncClaim`: a claim that nobody has used yet keeps what it has, one that nobody uses any more does not."""
        claim = self._context.resource_claims.get(name, namespace)
        if claim is None:
            return
        metadata, consumers = claim.metadata, claim.status.reserved_for
        gone = [consumer for consumer in consumers if not self._is_there(namespace, consumer)]
        in_use = len(gone) < len(consumers)
        ends = not in_use and (bool(gone) or metadata.deletion_timestamp is not None)
        frees = ends and FINALIZER in metadata.finalizers
        if gone or frees:
            self._release(claim, {consumer.uid for consumer in gone}, devices_too=frees)
        if frees:
            self._unprotect(claim)
        if not in_use and self._owner_has_ended(claim):
            self._context.delete(self._resource, metadata)

    def _is_there(self, namespace: str, consumer: ResourceClaimConsumerReference) -> bool:
        """Whether a consumer may still use its devices; of a kind that we do not know, we never know that it ended."""
        match consumer.api_group, consumer.resource:
            case "", "pods":
                pod = self._context.pods.get(consumer.name, namespace)
                return pod is not None and pod.metadata.uid == consumer.uid and not _has_ended(pod)
            case "scheduling.k8s.io", "podgroups":
                group = self._context.pod_groups.get(consumer.name, namespace)
                return group is not None and group.metadata.uid == consumer.uid
        return True

    def _release(self, claim: ClaimRecord, gone: set[str], *, devices_too: bool) -> None:
        """Devices stay if the claim was reserved again meanwhile: what is not durable yet, we have not seen."""

        def release(status: Json) -> None:
            left = [item for item in status.get("reservedFor") or () if item.get("uid") not in gone]
            _set_or_drop(status, "reservedFor", left)
            if devices_too and not left:
                status.pop("allocation", None)
                status.pop("devices", None)  # what drivers said of them (`dropDeallocatedStatusDevices`)

        self._context.set_status(self._resource, claim.metadata, release)

    def _unprotect(self, claim: ClaimRecord) -> None:
        """Unless it has devices; a claim that is being deleted goes with its protection."""

        def unprotect(value: Json) -> None:
            metadata = value["metadata"]
            if "allocation" not in (value.get("status") or {}):
                left = [item for item in metadata.get("finalizers") or () if item != FINALIZER]
                _set_or_drop(metadata, "finalizers", left)

        self._context.change(self._resource, claim.metadata, unprotect)

    def _owner_has_ended(self, claim: ClaimRecord) -> bool:
        """The claim was made for a pod that will not run again. With a pod that is gone, garbage collection deletes it.

        Claims of extended resources are such claims, too: the scheduler makes them in the name of the pod.
        """
        owner = claim.metadata.controller_of
        if owner is None or (owner.api_version, owner.kind) != ("v1", "Pod"):
            return False
        pod = self._context.pods.get(owner.name, claim.metadata.namespace)
        return pod is not None and _has_ended(pod)

    # ---- following ------------------------------------------------------------------------------------------------

    def _claim_changed(self, old: ClaimRecord | None, new: ClaimRecord | None) -> None:
        if new is not None:
            self._context.enqueue(NAME, new.metadata)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if new is not None and _has_ended(new):
            self._enqueue(new.metadata.namespace, _claims_of(new))
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._enqueue(old.metadata.namespace, _claims_of(old))

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            names = claim_names(old.spec.resource_claims, old.status.resource_claim_statuses)
            self._enqueue(old.metadata.namespace, names)

    def _enqueue(self, namespace: str, names: Iterable[str]) -> None:
        for name in names:
            self._context.queue.add(Key(NAME, namespace, name))


def _has_ended(pod: PodRecord) -> bool:
    """None of its containers runs or ever will (`isPodDone`): devices of a pod that is stopping are still in use."""
    return pod.is_finished or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


def _set_or_drop(part: Json, key: str, items: list[Any]) -> None:
    """As Go encodes it: an empty list is left out."""
    part.pop(key, None)
    if items:
        part[key] = items


def _claims_of(pod: PodRecord) -> list[str]:
    names = claim_names(pod.spec.resource_claims, pod.status.resource_claim_statuses)
    extended = pod.status.extended_resource_claim_status
    return names if extended is None else [*names, extended.resource_claim_name]
