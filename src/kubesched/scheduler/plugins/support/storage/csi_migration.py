"""Volumes of in-tree plugins as the CSI driver sees them that has replaced the plugin (csi-translation-lib)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec

from kubesched.errors import InvalidObjectError
from kubesched.objects import PersistentVolume
from kubesched.objects.storage import PersistentVolumeSpec
from kubesched.objects.volume import AzureDiskVolumeSource, Volume
from kubesched.scheduler.plugins.support.storage.csi_topology import BETA_ZONE, ZONE, ZONE_DELIMITER, with_csi_topology

_UNSPECIFIED: Final = "UNSPECIFIED"
_EBS_VOLUME: Final = re.compile(r"vol-[^/]*")


@dataclass(frozen=True, slots=True)
class InTreePlugin:
    """An in-tree volume plugin. `is_migrated` says that its volumes are always handled by the driver.

    Azure Files and vSphere can be translated as well, but the scheduler does not do it (isCSIMigrationOn).
    """

    name: str
    driver: str
    field: str
    topology_key: str = ""
    is_migrated: bool = True


PLUGINS: Final = (
    InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "gce_persistent_disk", "topology.gke.io/zone"),
    InTreePlugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "aws_elastic_block_store", "topology.ebs.csi.aws.com/zone"
    ),
    InTreePlugin(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "cinder", "topology.cinder.csi.openstack.org/zone"
    ),
    InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com", "azure_disk"),
    InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com", "portworx_volume"),
    InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com", "azure_file", is_migrated=False),
    InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "vsphere_volume", is_migrated=False),
)
PLUGIN_BY_NAME: Final = {plugin.name: plugin for plugin in PLUGINS}


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """The in-tree plugin of a pod's own volume or of a persistent volume, if a CSI driver has replaced it."""
    return next((plugin for plugin in PLUGINS if getattr(source, plugin.field) is not None), None)


def inline_handle(volume: Volume) -> str:
    """The CSI volume handle of a migrated volume that is written into a pod. InvalidObjectError if it has none."""
    if volume.gce_persistent_disk is not None:
        return f"projects/{_UNSPECIFIED}/zones/{_UNSPECIFIED}/disks/{volume.gce_persistent_disk.pd_name}"
    return _handle(volume)


def volume_handle(volume: PersistentVolume) -> str:
    """The CSI volume handle of a migrated persistent volume. InvalidObjectError if it has none."""
    if volume.spec.gce_persistent_disk is not None:
        return _gce_handle(volume, volume.spec.gce_persistent_disk.pd_name)
    return _handle(volume.spec)


def translated(volume: PersistentVolume, plugin: InTreePlugin) -> PersistentVolume:
    """A migrated volume with its node affinity in the driver's terms. InvalidObjectError if it does not translate."""
    volume_handle(volume)
    if not plugin.topology_key:
        return volume
    affinity = with_csi_topology(volume, plugin.topology_key)
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, node_affinity=affinity))


def _handle(source: Volume | PersistentVolumeSpec) -> str:
    if source.aws_elastic_block_store is not None:
        return _ebs_volume_id(source.aws_elastic_block_store.volume_id)
    if source.azure_disk is not None:
        return _azure_disk(source.azure_disk)
    if source.cinder is not None:
        return source.cinder.volume_id
    if source.portworx_volume is not None:
        return source.portworx_volume.volume_id
    raise InvalidObjectError("could not find in-tree plugin translation logic")


def _gce_handle(volume: PersistentVolume, disk: str) -> str:
    labels = volume.metadata.labels
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    regions: set[str] = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise InvalidObjectError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise InvalidObjectError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{found}]"
        )
    return regions.pop()


def _ebs_volume_id(written: str) -> str:
    """`aws://<zone>/<id>`, `aws:///<id>` or just the id (KubernetesVolumeIDToEBSVolumeID)."""
    if not written.startswith("aws://"):
        return written
    volume_id = urlsplit(written).path.strip("/")
    if not _EBS_VOLUME.fullmatch(volume_id):
        raise InvalidObjectError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({written})"
        )
    return volume_id


def _azure_disk(source: AzureDiskVolumeSource) -> str:
    if source.kind and source.kind.lower() != "managed":
        raise InvalidObjectError(f"kind({source.kind}) is not supported in csi migration")
    return source.disk_uri
