"""Pods added to or removed from nodes, in thought."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kubesched.columns.pod_counts import Weigh
from kubesched.columns.pod_table import PodTable
from kubesched.columns.pod_template import PodInfo, PodTemplate
from kubesched.columns.types import Booleans, Counts, Ids, Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WhatIf:
    """Pods added to (+1) or removed from (−1) the rows of a view; arrays have one entry per pod.

    Each row of the view is a world of its own: what changes on one row is not seen from the others. That is how
    preemption and nominations ask: "and if *this* node had those pods?"
    """

    positions: npt.NDArray[np.intp]  # position in the view
    signs: Integers
    terminating: Booleans
    template_ids: Ids  # into `templates`
    templates: Sequence[PodTemplate | None]
    pod: Callable[[int], PodInfo]  # the k-th pod, looked up only if somebody asks: most filters read columns alone

    @classmethod
    def added(cls, pods: Iterable[tuple[int, PodInfo]]) -> WhatIf:
        """Suppose these pods on the rows at these positions."""
        pairs = list(pods)
        ids: dict[PodTemplate, int] = {}
        for _, info in pairs:
            ids.setdefault(info.template, len(ids))
        return cls(
            positions=np.array([position for position, _ in pairs], dtype=np.intp),
            signs=np.ones(len(pairs), dtype=np.int64),
            terminating=np.array([info.pod.is_terminating for _, info in pairs], dtype=np.bool_),
            template_ids=np.array([ids[info.template] for _, info in pairs], dtype=np.int32),
            templates=list(ids),
            pod=lambda k: pairs[k][1],
        )

    @classmethod
    def removed(cls, table: PodTable, pod_rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp]) -> WhatIf:
        """Suppose that these placed pods (rows of the pod table) are gone from the rows at these positions."""

        def placed(k: int) -> PodInfo:
            row = int(pod_rows[k])
            info = table.infos[row]
            assert info is not None, f"no pod in row {row}"
            return info

        return cls(
            positions=positions,
            signs=np.full(len(positions), -1, dtype=np.int64),
            terminating=table.terminating[pod_rows],
            template_ids=table.slot[pod_rows],
            templates=table.templates,
            pod=placed,
        )

    def __or__(self, other: WhatIf) -> WhatIf:
        """Both suppositions at once."""
        shift, size = len(self.templates), len(self.positions)
        return WhatIf(
            positions=np.concatenate([self.positions, other.positions]),
            signs=np.concatenate([self.signs, other.signs]),
            terminating=np.concatenate([self.terminating, other.terminating]),
            template_ids=np.concatenate([self.template_ids, other.template_ids + np.int32(shift)]),
            templates=[*self.templates, *other.templates],
            pod=lambda k: self.pod(k) if k < size else other.pod(k - size),
        )

    def change(self, weigh: Weigh, length: int, *, with_terminating: bool = True) -> Counts:
        """Per row of a view of this length: the sum of `weigh` over pods added, minus that over pods removed."""
        weights = np.zeros(len(self.templates), dtype=np.int64)
        for template_id in self.templates_used().tolist():
            template = self.templates[template_id]
            assert template is not None
            weights[template_id] = weigh(template)
        amounts = self.signs * weights[self.template_ids]
        if not with_terminating:
            amounts[self.terminating] = 0
        change = np.zeros(length, dtype=np.int64)
        np.add.at(change, self.positions, amounts)
        return change

    def templates_used(self) -> npt.NDArray[np.intp]:
        """The ids of the templates that have a pod here, each once."""
        is_used = np.zeros(len(self.templates), dtype=np.bool_)
        is_used[self.template_ids] = True
        return np.flatnonzero(is_used)

    def changes_at(self, position: int) -> tuple[list[PodInfo], list[PodInfo]]:
        """The pods removed from one row, and those added to it."""
        mine = np.flatnonzero(self.positions == position).tolist()
        gone = [self.pod(k) for k in mine if self.signs[k] < 0]
        come = [self.pod(k) for k in mine if self.signs[k] > 0]
        return gone, come

    def pods_at(self, position: int, present: Iterable[PodInfo]) -> list[PodInfo]:
        """The pods of one row, given those that are really there."""
        gone, come = self.changes_at(position)
        gone_uids = {info.uid for info in gone}
        return [info for info in present if info.uid not in gone_uids] + come
