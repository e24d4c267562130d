"""The volumes that are attached to each node, counted per driver in columns.

A volume counts once per node: whether one pod uses it or ten, and whether or not there is a VolumeAttachment, too.
Kept by looking again only at nodes whose pods, attachments, claims, volumes or classes have changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from kubesched.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from kubesched.scheduler.columns import (
    EVERYTHING,
    ClusterTables,
    Everything,
    Follower,
    Integers,
    NodeView,
    PodTemplate,
    either,
)
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.framework import ObjectStores
from kubesched.scheduler.plugins.node_volume_limits.attachable import (
    Attachable,
    Failure,
    PodVolumes,
    Source,
    VolumeLookup,
)
from kubesched.scheduler.plugins.node_volume_limits.attachments import AttachmentsByNode

K = TypeVar("K")


@dataclass(slots=True)
class AttachedHere:
    """One node's volumes by id: those of its pods, with the number of pods that use each, and those of attachments."""

    users: dict[str, int] = field(default_factory=dict)
    drivers: dict[str, str] = field(default_factory=dict)
    attachments: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None
    templates: frozenset[PodTemplate] = frozenset()
    sources: frozenset[Source] = frozenset()
    counts: dict[str, int] = field(default_factory=dict)
    """Volumes per driver, as of the last `count`."""

    def change(self, volumes: Iterable[Attachable], change: int) -> None:
        """So many pods more (or fewer) use these volumes."""
        users, drivers = self.users, self.drivers
        for volume in volumes:
            drivers[volume.id] = volume.driver
            users[volume.id] = users.get(volume.id, 0) + change

    def count(self) -> None:
        counts: dict[str, int] = {}
        for volume, driver in (self.attachments | self.drivers).items():
            if self.users.get(volume) or volume in self.attachments:
                counts[driver] = counts.get(driver, 0) + 1
        self.counts = counts


_NOTHING = AttachedHere()
_NOWHERE: Set[int] = frozenset()


