"""Volumes of a pod, and the sources they share with persistent volumes."""

from __future__ import annotations

import msgspec

from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import LabelSelector, ObjectMeta, TypedLocalObjectReference
from kubesched.objects.quantity import Quantity


class GCEPersistentDiskVolumeSource(KubeStruct):
    pd_name: str = ""
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AzureDiskVolumeSource(KubeStruct):
    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    caching_mode: str = ""
    fs_type: str = ""
    read_only: bool | None = None
    kind: str = ""


class AzureFileVolumeSource(KubeStruct):
    secret_name: str = ""
    secret_namespace: str = ""
    share_name: str = ""
    read_only: bool = False


class CinderVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class PortworxVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class VsphereVirtualDiskVolumeSource(KubeStruct):
    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = msgspec.field(default="", name="storagePolicyID")


class RBDVolumeSource(KubeStruct):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    fs_type: str = ""
    read_only: bool = False


class ISCSIVolumeSource(KubeStruct):
    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    fs_type: str = ""
    read_only: bool = False


class CSIVolumeSource(KubeStruct):
    """A CSI volume that is written into the pod itself."""

    driver: str = ""
    read_only: bool | None = None
    volume_attributes: dict[str, str] = {}


class PersistentVolumeClaimVolumeSource(KubeStruct):
    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(KubeStruct):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class PersistentVolumeClaimSpec(KubeStruct):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedLocalObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(KubeStruct):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class ImageVolumeSource(KubeStruct):
    reference: str = ""
    pull_policy: str = ""


class Volume(KubeStruct):
    """A pod's volume. Sources that scheduling never looks at (configMap, emptyDir, …) leave all fields unset."""

    name: str = ""
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    image: ImageVolumeSource | None = None
