"""Which nodes take a pod, why the others do not, and how good the feasible ones are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from kubesched.columns import Booleans, Cluster, Integers, PodInfo
from kubesched.engine.filter_column import FilterColumn
from kubesched.engine.kept import Kept
from kubesched.engine.kept_scores import Scores
from kubesched.engine.lineup import ask_filter
from kubesched.engine.pre_filtering import PreFiltered
from kubesched.engine.selection import BlockMaxima, best_of
from kubesched.engine.tracker import RowArray
from kubesched.framework import Code, CycleState, Diagnosis, NodeStatuses, Status, Verdict
from kubesched.objects import Node


@dataclass(frozen=True, slots=True)
class PluginVerdict:
    """What a plugin said in this cycle about some rows."""

    plugin: str
    rows: RowArray
    verdict: Verdict


class Fit:
    """The result of filtering: the kept answers, narrowed by what holds in this cycle only."""

    def __init__(
        self, pod: PodInfo, state: CycleState, cluster: Cluster, pre_filtered: PreFiltered, kept: Kept
    ) -> None:
        self.pod = pod
        self.state = state
        self.pre_filtered = pre_filtered
        self.kept = kept
        self.filters = kept.filters
        self._cluster = cluster
        self._alive: Booleans | None = None  # None: just `filters.fits`
        self._considered: Booleans | None = None  # None: every node
        self._overrides: dict[int, Status] = {}
        self._verdicts: list[PluginVerdict] = []
        self._rejectors: set[str] = set()
        self._node_count = cluster.nodes.node_count

    @property
    def is_whole(self) -> bool:
        """Nothing but kept filters had a say: the feasible rows are those of `filters.fits`."""
        return self._alive is None

    @property
    def count(self) -> int:
        """How many nodes take the pod."""
        if not self.pre_filtered.status.is_success:
            return 0
        return self.filters.feasible if self._alive is None else int(np.count_nonzero(self._alive))

    def rows(self) -> RowArray:
        """The rows of the nodes that take the pod."""
        return np.flatnonzero(self._fitting)

    def names(self) -> list[str]:
        names = self._cluster.nodes.names
        return [names[row] for row in self.rows().tolist()]

    def nodes(self) -> list[Node]:
        """The node objects that take the pod."""
        nodes = self._cluster.nodes.nodes
        return [node for row in self.rows().tolist() if (node := nodes[row]) is not None]

    def takes(self, rows: RowArray) -> Booleans:
        """Which of these rows take the pod."""
        if not self.pre_filtered.status.is_success:
            return np.zeros(len(rows), dtype=np.bool_)
        fitting: Booleans = self._fitting[rows]
        return fitting

    @property
    def _fitting(self) -> Booleans:
        if not self.pre_filtered.status.is_success:
            return np.zeros(0, dtype=np.bool_)
        return self.filters.fits if self._alive is None else self._alive

    @property
    def evaluated(self) -> int:
        """How many nodes were looked at."""
        return self._node_count if self._considered is None else int(np.count_nonzero(self._considered))

    def considers(self, row: int) -> bool:
        """Whether the row has a node that is looked at."""
        return bool((self._cluster.nodes.exists if self._considered is None else self._considered)[row])

    # ---- narrowing ---------------------------------------------------------------------------------------------

    def consider_only(self, node_names: Iterable[str]) -> None:
        """Look at these nodes alone; the others do not count as looked at."""
        considered = np.zeros(len(self.filters.fits), dtype=np.bool_)
        row_of = self._cluster.nodes.row_of
        considered[[row for name in node_names if (row := row_of.get(name)) is not None]] = True
        self._considered = considered & self._cluster.nodes.exists
        self._narrow(considered)

    def confine_to(self, rows: RowArray) -> None:
        """As if the cluster had no other nodes than those in these rows."""
        self._node_count = len(rows)
        if not self.pre_filtered.status.is_success:
            return
        here = np.zeros(len(self.filters.fits), dtype=np.bool_)
        here[rows] = True
        self._considered = here & (self._cluster.nodes.exists if self._considered is None else self._considered)
        self._overrides = {row: status for row, status in self._overrides.items() if here[row]}
        self._narrow(here)

    def keep_only(self, rows: RowArray) -> None:
        """Go on with these feasible rows; no reason is recorded for the others (sampling, a nominated node)."""
        kept = np.zeros(len(self.filters.fits), dtype=np.bool_)
        kept[rows] = True
        self._narrow(kept)

    def apply(self, said: PluginVerdict) -> None:
        """A plugin's rejections among rows that were feasible until now."""
        self._verdicts.append(said)
        keep = np.ones(len(self.filters.fits), dtype=np.bool_)
        keep[said.rows[~said.verdict.fitting]] = False
        self._narrow(keep)

    def keep_only_named(self, names: Collection[str], rejected: Mapping[str, Status], *, by: str) -> None:
        """Go on with these nodes; the others have the statuses given here (extenders)."""
        row_of = self._cluster.nodes.row_of
        before = self.count
        for name, status in rejected.items():
            if (row := row_of.get(name)) is not None:
                self._overrides[row] = status
        self.keep_only(np.array([row for name in names if (row := row_of.get(name)) is not None], dtype=np.intp))
        if self.count != before:
            self._rejectors.add(by)

    def reject(self, row: int, status: Status) -> None:
        """This status is the answer for a row, whatever the filters say (nominated pods, extenders)."""
        self._overrides[row] = status
        keep = np.ones(len(self.filters.fits), dtype=np.bool_)
        keep[row] = False
        self._narrow(keep)

    def _narrow(self, keep: Booleans) -> None:
        self._alive = (self.filters.fits if self._alive is None else self._alive) & keep

    # ---- why not -------------------------------------------------------------------------------------------------

    def diagnosis(self) -> Diagnosis:
        """Why the nodes that do not take the pod do not."""
        diagnosis = Diagnosis(node_count=self._node_count)
        pre_filtered = self.pre_filtered
        diagnosis.unschedulable_plugins.update(pre_filtered.limiting)
        if not pre_filtered.status.is_success:
            diagnosis.pre_filter_message = pre_filtered.status.message
            diagnosis.statuses = RowStatuses(self._cluster, [], {}, None, pre_filtered.status)
            diagnosis.add(pre_filtered.status)
            return diagnosis
        absent = None
        if pre_filtered.node_names is not None:
            absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(pre_filtered.limiting)}]")
        statuses = RowStatuses(self._cluster, self._rejections(), self._overrides, self._considered, absent)
        diagnosis.statuses = statuses
        diagnosis.unschedulable_plugins |= statuses.plugins() | self._rejectors
        diagnosis.pending_plugins |= statuses.pending_plugins()
        return diagnosis

    def _rejections(self) -> list[PluginVerdict]:
        """Per plugin, in order: the rows that it was the first to reject."""
        rejections: list[PluginVerdict] = []
        size = len(self._cluster.nodes)
        open_rows = self._cluster.nodes.exists[:size].copy()
        if self._considered is not None:
            open_rows &= self._considered[:size]
        open_rows[list(self._overrides)] = False
        for column in self.filters.in_order(self.state):
            for said in self._said_by(column, open_rows):
                positions = np.flatnonzero(~said.verdict.fitting & open_rows[said.rows])
                if len(positions):
                    found = PluginVerdict(said.plugin, said.rows[positions], said.verdict.at(positions))
                    rejections.append(found)
                    open_rows[found.rows] = False
        return rejections

    def _said_by(self, column: FilterColumn, open_rows: Booleans) -> list[PluginVerdict]:
        """What a plugin said about the rows that no plugin before it rejected.

        One that keeps nothing was asked only about rows that all the others left; the rest is made up for here.
        """
        plugin = column.plugin
        if plugin.name in self.filters.columns:
            rows = np.flatnonzero(open_rows)
            return [PluginVerdict(plugin.name, rows, Verdict(column.bits[rows], column.reasons))]
        said = [verdict for verdict in self._verdicts if verdict.plugin == plugin.name]
        unasked = open_rows.copy()
        for verdict in said:
            unasked[verdict.rows] = False
        if unasked.any():
            rows = np.flatnonzero(unasked)
            answer = ask_filter(plugin, self.state, self.pod, self._cluster.view(rows))
            said.append(PluginVerdict(plugin.name, rows, answer))
            self._verdicts.append(said[-1])
        return said


