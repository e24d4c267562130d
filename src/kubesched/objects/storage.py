"""Persistent volumes, claims, storage classes and what CSI drivers report."""

from __future__ import annotations

import msgspec

from kubesched.objects.affinity import NodeSelector
from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import LabelSelector, ObjectMeta, ObjectReference
from kubesched.objects.quantity import Quantity
from kubesched.objects.volume import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    PersistentVolumeClaimSpec,
    PortworxVolumeSource,
    VsphereVirtualDiskVolumeSource,
)


class PersistentVolumeClaimStatus(KubeStruct):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, Quantity] = {}
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class VolumeNodeAffinity(KubeStruct):
    required: NodeSelector | None = None


class CSIPersistentVolumeSource(KubeStruct):
    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}


class LocalVolumeSource(KubeStruct):
    path: str = ""


class HostPathVolumeSource(KubeStruct):
    path: str = ""


class PersistentVolumeSpec(KubeStruct):
    capacity: dict[str, Quantity] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None


class PersistentVolumeStatus(KubeStruct):
    phase: str = ""


class PersistentVolume(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologySelectorLabelRequirement(KubeStruct):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(KubeStruct):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(KubeStruct):
    count: int | None = None


class CSINodeDriver(KubeStruct):
    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(KubeStruct):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(KubeStruct):
    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(KubeStruct):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(KubeStruct):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(KubeStruct):
    attached: bool = False


class VolumeAttachment(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()


class VolumeAttributesClass(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    driver_name: str = ""
    parameters: dict[str, str] = {}
