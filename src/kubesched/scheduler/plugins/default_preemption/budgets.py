"""Disruption budgets: whose eviction breaks one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kubesched.errors import InvalidObjectError
from kubesched.objects import PodDisruptionBudget
from kubesched.objects.selectors import Selector, compile_label_selector
from kubesched.scheduler.columns import Booleans, PodTable, PodTemplate
from kubesched.scheduler.columns.label_tags import LabelTag, label_tags
from kubesched.scheduler.framework import ObjectStore, PodInfo

RowArray = npt.NDArray[np.intp]


class Budgets:
    """The budgets of the cluster, filed under the labels that they ask for.

    `first_decides` is FIRST_BROKEN_BUDGET_DECIDES. Which of two budgets of a pod comes first is left to chance upstream
    (a lister's order).
    """

    def __init__(self, store: ObjectStore[PodDisruptionBudget], *, first_decides: bool = True) -> None:
        self._store = store
        self._first_decides = first_decides
        self._version = -1
        self._filed: dict[tuple[str, LabelTag | None], list[tuple[PodDisruptionBudget, Selector]]] = {}

    def broken_by(self, table: PodTable, pods: RowArray, positions: RowArray) -> Booleans:
        """Which pods (rows of the table) a budget protects once those before them on the same node are evicted.

        `positions` is the node of each pod, and never decreases. Each node is judged on its own, as for filters.
        """
        broken = np.zeros(len(pods), dtype=np.bool_)
        if not len(self._store):
            return broken
        slots = table.slot[pods]
        if self._first_decides and self._overlap(table, slots):
            return self._broken_one_by_one(table, pods, positions)
        by_slot = np.argsort(slots, kind="stable")
        slots_in_order = slots[by_slot]
        for budget, concerned in self._concerning(table, slots):
            ends = np.searchsorted(slots_in_order, [(slot, slot + 1) for slot in concerned])
            protected = np.sort(np.concatenate([by_slot[start:end] for start, end in ends]))
            protected = _without_disrupted(budget, table, pods, protected)
            nodes = positions[protected]
            evicted_before = np.arange(len(nodes)) - np.searchsorted(nodes, nodes)
            broken[protected] |= evicted_before >= budget.status.disruptions_allowed
        return broken

    def _overlap(self, table: PodTable, slots: npt.NDArray[np.int32]) -> bool:
        """Whether any pod has more than one budget."""
        self._refresh()
        templates = (table.templates[slot] for slot in np.unique(slots).tolist())
        return any(template is not None and len(list(self._of(template))) > 1 for template in templates)

    def _broken_one_by_one(self, table: PodTable, pods: RowArray, positions: RowArray) -> Booleans:
        """`broken_by`, where a budget that comes after a broken one is not used up."""
        broken = np.zeros(len(pods), dtype=np.bool_)
        evicted: Counter[str] = Counter()
        for k, row in enumerate(pods.tolist()):
            if k and positions[k] != positions[k - 1]:
                evicted.clear()
            info = table.infos[row]
            broken[k] = info is not None and self._breaks(info, evicted)
        return broken

    def broken_by_units(self, units: Sequence[Sequence[PodInfo]], *, each_pod: bool = False) -> list[int]:
        """How many pods of each unit break a budget, if units are evicted one after the other.

        Unless `each_pod` counts (since 1.37), the first one decides for its unit: the budgets of the others are not
        used up (FilterVictimsWithPDBViolation).
        """
        self._refresh()
        evicted: Counter[str] = Counter()
        count = sum if each_pod else any
        return [int(count(self._breaks(info, evicted) for info in unit)) for unit in units]

    def _breaks(self, info: PodInfo, evicted: Counter[str]) -> bool:
        """Whether evicting one more pod breaks a budget; `evicted` counts by budget."""
        for budget in self._of(info.template):
            if info.pod.metadata.name in budget.status.disrupted_pods:
                continue
            evicted[budget.metadata.key] += 1
            if evicted[budget.metadata.key] > budget.status.disruptions_allowed:
                return True
        return False

    def _concerning(
        self, table: PodTable, slots: npt.NDArray[np.int32]
    ) -> Iterator[tuple[PodDisruptionBudget, list[int]]]:
        """Budgets with the slots of the pods that they speak of."""
        self._refresh()
        concerned: dict[str, tuple[PodDisruptionBudget, list[int]]] = {}
        for slot in np.unique(slots).tolist():
            template = table.templates[slot]
            if template is not None:
                for budget in self._of(template):
                    concerned.setdefault(budget.metadata.key, (budget, []))[1].append(slot)
        yield from concerned.values()

    def _of(self, template: PodTemplate) -> Iterator[PodDisruptionBudget]:
        """A pod without labels has no budget, whatever the selector (filterPodsWithPDBViolation)."""
        tags = (*template.labels.items(), None) if template.labels else ()
        for tag in tags:
            for budget, selector in self._filed.get((template.namespace, tag), ()):
                if selector.matches(template.labels):
                    yield budget

    def _refresh(self) -> None:
        if self._version == self._store.version:
            return
        self._version = self._store.version
        self._filed = {}
        for budget in self._store:
            try:
                selector = compile_label_selector(budget.spec.selector)
            except InvalidObjectError:
                continue
            if not selector.selects_everything:
                tags = label_tags(selector)
                for tag in (None,) if tags is None else tags:
                    self._filed.setdefault((budget.metadata.namespace, tag), []).append((budget, selector))


def _without_disrupted(budget: PodDisruptionBudget, table: PodTable, pods: RowArray, protected: RowArray) -> RowArray:
    """Pods whose disruption the API server has counted already do not count again."""
    disrupted: Mapping[str, object] = budget.status.disrupted_pods
    if not disrupted:
        return protected
    names = (info.pod.metadata.name if (info := table.infos[row]) else "" for row in pods[protected].tolist())
    return protected[[name not in disrupted for name in names]]
