"""The VolumeRestrictions plugin."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubesched.objects import PersistentVolumeClaim, Pod
from kubesched.scheduler.columns import Booleans, NodeView, PodCount, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PodChange,
    PreFilterPlugin,
    Reason,
    Resource,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_each
from kubesched.scheduler.plugins.support.per_template import PerTemplate, PerVersion
from kubesched.scheduler.plugins.support.storage.claims import READ_WRITE_ONCE_POD, not_found
from kubesched.scheduler.plugins.volume_restrictions.claims_in_use import ClaimsInUse
from kubesched.scheduler.plugins.volume_restrictions.disks import disks_of, in_conflict, mounts_of

NAME: Final = "VolumeRestrictions"
DISK_CONFLICT: Final = Reason.unschedulable("node(s) had no available disk")
CLAIM_CONFLICT: Final = Reason.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


@dataclass(frozen=True, slots=True)
class Exclusive:
    """Claims that the pod must have for itself, and how many of them some placed pod uses."""

    claims: frozenset[str]
    in_use: int


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Keeps pods apart that cannot mount the same disk, and from claims that another pod has for itself."""

    name = NAME
    depends_on = DependsOn.NODE_AND_PODS

    def __init__(self, args: object, handle: Handle) -> None:
        self._claims = handle.objects.of(PersistentVolumeClaim)
        self._in_use = ClaimsInUse(handle.cluster)
        self._cluster = handle.cluster
        self._mounts = PerTemplate(lambda pod: mounts_of(disks_of(pod.spec.volumes)))
        self._sharers = PerVersion(self._count_sharers)

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.ANYTHING if pod.claim_names else DependsOn.NODE_AND_PODS

    def signature(self, pod: PodTemplate) -> Hashable:
        return disks_of(pod.spec.volumes)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        template = pod.template
        exclusive: set[str] = set()
        for name in template.claim_names:
            claim = self._claims.get(name, template.namespace)
            if claim is None:
                return Status.unresolvable(not_found(PersistentVolumeClaim, name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(name)
        in_use = sum(self._in_use.contains((template.namespace, name)) for name in exclusive)
        if not in_use and not self._mounts.of(template):
            return SKIP
        state.write(NAME, Exclusive(frozenset(exclusive), in_use))
        return SUCCESS

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        return without_each("volumes", "volume", pod.spec)

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        return Verdict.first_of(
            nodes,
            (self._disk_conflicts(pod, nodes), DISK_CONFLICT),
            (_claim_conflicts(state.read(NAME, Exclusive), nodes), CLAIM_CONFLICT),
        )

    def _disk_conflicts(self, pod: PodTemplate, nodes: NodeView) -> Booleans:
        if not self._mounts.of(pod):
            return np.zeros(len(nodes), dtype=np.bool_)
        conflicts: Booleans = nodes.pods_on_node(self._sharers.of(pod, self._cluster.counts.drops)) > 0
        return conflicts

    def _count_sharers(self, pod: PodTemplate) -> PodCount:
        """Pods with a disk that the pod cannot share with them."""
        mounts = self._mounts.of(pod)
        return self._cluster.view().count(
            (NAME, disks_of(pod.spec.volumes)), lambda other: int(in_conflict(mounts, self._mounts.of(other)))
        )

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(ClusterEvent(Resource.POD, Action.DELETE), _after_pod_deleted, per_template=True),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
            EventHint(
                ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD), _after_claim_added, per_template=True
            ),
        )


def _claim_conflicts(exclusive: Exclusive, nodes: NodeView) -> Booleans:
    """Claims in use reject every node, unless the "what if" removes their users from it.

    Pods that a "what if" adds or removes count by the names of their claims alone, whatever their namespace, as in
    conflictingPVCRefCountForPod.
    """
    references = np.full(len(nodes), exclusive.in_use, dtype=np.int64)
    if nodes.what_if is not None and exclusive.claims:
        references += nodes.what_if.change(
            lambda other: sum(name in exclusive.claims for name in other.claim_names), len(nodes)
        )
    conflicts: Booleans = references > 0
    return conflicts


def _after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> Hint:
    template = pod.template
    if old.metadata.namespace != template.namespace:
        return Hint.SKIP
    if in_conflict(mounts_of(disks_of(template.spec.volumes)), mounts_of(disks_of(old.spec.volumes))):
        return Hint.QUEUE
    sources = (volume.persistent_volume_claim for volume in old.spec.volumes)
    shares_claim = any(source is not None and source.claim_name in template.claim_names for source in sources)
    return Hint.QUEUE if shares_claim else Hint.SKIP


def _after_claim_added(pod: PodInfo, old: None, new: PersistentVolumeClaim) -> Hint:
    template = pod.template
    is_mine = new.metadata.namespace == template.namespace and new.metadata.name in template.claim_names
    return Hint.QUEUE if is_mine else Hint.SKIP
