"""Claims and volumes find each other; a claim that finds none gets a new one, where its class provides for that.

A claim of a class that waits for its first consumer is left alone until the scheduler has chosen a node for the pod.
"""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.volume_matching import best_volume
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import StorageClassRecord, WorkloadRecord
from kubesched.objects.base import Json

NAME: Final = "claim"
KIND: Final = "PersistentVolumeClaim"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"


class ClaimController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "persistentvolume-controller")
        self._claims = context.claims.resource
        self._volumes = context.volumes.resource
        context.claims.listen(self._claim_changed)
        context.volumes.listen(self._volume_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        claim = self._context.claims.get(name, namespace)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return
        if volume_name := claim.spec.get("volumeName"):
            volume = self._context.volumes.get(volume_name)
            if volume is not None and _may_have(volume, claim):
                self._bind(claim, volume)
            elif claim.metadata.annotations.get(BIND_COMPLETED) and volume is None:
                self._set_phase(claim, {"phase": "Lost"})
            return
        chosen = next((item for item in self._context.volumes if _is_meant_for(item, claim)), None)
        if chosen is None:
            chosen = self._find_or_provision(claim)
        if chosen is not None:
            self._bind(claim, chosen)

    def _find_or_provision(self, claim: WorkloadRecord) -> WorkloadRecord | None:
        storage_class = self._context.storage_classes.get(claim.spec.get("storageClassName", ""))
        waits = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
        node = claim.metadata.annotations.get(SELECTED_NODE, "")
        if waits and not node:
            message = "waiting for first consumer to be created before binding"
            self._tell(claim, "WaitForFirstConsumer", message)
            return None
        if not waits and (found := best_volume(claim, self._context.volumes)) is not None:
            return found
        if storage_class is not None and storage_class.provisioner not in ("", NO_PROVISIONER):
            self._provision(claim, storage_class, node)
        elif not waits:
            message = "no persistent volumes available for this claim and no storage class is set"
            self._tell(claim, "FailedBinding", message)
        return None

    def _provision(self, claim: WorkloadRecord, storage_class: StorageClassRecord, node: str) -> None:
        """Make a volume for the claim; it comes back as one that is meant for it."""
        metadata, spec = claim.metadata, claim.spec
        name = f"pvc-{metadata.uid}"
        if self._context.api.reader.bucket(self._volumes).get("", name) is not None:
            return
        volume_spec: Json = {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": list(spec.get("accessModes") or ()),
            "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
            "storageClassName": storage_class.metadata.name,
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "csi": {"driver": storage_class.provisioner, "volumeHandle": name},
            "claimRef": _reference(claim),
        }
        if affinity := self._affinity(node):
            volume_spec["nodeAffinity"] = affinity
        annotations = {PROVISIONED_BY: storage_class.provisioner}
        volume = {"metadata": {"name": name, "annotations": annotations}, "spec": volume_spec}
        self._context.api.create(self._volumes, volume)
        self._context.change(
            self._claims,
            metadata,
            lambda value: (
                value["metadata"].setdefault("annotations", {}).update({PROVISIONER: storage_class.provisioner})
            ),
        )
        self._tell(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    def _affinity(self, node_name: str) -> Json | None:
        """A disk is in the zone of the node that it was made for; without zones, on that node."""
        node = self._context.nodes.get(node_name)
        if node is None:
            return None
        labels = node.metadata.labels
        key = ZONE if ZONE in labels else HOSTNAME
        if key not in labels:
            return None
        expression = {"key": key, "operator": "In", "values": [labels[key]]}
        return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}

    def _bind(self, claim: WorkloadRecord, volume: WorkloadRecord) -> None:
        """Both sides say that they belong together (`bind`)."""

        def bind_volume(value: Json) -> None:
            reference = value["spec"].get("claimRef") or {}
            if not reference:
                value["metadata"].setdefault("annotations", {})[BOUND_BY_CONTROLLER] = "yes"
            value["spec"]["claimRef"] = _reference(claim) | {
                key: item for key, item in reference.items() if key != "uid"
            }

        def bind_claim(value: Json) -> None:
            annotations = value["metadata"].setdefault("annotations", {})
            if not value["spec"].get("volumeName"):
                annotations[BOUND_BY_CONTROLLER] = "yes"
            annotations[BIND_COMPLETED] = "yes"
            value["spec"]["volumeName"] = volume.metadata.name

        if (volume.spec.get("claimRef") or {}).get("uid") != claim.metadata.uid:
            self._context.change(self._volumes, volume.metadata, bind_volume)
        if volume.status.get("phase") != "Bound":
            now = self._context.timestamp()
            bound = {"phase": "Bound", "lastPhaseTransitionTime": now}
            self._context.set_status(self._volumes, volume.metadata, lambda status: status.update(bound))
        if claim.metadata.annotations.get(BIND_COMPLETED) != "yes" or not claim.spec.get("volumeName"):
            self._context.change(self._claims, claim.metadata, bind_claim)
        self._set_phase(
            claim,
            {
                "phase": "Bound",
                "accessModes": list(volume.spec.get("accessModes") or ()),
                "capacity": dict(volume.spec.get("capacity") or {}),
            },
        )

    def _set_phase(self, claim: WorkloadRecord, status: Json) -> None:
        self._context.set_status(self._claims, claim.metadata, lambda value: value.update(status))

    def _tell(self, claim: WorkloadRecord, reason: str, message: str) -> None:
        self._events.normal(KIND, claim.metadata, reason, message)

    def _claim_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if new is not None and (
            old is None or old.spec != new.spec or old.metadata.annotations != new.metadata.annotations
        ):
            self._context.enqueue(NAME, new.metadata)

    def _volume_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        volume = new or old
        assert volume is not None
        reference = volume.spec.get("claimRef")
        for claim in self._context.claims:
            if reference:
                if (reference.get("namespace"), reference.get("name")) == (
                    claim.metadata.namespace,
                    claim.metadata.name,
                ):
                    self._context.enqueue(NAME, claim.metadata)
            elif not claim.spec.get("volumeName"):
                self._context.enqueue(NAME, claim.metadata)


def _reference(claim: WorkloadRecord) -> Json:
    metadata = claim.metadata
    return {
        "kind": KIND,
        "apiVersion": "v1",
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
    }


def _is_meant_for(volume: WorkloadRecord, claim: WorkloadRecord) -> bool:
    reference = volume.spec.get("claimRef")
    return bool(reference) and _may_have(volume, claim)


def _may_have(volume: WorkloadRecord, claim: WorkloadRecord) -> bool:
    """The volume is nobody's, or this claim's."""
    reference = volume.spec.get("claimRef")
    if not reference:
        return True
    names = (reference.get("namespace"), reference.get("name"))
    return names == (claim.metadata.namespace, claim.metadata.name) and reference.get("uid", "") in (
        "",
        claim.metadata.uid,
    )