class RowStatuses(NodeStatuses):
    """Node statuses read out of arrays, when somebody asks."""

    def __init__(
        self,
        cluster: Cluster,
        rejections: list[PluginVerdict],
        overrides: dict[int, Status],
        considered: Booleans | None,
        absent: Status | None,
    ) -> None:
        self._cluster = cluster
        self._rejections = rejections
        self._overrides = overrides
        self._considered = considered
        if absent is not None:
            self.absent = absent

    def plugins(self) -> set[str]:
        return {said.plugin for said in self._rejections} | {s.plugin for s in self._overrides.values() if s.plugin}

    def pending_plugins(self) -> set[str]:
        """The plugins that wait for something outside."""
        pending = {status.plugin for status in self._overrides.values() if status.code is Code.PENDING}
        return pending | {said.plugin for said in self._rejections if said.verdict.is_pending()}

    def histogram(self) -> Counter[str]:
        counts = Counter(reason for status in self._overrides.values() for reason in status.reasons)
        for said in self._rejections:
            counts += said.verdict.histogram()
        return counts

    def rows_open_to_preemption(self, cluster: Cluster) -> RowArray:
        """Rows whose status is Unschedulable: removing pods there may help."""
        if self._considered is None and not self._rejections and not self._overrides:
            everywhere = self.absent.code is Code.UNSCHEDULABLE
            return np.flatnonzero(self._cluster.nodes.exists) if everywhere else np.empty(0, dtype=np.intp)
        rows = [said.rows[~said.verdict.unresolvable()] for said in self._rejections]
        rows.append(np.array([r for r, s in self._overrides.items() if s.code is Code.UNSCHEDULABLE], dtype=np.intp))
        return np.sort(np.concatenate(rows))

    def __getitem__(self, name: str) -> Status:
        row = self._cluster.nodes.row_of[name]
        if row in self._overrides:
            return self._overrides[row]
        for said in self._rejections:
            position = np.flatnonzero(said.rows == row)
            if len(position):
                return said.verdict.status(int(position[0]), said.plugin)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        names = self._cluster.nodes.names
        for row in self._overrides:
            yield names[row]
        for said in self._rejections:
            for row in said.rows.tolist():
                yield names[row]

    def __len__(self) -> int:
        return len(self._overrides) + sum(len(said.rows) for said in self._rejections)


class Ranking:
    """The feasible nodes by total score."""

    def __init__(
        self, cluster: Cluster, random: Random, *, maxima: BlockMaxima | None = None, scores: Scores | None = None
    ) -> None:
        self._cluster = cluster
        self._random = random
        self._maxima = maxima
        self._scores = scores

    def best(self) -> str:
        """The name of one of the best nodes, each with the same probability."""
        names = self._cluster.nodes.names
        if self._maxima is not None:
            return names[self._maxima.best(self._random)]
        assert self._scores is not None
        return names[int(self._scores.rows[best_of(self._scores.totals, self._random)])]

    def by_name(self) -> dict[str, int]:
        """The totals by node name, for whoever must wait before the choice: rows may have changed by then."""
        rows, totals = self.totals()
        names = self._cluster.nodes.names
        return {names[row]: total for row, total in zip(rows.tolist(), totals.tolist(), strict=True)}

    def totals(self) -> tuple[RowArray, Integers]:
        """The feasible rows and their totals."""
        if self._maxima is not None:
            rows = np.flatnonzero(self._maxima.totals >= 0)
            return rows, self._maxima.totals[rows]
        assert self._scores is not None
        return self._scores.rows, self._scores.totals