class AttachedVolumes:
    """Arrays have one entry per row of the node table, as of the last `refresh`."""

    def __init__(self, cluster: ClusterTables, objects: ObjectStores, lookup: VolumeLookup) -> None:
        self._cluster = cluster
        self._lookup = lookup
        self._attachments = AttachmentsByNode(objects)
        self._pod_changes = Follower(cluster.nodes.pod_changes)
        self._node_changes = Follower(cluster.nodes.node_changes)
        kinds = (PersistentVolumeClaim, PersistentVolume, StorageClass)
        self._object_changes = {kind: Follower(objects.of(kind).changes) for kind in kinds}
        self._on_row: dict[int, AttachedHere] = {}
        self._counts: dict[str, Integers] = {}
        self._rows_using: defaultdict[str, set[int]] = defaultdict(set)
        self._rows_from: defaultdict[Source, set[int]] = defaultdict(set)
        self._known: dict[PodTemplate, PodVolumes] = {}
        self._failures: dict[int, Failure] = {}  # rows with a pod whose volumes are not known

    def counts(self, driver: str) -> Integers:
        """How many volumes of a driver each node has."""
        column = self._counts.get(driver)
        if column is None or len(column) < self._cluster.nodes.capacity:
            old = column if column is not None else np.zeros(0, dtype=np.int64)
            column = self._counts[driver] = grown(old, self._cluster.nodes.capacity, 0)
        return column

    def rows_using(self, volume: Attachable) -> Set[int]:
        """Rows of the nodes where a pod uses the volume. Don't write to them."""
        return self._rows_using.get(volume.id, _NOWHERE)

    def failures_in(self, nodes: NodeView) -> dict[int, Failure]:
        """By position: nodes of a view with a pod, not removed in its "what if", whose volumes are not known."""
        if not self._failures:
            return {}
        rows = enumerate(nodes.row_ids().tolist())
        failures = {position: self._failures[row] for position, row in rows if row in self._failures}
        if (what_if := nodes.what_if) is None:
            return failures
        for position in list(failures):
            here = self._cluster.pods.on_node(int(nodes.row_ids()[position]))
            left = Counter(info.template for info in here)
            for k in np.flatnonzero(what_if.positions == position).tolist():
                if (template := what_if.templates[int(what_if.template_ids[k])]) is not None:
                    left[template] += int(what_if.signs[k])
            failure = self._first_failure(template for template, pods in left.items() if pods > 0)
            if failure is not None:
                failures[position] = failure
            else:
                del failures[position]
        return failures

    def supposed(self, nodes: NodeView) -> dict[int, AttachedHere]:
        """What is attached where a view's "what if" adds or removes pods with volumes, by position in the view."""
        what_if = nodes.what_if
        if what_if is None:
            return {}
        rows = nodes.row_ids()
        changed: dict[int, AttachedHere] = {}
        volumes = {
            template_id: self._lookup.volumes_of(template).volumes
            for template_id in np.unique(what_if.template_ids).tolist()
            if (template := what_if.templates[template_id]) is not None and template.spec.volumes
        }
        for k in np.flatnonzero(np.isin(what_if.template_ids, list(volumes))).tolist():
            position = int(what_if.positions[k])
            if position not in changed:
                here = self._on_row.get(int(rows[position]), _NOTHING)
                changed[position] = AttachedHere(dict(here.users), dict(here.drivers), here.attachments)
            changed[position].change(volumes[int(what_if.template_ids[k])], int(what_if.signs[k]))
        for here in changed.values():
            here.count()
        return changed

    def refresh(self) -> None:
        for row in self._changed_rows():
            self._read(row)

    def _changed_rows(self) -> Iterable[int]:
        """Follows all journals, whatever the first of them says: no change may be seen twice."""
        changed = either(self._pod_changes.changed(), self._node_changes.changed())
        row_of = self._cluster.nodes.row_of
        attached = {row for name in self._attachments.refresh() if (row := row_of.get(name)) is not None}
        dependent = self._dependent_rows()
        if changed is EVERYTHING or dependent is EVERYTHING:
            return range(len(self._cluster.nodes))
        return {*changed, *attached, *dependent}

    def _dependent_rows(self) -> set[int] | Everything:
        """Rows whose volumes were read from objects that have changed."""
        rows: set[int] = set()
        is_lost = False
        for kind, changes in self._object_changes.items():
            keys = changes.changed()
            if keys is EVERYTHING:
                is_lost = True
                continue
            for key in keys:
                for row in self._rows_from.get((kind, key), ()):
                    rows.add(row)
                    for template in self._on_row[row].templates:
                        known = self._known.get(template)
                        if known is not None and (kind, key) in known.sources:
                            del self._known[template]
        if is_lost:
            self._known.clear()
            return EVERYTHING
        return rows

    def _read(self, row: int) -> None:
        before = self._on_row.get(row, _NOTHING)
        now = self._look(row)
        self._file(row, before, now)
        for template in before.templates - now.templates:
            if template not in self._cluster.pods.slot_of:
                self._known.pop(template, None)
        if now is not _NOTHING:
            self._on_row[row] = now
        else:
            self._on_row.pop(row, None)

    def _look(self, row: int) -> AttachedHere:
        cluster = self._cluster
        templates = [info.template for info in cluster.pods.on_node(row) if info.template.spec.volumes]
        attachments, read = self._attachments.on_node(cluster.nodes.names[row])
        if not templates and not read:
            return _NOTHING
        here = AttachedHere(attachments=attachments, templates=frozenset(templates))
        sources: set[Source] = {(PersistentVolume, name) for name in read}
        for template in templates:
            pod = self._volumes_of(template)
            here.change(pod.volumes, +1)
            sources |= pod.sources
        here.failure = self._first_failure(templates)
        here.sources = frozenset(sources)
        here.count()
        return here

    def _first_failure(self, templates: Iterable[PodTemplate]) -> Failure | None:
        failures = (failure for template in templates for failure in self._volumes_of(template).failures)
        return next((failure for failure in failures if not failure.is_absence), None)

    def _volumes_of(self, template: PodTemplate) -> PodVolumes:
        known = self._known.get(template)
        if known is None:
            known = self._known[template] = self._lookup.volumes_of(template)
        return known

    def _file(self, row: int, before: AttachedHere, now: AttachedHere) -> None:
        _refile(self._rows_using, row, before.users.keys(), now.users.keys())
        _refile(self._rows_from, row, before.sources, now.sources)
        for driver in before.counts.keys() | now.counts.keys():
            self.counts(driver)[row] = now.counts.get(driver, 0)
        if now.failure is not None:
            self._failures[row] = now.failure
        else:
            self._failures.pop(row, None)


def _refile(index: defaultdict[K, set[int]], row: int, before: Set[K], now: Set[K]) -> None:
    for key in before - now:
        rows = index[key]
        rows.discard(row)
        if not rows:
            del index[key]
    for key in now - before:
        index[key].add(row)
