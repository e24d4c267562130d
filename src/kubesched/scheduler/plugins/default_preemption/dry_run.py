"""The dry run: remove everybody of lower priority, see where the pod fits, then spare as many as possible.

Upstream does this node by node. Here all nodes take each step together: the k-th potential victim of every node is
tried at once, and a node drops out when it has tried all of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from kubesched.errors import PluginFailedError
from kubesched.objects import Pod
from kubesched.scheduler.columns import Booleans, NodeView, PodInfo
from kubesched.scheduler.framework import CycleState, Handle, Victims
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.extenders import NoVictimsError
from kubesched.scheduler.plugins.default_preemption.potential_victims import PotentialVictims, RankedVictims, RowArray

NO_VICTIMS = "No preemption victims found for incoming pod"
_FEWEST_ROWS: Final = 1024
"""Looked at together: array operations over fewer rows take as long."""


@dataclass(slots=True)
class Found:
    """Candidates by node name, those that break no budget first; and why other nodes are none."""

    candidates: dict[str, Victims] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    """Each reason with its number of nodes. Complete only if there is no candidate."""
    errors: list[str] = field(default_factory=list)
    """What went wrong on nodes that are no candidates for that reason."""
    asked: int = 0
    """How many nodes were asked."""


class Rules(Protocol):
    """Whom a pod may evict, as the plugin says (`Preemption`)."""

    def may_evict(self, state: CycleState, pod: PodInfo, placed: RowArray) -> Booleans: ...
    def no_victims(self, pod: Pod, nodes: NodeView) -> Counter[str]: ...


class DryRun:
    """One pod's search for candidates. Nothing is changed."""

    def __init__(self, handle: Handle, budgets: Budgets, rules: Rules, state: CycleState, pod: PodInfo) -> None:
        self._handle = handle
        self._budgets = budgets
        self._rules = rules
        self._state = state
        self._pod = pod

    def search(self, rows: RowArray, *, start: int, enough: int) -> Found:
        """Try the nodes in these rows, from the `start`-th on, until there are `enough` candidates.

        The search goes on until one of them breaks no budget (DryRunPreemption).
        """
        try:
            return self._search(rows, start=start, enough=enough)
        except PluginFailedError:
            return self._search_one_by_one(np.roll(rows, -start), enough)

    def _search_one_by_one(self, rows: RowArray, enough: int) -> Found:
        """A filter that fails on some node says nothing about the others."""
        total = Found(asked=len(rows))
        breaking: dict[str, Victims] = {}
        for row in rows:
            try:
                found = self._search(np.array([row]), start=0, enough=1)
            except PluginFailedError as error:
                total.errors.append(str(error))
                continue
            total.errors += found.errors
            total.reasons += found.reasons
            for node, victims in found.candidates.items():
                (breaking if victims.pdb_violations else total.candidates)[node] = victims
            if total.candidates and len(total.candidates) + len(breaking) >= enough:
                break
        total.candidates |= breaking
        return total

    def _search(self, rows: RowArray, *, start: int, enough: int) -> Found:
        found = Found(asked=len(rows))
        sparing: dict[str, Victims] = {}
        breaking: dict[str, Victims] = {}
        for block in _blocks(np.roll(rows, -start), enough):
            everybody = PotentialVictims.on(self._handle.cluster, block, self._may_evict)
            emptied = everybody.nodes.supposing(everybody.all_gone())
            for name, victims in self._spared(everybody, self._fitting(emptied, first_row=block[0]), enough):
                if not victims.pods:
                    found.errors.append(str(NoVictimsError(name)))  # it should not have been asked
                    continue
                kind = breaking if victims.pdb_violations else sparing
                if len(kind) < enough:
                    kind[name] = victims
                if sparing and len(sparing) + len(breaking) >= enough:
                    found.candidates = sparing | breaking
                    return found
            if not (sparing or breaking):
                self._note_reasons(found, emptied, block)
        found.candidates = sparing | breaking
        return found

    def _fitting(self, emptied: NodeView, *, first_row: int) -> RowArray:
        """The positions of the rows that take the pod, from `first_row` on and then from the beginning."""
        fitting = np.flatnonzero(self._handle.fits_with_nominated(self._state, self._pod, emptied))
        return np.roll(fitting, -np.searchsorted(emptied.row_ids()[fitting], first_row))

    def _may_evict(self, placed: RowArray) -> Booleans:
        return self._rules.may_evict(self._state, self._pod, placed)

    def _note_reasons(self, found: Found, emptied: NodeView, asked: RowArray) -> None:
        if len(emptied):
            found.reasons += self._handle.reasons_with_nominated(self._state, self._pod, emptied)
        if len(asked) > len(emptied):
            nobody_there = self._handle.cluster.view(np.setdiff1d(asked, emptied.row_ids()))
            found.reasons += self._rules.no_victims(self._pod.pod, nobody_there)

    def _spared(self, everybody: PotentialVictims, fitting: RowArray, enough: int) -> Iterator[tuple[str, Victims]]:
        """The victims on each of the fitting rows, in order; worked out for so many rows at a time."""
        for begin in range(0, len(fitting), enough):
            here = everybody.ranked(fitting[begin : begin + enough])
            breaks_budget = self._budgets.broken_by(here.nodes.cluster.pods, here.pods, here.positions)
            evicted = self._spare(here, breaks_budget)
            for position, victims in enumerate(here.victims(evicted, breaks_budget)):
                yield here.nodes.name(position), victims

    def _spare(self, here: RankedVictims, breaks_budget: Booleans) -> Booleans:
        """Who must go. Those whom a budget protects are tried first, then the others, the most important first."""
        evicted = np.ones(len(here.pods), dtype=np.bool_)
        counts = here.counts()
        starts = np.cumsum(counts) - counts
        turns = np.lexsort((~breaks_budget, here.positions))
        world, refused = here.all_gone(), np.empty(0, dtype=np.intp)
        for turn in range(int(counts.max(initial=0))):
            trying = np.flatnonzero(counts > turn)
            tried = turns[starts[trying] + turn]
            world |= here.changed(gone=refused, again=tried)
            nodes = here.nodes.supposing(world)
            fits = self._handle.fits_with_nominated(self._state, self._pod, nodes, passed_before=True)[trying]
            evicted[tried[fits]] = False
            refused = tried[~fits]
        return evicted


def _blocks(rows: RowArray, enough: int) -> Iterator[RowArray]:
    """Some rows more than are wanted, which mostly do, and then ever more at a time."""
    begin, size = 0, max(2 * enough, _FEWEST_ROWS)
    while begin < len(rows):
        yield rows[begin : begin + size]
        begin += size
        size *= 4
