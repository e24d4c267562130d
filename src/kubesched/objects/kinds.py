"""The kinds of objects that kubesched knows: one visible dict."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubesched.objects.base import KubeStruct
from kubesched.objects.coordination import Lease, LeaseCandidate
from kubesched.objects.dra import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kubesched.objects.event import Event
from kubesched.objects.node import Node
from kubesched.objects.pod import Pod
from kubesched.objects.scheduling import PodGroup, Workload
from kubesched.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kubesched.objects.workload import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


class Kind(NamedTuple):
    """How a kind is named on the wire, and the struct that holds it."""

    name: str
    struct: type[KubeStruct]
    api_version: str
    plural: str
    namespaced: bool
    older_versions: tuple[str, ...] = ()
    """API versions of the same shape, which files and traces may still name."""

    @property
    def path(self) -> str:
        """Where the API server serves this kind: `/api/v1/…` or `/apis/<group>/<version>/…`, across namespaces."""
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}/{self.plural}"


KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("Pod", Pod, "v1", "pods", True),
        Kind("Node", Node, "v1", "nodes", False),
        Kind("Namespace", Namespace, "v1", "namespaces", False),
        Kind("Service", Service, "v1", "services", True),
        Kind("ReplicationController", ReplicationController, "v1", "replicationcontrollers", True),
        Kind("PersistentVolume", PersistentVolume, "v1", "persistentvolumes", False),
        Kind("PersistentVolumeClaim", PersistentVolumeClaim, "v1", "persistentvolumeclaims", True),
        Kind("ReplicaSet", ReplicaSet, "apps/v1", "replicasets", True),
        Kind("StatefulSet", StatefulSet, "apps/v1", "statefulsets", True),
        Kind("PodDisruptionBudget", PodDisruptionBudget, "policy/v1", "poddisruptionbudgets", True),
        Kind("PriorityClass", PriorityClass, "scheduling.k8s.io/v1", "priorityclasses", False),
        Kind("PodGroup", PodGroup, "scheduling.k8s.io/v1alpha2", "podgroups", True),
        Kind("Workload", Workload, "scheduling.k8s.io/v1alpha2", "workloads", True),
        Kind("StorageClass", StorageClass, "storage.k8s.io/v1", "storageclasses", False),
        Kind("CSINode", CSINode, "storage.k8s.io/v1", "csinodes", False),
        Kind("CSIDriver", CSIDriver, "storage.k8s.io/v1", "csidrivers", False),
        Kind("CSIStorageCapacity", CSIStorageCapacity, "storage.k8s.io/v1", "csistoragecapacities", True),
        Kind("VolumeAttachment", VolumeAttachment, "storage.k8s.io/v1", "volumeattachments", False),
        Kind("VolumeAttributesClass", VolumeAttributesClass, "storage.k8s.io/v1", "volumeattributesclasses", False),
        Kind("ResourceSlice", ResourceSlice, "resource.k8s.io/v1", "resourceslices", False),
        Kind("DeviceClass", DeviceClass, "resource.k8s.io/v1", "deviceclasses", False),
        Kind(
            "DeviceTaintRule",
            DeviceTaintRule,
            "resource.k8s.io/v1",
            "devicetaintrules",
            namespaced=False,
            older_versions=("resource.k8s.io/v1beta2",),
        ),
        Kind("ResourceClaim", ResourceClaim, "resource.k8s.io/v1", "resourceclaims", True),
        Kind("ResourceClaimTemplate", ResourceClaimTemplate, "resource.k8s.io/v1", "resourceclaimtemplates", True),
        Kind("Lease", Lease, "coordination.k8s.io/v1", "leases", True),
        Kind("LeaseCandidate", LeaseCandidate, "coordination.k8s.io/v1beta1", "leasecandidates", True),
        Kind("Event", Event, "events.k8s.io/v1", "events", True),
    )
}

KIND_OF: Final[dict[type, Kind]] = {kind.struct: kind for kind in KINDS.values()}
