"""Which events may make room for a pod's volumes."""

from __future__ import annotations

from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects import CSINode, PersistentVolumeClaim, Pod, VolumeAttachment
from kubesched.objects.volume import Volume
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource
from kubesched.scheduler.plugins.support.storage.csi_migration import in_tree_plugin, inline_handle


def _after_csi_node_updated(pod: PodInfo, old: CSINode, new: CSINode) -> Hint:
    """A limit has grown; no limit counts as 0 here."""
    before = _limits(old)
    has_grown = any(limit > before.get(driver, 0) for driver, limit in _limits(new).items())
    return Hint.QUEUE if has_grown else Hint.SKIP


def _after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> Hint:
    if not (old.spec.node_name or old.status.nominated_node_name):
        return Hint.SKIP
    return Hint.QUEUE if any(map(_may_be_attached, old.spec.volumes)) else Hint.SKIP


def _after_claim_added(pod: PodInfo, old: None, new: PersistentVolumeClaim) -> Hint:
    template = pod.template
    is_mine = new.metadata.namespace == template.namespace and any(
        claim.name == new.metadata.name for claim in template.volume_claims
    )
    return Hint.QUEUE if is_mine else Hint.SKIP


def _after_attachment_deleted(pod: PodInfo, old: VolumeAttachment, new: None) -> Hint:
    for volume in pod.template.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return Hint.QUEUE
        plugin = in_tree_plugin(volume)
        if plugin is not None and (plugin.driver == old.spec.attacher or not _is_translatable(volume)):
            return Hint.QUEUE
    return Hint.SKIP


def _limits(csi_node: CSINode) -> dict[str, int]:
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in csi_node.spec.drivers
    }


def _may_be_attached(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_plugin(volume) is not None
    )


def _is_translatable(volume: Volume) -> bool:
    plugin = in_tree_plugin(volume)
    if plugin is None or not plugin.is_migrated:
        return True
    try:
        inline_handle(volume)
    except InvalidObjectError:
        return False
    return True


EVENTS: Final = (
    EventHint(ClusterEvent(Resource.CSI_NODE, Action.ADD)),
    EventHint(ClusterEvent(Resource.CSI_NODE, Action.UPDATE), _after_csi_node_updated, per_template=True),
    EventHint(ClusterEvent(Resource.POD, Action.DELETE), _after_pod_deleted, per_template=True),
    EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD), _after_claim_added, per_template=True),
    EventHint(ClusterEvent(Resource.VOLUME_ATTACHMENT, Action.DELETE), _after_attachment_deleted, per_template=True),
)
