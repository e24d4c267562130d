"""Disks written into pods that several pods cannot share on one node (isVolumeConflict)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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


Mounts = Mapping[tuple[str, ...], bool]
"""What is mounted, and whether to write: two pods may only read the same disk."""


def mounts_of(disks: Iterable[Disk]) -> Mounts:
    mounts: dict[tuple[str, ...], bool] = {}
    for disk in disks:
        for what, writes in _mounts(disk):
            mounts[what] = mounts.get(what, False) or writes
    return mounts


def in_conflict(mounts: Mounts, others: Mounts) -> bool:
    """Whether any two of them are the same disk and may not be mounted twice."""
    fewer, more = (mounts, others) if len(mounts) <= len(others) else (others, mounts)
    return any(writes or more[what] for what, writes in fewer.items() if what in more)


def _mounts(disk: Disk) -> Iterator[tuple[tuple[str, ...], bool]]:
    match disk:
        case GCEPersistentDiskVolumeSource():
            yield ("gce", disk.pd_name), not disk.read_only
        case AWSElasticBlockStoreVolumeSource():
            yield ("aws", disk.volume_id), True  # two pods may not even read it
        case ISCSIVolumeSource():
            yield ("iscsi", disk.iqn), not disk.read_only
        case RBDVolumeSource():
            for monitor in disk.monitors:  # clusters that share one are the same
                yield ("rbd", disk.pool, disk.image, monitor), not disk.read_only
