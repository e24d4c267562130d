"""Whom to evict so that a pod gets what its quota guarantees (SelectVictimsOnNode).

A pod whose namespace is within its min takes from namespaces that are beyond theirs; one whose namespace is beyond its
min already, only from less important pods of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from kubesched.contrib.capacity_scheduling.amounts import Amounts, add, request_of
from kubesched.contrib.capacity_scheduling.quotas import Quota, all_exceed_min_with
from kubesched.framework import Budgets, Candidates, CycleState, Handle, PodInfo, Positions, Victims, WhatIf

if TYPE_CHECKING:
    from kubesched.contrib.capacity_scheduling.plugin import Demand

BEYOND_ALL_QUOTAS: Final = "global quota max exceeded"


class Search:
    """One pod's candidates. First all nodes are emptied at once; on those that then fit, pods are spared in turn."""

    def __init__(
        self,
        handle: Handle,
        budgets: Budgets,
        quotas: Mapping[str, Quota],
        state: CycleState,
        pod: PodInfo,
        demand: Demand,
    ) -> None:
        self._handle = handle
        self._budgets = budgets
        self._quotas = quotas
        self._state = state
        self._pod = pod
        self._demand = demand
        self._own = quotas.get(pod.template.namespace)

    def candidates(self, rows: Positions) -> Candidates:
        found = Candidates(asked=len(rows))
        on_row: dict[int, list[PodInfo]] = {}
        for row in rows.tolist():
            if victims := list(self._potential_victims(row)):
                on_row[row] = victims
            else:
                name, preemptor = self._handle.cluster.nodes.names[row], self._pod.pod.metadata.name
                found.reasons[f"No victims found on node {name} for preemptor pod {preemptor}"] += 1
        breaking: dict[str, Victims] = {}
        for row in self._fitting(on_row, found):
            name = self._handle.cluster.nodes.names[row]
            world = Supposed(self._quotas, on_row[row])
            if self._own is not None and world.exceeds(self._pod, self._demand.pod, self._demand.pod):
                found.reasons[BEYOND_ALL_QUOTAS] += 1
                continue
            chosen = self._spare(row, on_row[row], world)
            if chosen is None:
                found.errors.append(f"a pod of node {name} would be evicted twice")
            elif not chosen.pods:
                found.errors.append(f'expected at least one victim pod on node "{name}"')
            else:
                (breaking if chosen.pdb_violations else found.candidates)[name] = chosen
        found.candidates |= breaking
        return found

    def _potential_victims(self, row: int) -> Iterator[PodInfo]:
        """The least important first: those of a namespace that borrows, until it no longer would."""
        on_node = list(self._handle.cluster.pods.on_node(row))
        on_node.reverse()  # of equals, the last one comes first
        on_node.sort(key=_importance)
        if self._own is None:
            lower = (pod for pod in on_node if pod.priority < self._pod.priority)
            yield from (pod for pod in lower if pod.template.namespace not in self._quotas)
            return
        namespace = self._pod.template.namespace
        if self._own.exceeds_min_with(self._demand.in_namespace):
            own = (pod for pod in on_node if pod.template.namespace == namespace)
            yield from (pod for pod in own if pod.priority < self._pod.priority)
            return
        world = Supposed(self._quotas, ())
        for pod in on_node:
            if pod.template.namespace != namespace and world.borrows(pod.template.namespace):
                world.remove(pod)
                yield pod

    def _fitting(self, on_row: Mapping[int, Sequence[PodInfo]], found: Candidates) -> list[int]:
        """The rows that take the pod once all their potential victims are gone."""
        if not on_row:
            return []
        rows = np.array(list(on_row), dtype=np.intp)
        pods = np.concatenate([self._rows_of(victims) for victims in on_row.values()])
        positions = np.repeat(np.arange(len(rows)), [len(victims) for victims in on_row.values()])
        view = self._handle.cluster.view(rows)
        emptied = view.supposing(WhatIf.removed(self._handle.cluster.pods, pods, positions))
        fits = self._handle.fits_with_nominated(self._state, self._pod, emptied)
        if not fits.all():
            found.reasons += self._handle.reasons_with_nominated(self._state, self._pod, emptied)
        kept: list[int] = rows[fits].tolist()
        return kept

    def _spare(self, row: int, potential: Sequence[PodInfo], world: Supposed) -> Victims | None:
        """Whom it takes, those whom a budget protects and the most important spared first. None: it makes no sense."""
        ranked = sorted(potential, key=_importance, reverse=True)
        pods = self._rows_of(ranked)
        protected = self._budgets.broken_by(self._handle.cluster.pods, pods, np.zeros(len(pods), dtype=np.intp))
        turns = [*np.flatnonzero(protected).tolist(), *np.flatnonzero(~protected).tolist()]
        gone = set(range(len(ranked)))
        victims: list[int] = []
        violations = 0
        for turn in turns:
            gone.discard(turn)
            world.add(ranked[turn])
            fits = self._fits_without(row, pods[sorted(gone)])
            if not fits:
                world.remove(ranked[turn])
                violations += bool(protected[turn])
            exceeds = self._own is not None and world.exceeds(
                self._pod, self._demand.in_namespace, self._demand.everywhere
            )
            if exceeds and not fits:
                return None
            if exceeds:
                world.remove(ranked[turn])
            if exceeds or not fits:
                gone.add(turn)
                victims.append(turn)
        if protected.any() and not protected.all():
            victims.sort()
        return Victims(tuple(ranked[victim].pod for victim in victims), violations)

    def _fits_without(self, row: int, pods: Positions) -> bool:
        view = self._handle.cluster.view(np.array([row], dtype=np.intp))
        gone = WhatIf.removed(self._handle.cluster.pods, pods, np.zeros(len(pods), dtype=np.intp))
        return bool(self._handle.fits_with_nominated(self._state, self._pod, view.supposing(gone))[0])

    def _rows_of(self, pods: Sequence[PodInfo]) -> Positions:
        rows = (self._handle.cluster.pods.row_of(pod.uid) for pod in pods)
        return np.array([row for row in rows if row is not None], dtype=np.intp)


class Supposed:
    """What would be used of quotas without some pods."""

    def __init__(self, quotas: Mapping[str, Quota], gone: Iterable[PodInfo]) -> None:
        self._quotas = dict(quotas)
        self._copied: set[str] = set()
        for pod in gone:
            self.remove(pod)

    def add(self, pod: PodInfo) -> None:
        self._change(pod, +1)

    def remove(self, pod: PodInfo) -> None:
        self._change(pod, -1)

    def borrows(self, namespace: str) -> bool:
        quota = self._quotas.get(namespace)
        return quota is not None and quota.exceeds_min()

    def exceeds(self, pod: PodInfo, in_namespace: Amounts, everywhere: Amounts) -> bool:
        """Whether so much more is beyond the max of the pod's namespace, or beyond what all quotas guarantee."""
        own = self._quotas[pod.template.namespace]
        return own.exceeds_max_with(in_namespace) or all_exceed_min_with(self._quotas, everywhere)

    def _change(self, pod: PodInfo, sign: int) -> None:
        namespace = pod.template.namespace
        quota = self._quotas.get(namespace)
        if quota is None:
            return
        if namespace not in self._copied:
            quota = self._quotas[namespace] = quota._replace(used=dict(quota.used))
            self._copied.add(namespace)
        add(quota.used, request_of(pod.template), sign)


def _importance(pod: PodInfo) -> tuple[int, float]:
    """More important are a higher priority and then an earlier start (MoreImportantPod)."""
    started = pod.pod.status.start_time
    return pod.priority, -(started.timestamp() if started is not None else math.inf)
