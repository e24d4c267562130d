"""What controllers and kubelets read of objects: slim structs that are kept for every object of the cluster.

Whoever writes an object works on the whole of it, as the API hands it out.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from kubesched.objects.affinity import Taint, Toleration
from kubesched.objects.base import Json, KubeStruct
from kubesched.objects.dra import ResourceClaimConsumerReference
from kubesched.objects.meta import ObjectMeta, OwnerReference
from kubesched.objects.pod import (
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSchedulingGroup,
)

FINISHED: Final = ("Succeeded", "Failed")


class ConditionRecord(KubeStruct):
    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: datetime | None = None


class ContainerPortRecord(KubeStruct):
    name: str = ""
    container_port: int = 0
    protocol: str = ""


class ContainerRecord(KubeStruct):
    restart_policy: str = ""
    ports: tuple[ContainerPortRecord, ...] = ()


class PodSpecRecord(KubeStruct):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: tuple[ContainerRecord, ...] = ()
    init_containers: tuple[ContainerRecord, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None


class ContainerStatusRecord(KubeStruct):
    restart_count: int = 0


class PodAddressRecord(KubeStruct):
    ip: str = ""


class PodStatusRecord(KubeStruct):
    phase: str = ""
    pod_ips: tuple[PodAddressRecord, ...] = msgspec.field(default=(), name="podIPs")
    container_statuses: tuple[ContainerStatusRecord, ...] = ()
    conditions: tuple[ConditionRecord, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class PodRecord(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpecRecord = PodSpecRecord()
    status: PodStatusRecord = PodStatusRecord()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in FINISHED

    @property
    def is_active(self) -> bool:
        """It counts for its controller: neither finished nor being deleted (`IsPodActive`)."""
        return self.status.phase not in FINISHED and self.metadata.deletion_timestamp is None

    @property
    def ready_since(self) -> datetime | None:
        """Since when the pod has been ready; None if it is not."""
        for condition in self.status.conditions:
            if condition.type == "Ready" and condition.status == "True":
                return condition.last_transition_time
        return None

    @property
    def is_ready(self) -> bool:
        return self.ready_since is not None


class NodeSpecRecord(KubeStruct):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatusRecord(KubeStruct):
    conditions: tuple[ConditionRecord, ...] = ()


class NodeRecord(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpecRecord = NodeSpecRecord()
    status: NodeStatusRecord = NodeStatusRecord()

    @property
    def ready(self) -> str:
        """The Ready condition: True, False, Unknown; empty as long as nobody has reported."""
        return next((item.status for item in self.status.conditions if item.type == "Ready"), "")


class WorkloadRecord(KubeStruct):
    """Any object with a spec and a status; those two are as the API has them."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Json = msgspec.field(default_factory=dict)
    status: Json = msgspec.field(default_factory=dict)


class StorageClassRecord(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    reclaim_policy: str = ""
    volume_binding_mode: str = ""


class ClaimStatusRecord(KubeStruct):
    allocation: Json | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()


class ClaimRecord(KubeStruct):
    """A ResourceClaim: who uses it, and whether it has devices."""

    metadata: ObjectMeta = ObjectMeta()
    status: ClaimStatusRecord = ClaimStatusRecord()


class RevisionRecord(KubeStruct):
    """A ControllerRevision: a template that a StatefulSet or DaemonSet has or had."""

    metadata: ObjectMeta = ObjectMeta()
    data: Json = msgspec.field(default_factory=dict)
    revision: int = 0


class EndpointSliceRecord(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    address_type: str = ""
    ports: tuple[Json, ...] | None = None
    endpoints: tuple[Json, ...] | None = None


class IdentityRecord(KubeStruct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: datetime | None = None


class OwnedRecord(KubeStruct):
    """Any object, for those who only ask whom it belongs to."""

    metadata: IdentityRecord = IdentityRecord()


def controller_uid(metadata: ObjectMeta) -> str:
    """The uid of the owner that manages the object; empty if nobody does."""
    for owner in metadata.owner_references:  # asked a dozen times per change of a pod
        if owner.controller:
            return owner.uid
    return ""


def owner_reference(api_version: str, kind: str, owner: ObjectMeta) -> Json:
    """The reference that a controller puts into what it makes (`metav1.NewControllerRef`)."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
