"""The NodeVolumeLimits plugin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

import numpy as np

from kubesched.objects import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeAttachment,
)
from kubesched.scheduler.columns import Booleans, Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    FIXED,
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    PodChange,
    PreFilterPlugin,
    Reason,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_each
from kubesched.scheduler.plugins.node_volume_limits.attachable import Attachable, PodVolumes, VolumeLookup
from kubesched.scheduler.plugins.node_volume_limits.attached import AttachedHere, AttachedVolumes
from kubesched.scheduler.plugins.node_volume_limits.hints import EVENTS
from kubesched.scheduler.plugins.support.per_template import PerTemplate, PerVersion
from kubesched.scheduler.plugins.support.storage.csi_migration import in_tree_plugin
from kubesched.scheduler.plugins.support.storage.csi_nodes import CsiNodeColumns

NAME: Final = "NodeVolumeLimits"
LIMIT_EXCEEDED: Final = Reason.unschedulable("node(s) exceed max volume count")


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Rejects nodes where the pod's volumes and those attached already are more than the driver's limit."""

    name = NAME
    depends_on = DependsOn.NODE_AND_PODS

    def __init__(self, args: object, handle: Handle) -> None:
        objects = handle.objects
        self._stores = [
            objects.of(kind)
            for kind in (PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, VolumeAttachment, CSIDriver)
        ]
        self._csi_drivers = objects.of(CSIDriver)
        self._wants_driver = handle.gates.enabled("VolumeLimitScaling")
        self._lookup = VolumeLookup(objects)
        self._has_volumes = PerTemplate(_has_volumes)
        self._wanted = PerVersion(self._lookup.volumes_of)
        self._csi_nodes = CsiNodeColumns(handle.cluster, objects.of(CSINode))
        self._attached = AttachedVolumes(handle.cluster, objects, self._lookup)

    def external_version(self, pod: PodTemplate) -> Hashable:
        return (self._versions(), self._shares_volumes(pod)) if self._has_volumes.of(pod) else FIXED

    def signature(self, pod: PodTemplate) -> Hashable:
        """Volumes are the same if they are of the same driver, unless a placed pod uses one that counts."""
        if not self._has_volumes.of(pod):
            return ()
        wanted = self._wanted.of(pod, self._versions())
        if wanted.failures:
            return None
        if self._shares_volumes(pod):
            return wanted.volumes
        return tuple(sorted((volume.driver, volume.is_migrated) for volume in wanted.volumes))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS if self._has_volumes.of(pod.template) else SKIP

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        return without_each("volumes", "volume", pod.spec)

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        wanted = self._wanted.of(pod, self._versions())
        self._csi_nodes.refresh()
        if wanted.failures:
            return self._failing(wanted, nodes)
        if not wanted.volumes:
            return Verdict.fits(nodes)
        self._attached.refresh()
        verdict = self._within_limits(wanted, nodes)
        failed = Verdict.of_statuses(nodes, self._broken_pods(nodes))
        if not failed.special:
            return verdict
        return Verdict(np.where(failed.fitting, verdict.bits, failed.bits), verdict.reasons, failed.special)

    def _within_limits(self, wanted: PodVolumes, nodes: NodeView) -> Verdict:
        by_driver: defaultdict[str, list[Attachable]] = defaultdict(list)
        for volume in wanted.volumes:
            by_driver[volume.driver].append(volume)
        reasons = self._missing_drivers(by_driver, nodes) if self._wants_driver else []
        limited = {driver: limits for driver in by_driver if (limits := self._csi_nodes.limits(driver)) is not None}
        supposed = self._attached.supposed(nodes) if limited else {}
        exceeded = np.zeros(len(nodes), dtype=np.bool_)
        for driver, limits in limited.items():
            exceeded |= self._exceeds(limits[nodes.rows], driver, by_driver[driver], nodes, supposed)
        if not reasons:
            return Verdict.rejects(nodes, where=exceeded, reason=LIMIT_EXCEEDED)
        return Verdict.first_of(nodes, *reasons, (exceeded, LIMIT_EXCEEDED))

    def events_to_register(self) -> Sequence[EventHint]:
        return EVENTS

    def _versions(self) -> tuple[int, ...]:
        return tuple([store.version for store in self._stores])

    def _shares_volumes(self, pod: PodTemplate) -> bool:
        """Whether a placed pod uses one of the pod's volumes that count: its node has nothing new to attach then."""
        self._csi_nodes.refresh()
        self._attached.refresh()
        return any(
            self._csi_nodes.limits(volume.driver) is not None and self._attached.rows_using(volume)
            for volume in self._wanted.of(pod, self._versions()).volumes
        )

    def _exceeds(
        self,
        limits: Integers,
        driver: str,
        volumes: Sequence[Attachable],
        nodes: NodeView,
        supposed: dict[int, AttachedHere],
    ) -> Booleans:
        """A volume that a pod on the node uses is not new; one that is attached without a pod counts twice."""
        present: Integers = self._attached.counts(driver)[nodes.rows]
        new: Integers | np.int64 = np.int64(len(volumes))
        for volume in volumes:
            if rows := self._attached.rows_using(volume):
                used = np.zeros(nodes.table.capacity, dtype=np.int64)
                used[list(rows)] = 1
                new = new - used[nodes.rows]
        if supposed:
            present, new = present.copy(), np.array(np.broadcast_to(new, len(nodes)))
            for position, here in supposed.items():
                present[position] = here.counts.get(driver, 0)
                new[position] = sum(not here.users.get(volume.id) for volume in volumes)
        exceeds: Booleans = present + new > limits
        return exceeds if isinstance(new, np.int64) else exceeds & (new > 0)

    def _missing_drivers(
        self, by_driver: dict[str, list[Attachable]], nodes: NodeView
    ) -> list[tuple[Booleans, Reason]]:
        """Nodes without a driver that does not want pods where it is missing (checkCSIDriverOnNode)."""
        reasons: list[tuple[Booleans, Reason]] = []
        for driver, volumes in sorted(by_driver.items()):
            csi_driver = self._csi_drivers.get(driver)
            if csi_driver is None or not csi_driver.spec.prevent_pod_scheduling_if_missing:
                continue
            missing: Booleans = ~self._csi_nodes.has_driver(driver)[nodes.rows]
            if all(volume.is_migrated for volume in volumes):
                missing &= self._csi_nodes.exists[nodes.rows]
            reason = Reason.unschedulable(f"{driver} CSI driver is not installed on the node")
            reasons.append((missing, reason))
        return reasons

    def _failing(self, wanted: PodVolumes, nodes: NodeView) -> Verdict:
        """The first thing that went wrong is the answer; what concerns migrated volumes, where there is a CSINode."""
        for failure in wanted.failures:
            where = nodes.exists
            if failure.needs_csi_node:
                where = where & self._csi_nodes.exists[nodes.rows]
            if where.any():
                return _failing_at(where, failure.status, nodes)
        return Verdict.fits(nodes)

    def _broken_pods(self, nodes: NodeView) -> dict[int, Status]:
        """Limited nodes with a pod whose volumes are not known, by position."""
        is_limited = self._csi_nodes.is_limited & nodes.table.exists
        failures = self._attached.failures_in(nodes)
        rows = nodes.row_ids()
        return {position: failure.status for position, failure in failures.items() if is_limited[rows[position]]}


def _has_volumes(pod: PodTemplate) -> bool:
    volumes = pod.spec.volumes
    return bool(volumes) and (bool(pod.volume_claims) or any(in_tree_plugin(volume) for volume in volumes))


def _failing_at(where: Booleans, status: Status, nodes: NodeView) -> Verdict:
    if status.is_rejection:
        return Verdict.rejects(nodes, where=where, reason=Reason(status.message, status.code))
    return Verdict.of_statuses(nodes, dict.fromkeys(np.flatnonzero(where).tolist(), status))
