"""Pods added to or removed from nodes, hypothetically."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns.pod_counts import Weigh
from kubesched.scheduler.columns.pod_table import PodTable
from kubesched.scheduler.columns.pod_template import PodInfo, PodTemplate
from kubesched.scheduler.columns.types import Booleans, Counts, Ids, Integers

Templates = Sequence[PodTemplate | None]
_NOT_ASKED: Final = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some pods; arrays have one entry per pod."""

    positions: npt.NDArray[np.intp]  # position in the view
    signs: Integers
    terminating: Booleans
    template_ids: Ids
    pod: Callable[[int], PodInfo]  # the k-th pod, looked up only if somebody asks: most filters read columns alone


class WhatIf:
    """Pods added to (+1) or removed from (−1) the rows of a view; arrays have one entry per change.

    Each row of the view is a world of its own: what changes on one row is not seen from the others. That is how
    preemption and nominations ask: "and if *this* node had those pods?" A pod may be removed and added again.
    """

    __slots__ = ("_known", "_parts", "templates")

    def __init__(self, templates: Templates, parts: tuple[_Part, ...]) -> None:
        self.templates = templates
        self._parts = parts
        self._known: dict[Hashable, _Change] = {}

    @classmethod
    def added(cls, pods: Iterable[tuple[int, PodInfo]]) -> WhatIf:
        """Suppose these pods on the rows at these positions."""
        pairs = list(pods)
        ids: dict[PodTemplate, int] = {}
        for _, info in pairs:
            ids.setdefault(info.template, len(ids))
        return cls.added_in_columns(
            list(ids),
            positions=np.array([position for position, _ in pairs], dtype=np.intp),
            template_ids=np.array([ids[info.template] for _, info in pairs], dtype=np.int32),
            terminating=np.array([info.pod.is_terminating for _, info in pairs], dtype=np.bool_),
            pod=lambda k: pairs[k][1],
        )

    @classmethod
    def added_in_columns(
        cls,
        templates: Templates,
        *,
        positions: npt.NDArray[np.intp],
        template_ids: Ids,
        terminating: Booleans,
        pod: Callable[[int], PodInfo],
    ) -> WhatIf:
        """As `added`, for whoever has the pods in columns; `pod` gives the k-th of them."""
        return cls(templates, (_Part(positions, np.ones(len(positions), np.int64), terminating, template_ids, pod),))

    @classmethod
    def removed(cls, table: PodTable, pod_rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp]) -> WhatIf:
        """Suppose that these placed pods (rows of the pod table) are gone from the rows at these positions."""
        return cls.changed(table, pod_rows, positions, np.full(len(positions), -1, dtype=np.int64))

    @classmethod
    def changed(
        cls, table: PodTable, pod_rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp], signs: Integers
    ) -> WhatIf:
        """Suppose that placed pods are gone (−1), or there again (+1) after they were gone."""

        def placed(k: int) -> PodInfo:
            row = int(pod_rows[k])
            info = table.infos[row]
            assert info is not None, f"no pod in row {row}"
            return info

        return cls(
            table.templates, (_Part(positions, signs, table.terminating[pod_rows], table.slot[pod_rows], placed),)
        )

    def __or__(self, other: WhatIf) -> WhatIf:
        """Both suppositions at once. Sums that were remembered of the first one are brought up to date."""
        templates, parts = self.templates, other._parts
        if other.templates is not templates:
            shift = np.int32(len(templates))
            templates = [*templates, *other.templates]
            parts = tuple(replace(part, template_ids=part.template_ids + shift) for part in parts)
        joined = WhatIf(templates, (*self._parts, *parts))
        for key, known in self._known.items():
            joined._known[key] = known.with_more(templates, parts)
        return joined

    @property
    def positions(self) -> npt.NDArray[np.intp]:
        return self._whole().positions

    @property
    def signs(self) -> Integers:
        return self._whole().signs

    @property
    def template_ids(self) -> Ids:
        """Into `templates`."""
        return self._whole().template_ids

    def templates_used(self) -> npt.NDArray[np.intp]:
        """The ids of the templates that have a pod here, each once."""
        is_used = np.zeros(len(self.templates), dtype=np.bool_)
        for part in self._parts:
            is_used[part.template_ids] = True
        return np.flatnonzero(is_used)

    def change(
        self, weigh: Weigh, length: int, *, with_terminating: bool = True, key: Hashable | None = None
    ) -> Counts:
        """Per row of a view of this length: the sum of `weigh` over pods added, minus that over pods removed.

        With a `key`, which must name everything that `weigh` closes over, the sums are remembered: don't write to them.
        """
        known = None if key is None else self._known.get(key)
        if known is None:
            nothing = _Change(weigh, with_terminating, np.empty(0, np.int64), np.zeros(length, np.int64))
            known = nothing.with_more(self.templates, (self._whole(),))
            if key is not None:
                self._known[key] = known
        return known.sums

    def changes_at(self, position: int) -> tuple[list[PodInfo], list[PodInfo]]:
        """The pods removed from one row, and those added to it."""
        whole = self._whole()
        net: dict[str, tuple[PodInfo, int]] = {}
        for k in np.flatnonzero(whole.positions == position).tolist():
            info = whole.pod(k)
            net[info.uid] = (info, net.get(info.uid, (info, 0))[1] + int(whole.signs[k]))
        gone = [info for info, sign in net.values() if sign < 0]
        come = [info for info, sign in net.values() if sign > 0]
        return gone, come

    def pods_at(self, position: int, present: Iterable[PodInfo]) -> list[PodInfo]:
        """The pods of one row, given those that are really there."""
        gone, come = self.changes_at(position)
        gone_uids = {info.uid for info in gone}
        return [info for info in present if info.uid not in gone_uids] + come

    def _whole(self) -> _Part:
        """All parts as one: made only if somebody needs it."""
        if len(self._parts) > 1:
            self._parts = (_joined(self._parts),)
        return self._parts[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """Sums of a weight over pods, and the weights, so that more pods can be counted in."""

    weigh: Weigh
    with_terminating: bool
    weights: Integers  # by template id
    sums: Counts

    def with_more(self, templates: Templates, parts: Iterable[_Part]) -> _Change:
        weights = np.full(len(templates), _NOT_ASKED, dtype=np.int64)
        weights[: len(self.weights)] = self.weights
        sums = self.sums.copy()
        for part in parts:
            ids = part.template_ids
            if (weights[ids] == _NOT_ASKED).any():
                self._ask(templates, ids, weights)
            amounts = part.signs * weights[ids]
            if not self.with_terminating:
                amounts[part.terminating] = 0
            np.add.at(sums, part.positions, amounts)
        return _Change(self.weigh, self.with_terminating, weights, sums)

    def _ask(self, templates: Templates, ids: Ids, weights: Integers) -> None:
        is_used = np.zeros(len(templates), dtype=np.bool_)
        is_used[ids] = True
        for template_id in np.flatnonzero(is_used & (weights == _NOT_ASKED)).tolist():
            template = templates[template_id]
            assert template is not None
            weights[template_id] = self.weigh(template)


def _joined(parts: Sequence[_Part]) -> _Part:
    ends = np.cumsum([len(part.positions) for part in parts])

    def pod(k: int) -> PodInfo:
        number = int(np.searchsorted(ends, k, side="right"))
        part = parts[number]
        return part.pod(k - int(ends[number]) + len(part.positions))

    return _Part(
        positions=np.concatenate([part.positions for part in parts]),
        signs=np.concatenate([part.signs for part in parts]),
        terminating=np.concatenate([part.terminating for part in parts]),
        template_ids=np.concatenate([part.template_ids for part in parts]),
        pod=pod,
    )
