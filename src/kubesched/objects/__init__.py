"""The Kubernetes objects that scheduling reads, as slim frozen structs. No policy, no I/O.

Here: the kinds, and the codec. What kinds are made of is imported from its module (`objects.pod`, `objects.affinity`).
"""

from __future__ import annotations

from kubesched.objects.codec import convert, decode, decode_object, decoding, encode, to_builtins, to_manifest
from kubesched.objects.coordination import Lease, LeaseCandidate
from kubesched.objects.custom import ConfigMap, CustomObject, CustomResource, PlainObject, plain_kind
from kubesched.objects.dra import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kubesched.objects.event import Event
from kubesched.objects.kinds import KIND_OF, KINDS, Kind, is_kind
from kubesched.objects.manifests import load_manifests
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

__all__ = [
    "KINDS",
    "KIND_OF",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "ConfigMap",
    "CustomObject",
    "CustomResource",
    "DeviceClass",
    "DeviceTaintRule",
    "Event",
    "Kind",
    "Lease",
    "LeaseCandidate",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PlainObject",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "StorageClass",
    "VolumeAttachment",
    "VolumeAttributesClass",
    "Workload",
    "convert",
    "decode",
    "decode_object",
    "decoding",
    "encode",
    "is_kind",
    "load_manifests",
    "plain_kind",
    "to_builtins",
    "to_manifest",
]
