"""Which events may make a pod schedulable that its volumes kept from being so."""

from __future__ import annotations

from typing import Final

from kubesched.objects import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource
from kubesched.scheduler.plugins.support.storage.csi_nodes import MIGRATED_PLUGINS
from kubesched.scheduler.plugins.volume_binding.provisioning import volume_limit


def _after_class_changed(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> Hint:
    if old is None or old.allowed_topologies != new.allowed_topologies:
        return Hint.QUEUE
    return Hint.SKIP


def _after_claim_changed(pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> Hint:
    template = pod.template
    is_mine = new.metadata.namespace == template.namespace and any(
        claim.name == new.metadata.name for claim in template.volume_claims
    )
    return Hint.QUEUE if is_mine else Hint.SKIP


def _after_csi_node_changed(pod: PodInfo, old: CSINode | None, new: CSINode) -> Hint:
    if old is None:
        return Hint.QUEUE
    before, after = (csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "") for csi_node in (old, new))
    return Hint.QUEUE if before != after else Hint.SKIP


def _after_csi_driver_updated(pod: PodInfo, old: CSIDriver, new: CSIDriver) -> Hint:
    """The driver of one of the pod's own CSI volumes no longer wants its capacity checked."""
    uses_driver = any(
        volume.csi is not None and volume.csi.driver == new.metadata.name for volume in pod.template.spec.volumes
    )
    stopped_checking = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    return Hint.QUEUE if uses_driver and stopped_checking else Hint.SKIP


def _after_capacity_changed(pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> Hint:
    if old is None:
        return Hint.QUEUE
    before, after = volume_limit(old), volume_limit(new)
    has_grown = after is not None and (before is None or after.value() > before.value())
    return Hint.QUEUE if has_grown else Hint.SKIP


_CHANGED: Final = Action.ADD | Action.UPDATE

EVENTS: Final = (
    EventHint(ClusterEvent(Resource.STORAGE_CLASS, _CHANGED), _after_class_changed, per_template=True),
    EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, _CHANGED), _after_claim_changed, per_template=True),
    EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME, _CHANGED)),
    EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
    EventHint(ClusterEvent(Resource.CSI_NODE, _CHANGED), _after_csi_node_changed, per_template=True),
    EventHint(ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE), _after_csi_driver_updated, per_template=True),
    EventHint(ClusterEvent(Resource.CSI_STORAGE_CAPACITY, _CHANGED), _after_capacity_changed, per_template=True),
)
