"""The kinds of objects that kubesched knows: one visible dict. Plugins may declare others (`objects.custom`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubesched.objects.base import KubeStruct
from kubesched.objects.coordination import Lease, LeaseCandidate
from kubesched.objects.custom import CustomObject
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
    """API versions that the same struct reads, which files, traces and servers may still name."""

    @property
    def path(self) -> str:
        """Where the API server serves this kind: `/api/v1/…` or `/apis/<group>/<version>/…`, across namespaces."""
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}/{self.plural}"

    @property
    def group(self) -> str:
        """The API group; empty for the core's."""
        return self.api_version.rpartition("/")[0]

    @property
    def group_kind(self) -> str:
        """`group/Kind`, as events of the cluster name it; just the kind in the core group."""
        return f"{self.group}/{self.name}" if self.group else self.name


OLDER_GROUPS: Final = ("scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2")

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
        Kind("PodGroup", PodGroup, "scheduling.k8s.io/v1beta1", "podgroups", True, OLDER_GROUPS),
        Kind("Workload", Workload, "scheduling.k8s.io/v1beta1", "workloads", True, OLDER_GROUPS),
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


class _KindOf(dict[type, Kind]):
    """By struct. A struct of a plugin is not among the keys: it says itself what it is."""

    def __missing__(self, struct: type) -> Kind:
        if not (issubclass(struct, CustomObject) and hasattr(struct, "resource")):
            raise KeyError(struct)
        api_version, plural, namespaced, name = struct.resource
        return Kind(name or struct.__name__, struct, api_version, plural, namespaced)


KIND_OF: Final = _KindOf((kind.struct, kind) for kind in KINDS.values())


def is_kind(struct: type) -> bool:
    """Whether a struct is that of a kind, known or declared by a plugin."""
    return struct in KIND_OF or (issubclass(struct, CustomObject) and hasattr(struct, "resource"))
