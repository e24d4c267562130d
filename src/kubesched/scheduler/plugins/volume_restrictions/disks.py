"""Disks written into pods that several pods cannot share on one node (isVolumeConflict)."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched.objects.volume import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
    Volume,
)

Disk = GCEPersistentDiskVolumeSource | AWSElasticBlockStoreVolumeSource | ISCSIVolumeSource | RBDVolumeSource


def disks_of(volumes: Sequence[Volume]) -> tuple[Disk, ...]:
    """The volumes that may conflict with those of other pods."""
    sources = [(v.gce_persistent_disk, v.aws_elastic_block_store, v.iscsi, v.rbd) for v in volumes]
    return tuple([disk for disks in sources for disk in disks if disk is not None])


def in_conflict(disks: Sequence[Disk], others: Sequence[Disk]) -> bool:
    """Whether any two of them are the same disk and may not be mounted twice."""
    return any(_conflict(disk, other) for disk in disks for other in others)


def _conflict(disk: Disk, other: Disk) -> bool:
    """Two pods may only read the same disk, and on AWS not even that."""
    match disk, other:
        case GCEPersistentDiskVolumeSource(), GCEPersistentDiskVolumeSource():
            return disk.pd_name == other.pd_name and not (disk.read_only and other.read_only)
        case AWSElasticBlockStoreVolumeSource(), AWSElasticBlockStoreVolumeSource():
            return disk.volume_id == other.volume_id
        case ISCSIVolumeSource(), ISCSIVolumeSource():
            return disk.iqn == other.iqn and not (disk.read_only and other.read_only)
        case RBDVolumeSource(), RBDVolumeSource():
            same_image = (disk.pool, disk.image) == (other.pool, other.image)
            same_cluster = not set(disk.monitors).isdisjoint(other.monitors)
            return same_image and same_cluster and not (disk.read_only and other.read_only)
        case _:
            return False
