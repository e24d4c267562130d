"""The dry run for a single pod where groups may be victims: a group that goes as a whole goes from all nodes.

Node by node, since what goes from one is not what goes from the next; only clusters with pod groups need it.
Affinity and spread see the pods leave that are on the node itself, not the rest of their groups elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kubesched.objects import PodGroup
from kubesched.scheduler.columns import NodeView, PodInfo, WhatIf
from kubesched.scheduler.framework import CycleState, Handle, Victims
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.dry_run import NO_VICTIMS, DryRun, Found, Rules
from kubesched.scheduler.plugins.default_preemption.extenders import NoVictimsError
from kubesched.scheduler.plugins.default_preemption.potential_victims import RowArray
from kubesched.scheduler.plugins.default_preemption.victim_units import Unit, units_with_groups


class GroupAwareDryRun(DryRun):
    """One pod's search for candidates (SelectVictimsOnNode)."""

    def __init__(self, handle: Handle, budgets: Budgets, rules: Rules, state: CycleState, pod: PodInfo) -> None:
        super().__init__(handle, budgets, rules, state, pod)
        self._groups = handle.objects.of(PodGroup)

    def _search(self, rows: RowArray, *, start: int, enough: int) -> Found:
        found = Found(asked=len(rows))
        sparing: dict[str, Victims] = {}
        breaking: dict[str, Victims] = {}
        for row in np.roll(rows, -start).tolist():
            victims = self._victims_on(row, found)
            if victims is None:
                continue
            name = self._handle.cluster.nodes.names[row]
            if not victims.pods:
                found.errors.append(str(NoVictimsError(name)))
                continue
            (breaking if victims.pdb_violations else sparing)[name] = victims
            if sparing and len(sparing) + len(breaking) >= enough:
                break
        found.candidates = sparing | breaking
        return found

    def _victims_on(self, row: int, found: Found) -> Victims | None:
        """Who must go from one node; None if that does not help, and `found` notes why."""
        cluster = self._handle.cluster
        units = units_with_groups(cluster.pods.on_node(row), self._groups, self._handle.pod_groups)
        units = [unit for unit in units if unit.priority < self._pod.priority]
        if not units:
            found.reasons[NO_VICTIMS] += 1
            return None
        node = cluster.view(np.array([row], dtype=np.intp))
        units.sort(key=lambda unit: unit.importance)
        gone = [True] * len(units)
        if not self._fits(node, row, units, gone):
            emptied = node.supposing(self._world(row, units, gone))
            found.reasons += self._handle.reasons_with_nominated(self._state, self._pod, emptied)
            return None
        broken = self._budgets.broken_by_units([unit.pods for unit in units], each_pod=True)
        for place in sorted(range(len(units)), key=lambda place: not broken[place]):
            gone[place] = False
            gone[place] = not self._fits(node, row, units, gone)
        evicted = [unit for unit, goes in zip(units, gone, strict=True) if goes]
        violations = sum(count for count, goes in zip(broken, gone, strict=True) if goes)
        return Victims(tuple(info.pod for unit in evicted for info in unit.pods), violations)

    def _fits(self, node: NodeView, row: int, units: Sequence[Unit], gone: Sequence[bool]) -> bool:
        nodes = node.supposing(self._world(row, units, gone))
        return bool(self._handle.fits_with_nominated(self._state, self._pod, nodes)[0])

    def _world(self, row: int, units: Sequence[Unit], gone: Sequence[bool]) -> WhatIf:
        table = self._handle.cluster.pods
        leaving = (info for unit, goes in zip(units, gone, strict=True) if goes for info in unit.pods)
        rows = (pod for info in leaving if (pod := table.row_of(info.uid)) is not None)
        here = np.array([pod for pod in rows if table.node_row[pod] == row], dtype=np.intp)
        return WhatIf.removed(table, here, np.zeros(len(here), dtype=np.intp))
