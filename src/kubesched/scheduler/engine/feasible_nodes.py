"""Which nodes take a pod, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import chain
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np

from kubesched.errors import PluginError
from kubesched.objects import Node
from kubesched.scheduler.columns import Booleans, ClusterTables, PodInfo, Positions
from kubesched.scheduler.columns.row_changes import as_rows
from kubesched.scheduler.engine.answers.filter_column import FilterColumn
from kubesched.scheduler.engine.plugin_calls import ask_filter
from kubesched.scheduler.engine.row_statuses import RowStatuses
from kubesched.scheduler.engine.scratch import PreFiltered, Rejection
from kubesched.scheduler.engine.sharing.evaluation import Evaluation
from kubesched.scheduler.framework import CycleState, Diagnosis, FilterPlugin, Status, Verdict
from kubesched.scheduler.framework.cycle_state import NOBODY

NOTHING: Final[Mapping[int, Status]] = MappingProxyType({})


class FeasibleNodes(msgspec.Struct, eq=False, gc=False):
    """The result of filtering: the kept answers, narrowed by what holds in this cycle only."""

    pod: PodInfo
    state: CycleState
    _cluster: ClusterTables
    pre_filtered: PreFiltered
    evaluation: Evaluation
    _node_count: int
    is_from_scratch: bool = False
    """The pod is limited to so few nodes that nothing is kept: all plugins are asked about these."""
    narrowed_to: Positions | None = None
    """The feasible rows, in ascending order. None: just those of the evaluation, nothing but kept filters had a say."""
    _considered: Positions | None = None  # None: every node
    _overrides: Mapping[int, Status] = NOTHING
    _foremost: tuple[Rejection, ...] = ()  # their reasons go before those of the filters
    _verdicts: tuple[Rejection, ...] = ()
    _rejectors: Set[str] = NOBODY

    @property
    def count(self) -> int:
        """How many nodes take the pod."""
        if not self.pre_filtered.status.is_success:
            return 0
        return self.evaluation.top.feasible if self.narrowed_to is None else len(self.narrowed_to)

    def rows(self) -> Positions:
        """The rows of the nodes that take the pod."""
        if not self.pre_filtered.status.is_success:
            return np.empty(0, dtype=np.intp)
        return self.evaluation.top.rows() if self.narrowed_to is None else self.narrowed_to

    def names(self) -> list[str]:
        names = self._cluster.nodes.names
        return [names[row] for row in self.rows().tolist()]

    def nodes(self) -> list[Node]:
        """The node objects that take the pod."""
        nodes = self._cluster.nodes.nodes
        return [node for row in self.rows().tolist() if (node := nodes[row]) is not None]

    def takes(self, rows: Positions) -> Booleans:
        """Which of these rows take the pod."""
        if not self.pre_filtered.status.is_success:
            return np.zeros(len(rows), dtype=np.bool_)
        fitting: Booleans = (self.evaluation.top.fits if self.narrowed_to is None else self._mask(self.narrowed_to))[
            rows
        ]
        return fitting

    def node(self, name: str) -> Node | None:
        """The node of this name, if it takes the pod."""
        row = self._cluster.nodes.row_of.get(name)
        return self._cluster.nodes.nodes[row] if row is not None and self.takes(np.array([row]))[0] else None

    @property
    def evaluated(self) -> int:
        """How many nodes were looked at."""
        return self._node_count if self._considered is None else len(self._considered)

    def considered(self, rows: Positions) -> Positions:
        """Those of the rows that have a node which is looked at."""
        looked_at = self._cluster.nodes.exists if self._considered is None else self._mask(self._considered)
        return rows[looked_at[rows]]

    def _mask(self, rows: Positions) -> Booleans:
        mask = np.zeros(self._cluster.nodes.capacity, dtype=np.bool_)
        mask[rows] = True
        return mask

    # ---- narrowing ---------------------------------------------------------------------------------------------

    def consider_only(self, node_names: Iterable[str]) -> None:
        """Look at these nodes alone; the others do not count as looked at."""
        rows = self._existing(node_names)
        fits = self.evaluation.top.fits
        self._considered = as_rows(rows)
        self.narrowed_to = as_rows([row for row in rows if fits[row]])

    def start_from_scratch(self, node_names: Iterable[str]) -> None:
        """As `consider_only`, for so few nodes that kept answers are of no use: no filter has had its say yet."""
        self.is_from_scratch = True
        self.narrowed_to = self._considered = as_rows(self._existing(node_names))

    def confine_to(self, rows: Positions) -> None:
        """As if the cluster had no other nodes than those in these rows."""
        self._node_count = len(rows)
        if not self.pre_filtered.status.is_success:
            return
        here = self._mask(rows)
        looked_at = np.flatnonzero(self._cluster.nodes.exists) if self._considered is None else self._considered
        self._considered = looked_at[here[looked_at]]
        self._overrides = {row: status for row, status in self._overrides.items() if here[row]}
        self._narrow(here)

    def keep_only(self, rows: Positions) -> None:
        """Go on with these feasible rows; no reason is recorded for the others (sampling, a nominated node)."""
        self._narrow(self._mask(rows))

    def apply(self, said: Rejection) -> None:
        """A plugin's rejections among rows that were feasible until now."""
        self._verdicts += (said,)
        self._exclude(said.rows[~said.verdict.fitting])

    def apply_foremost(self, said: Rejection) -> None:
        """Rejections that are the answer for their rows, whatever else the filters say (nominated pods)."""
        self._foremost += (said,)
        self._exclude(said.rows)

    def keep_only_node(self, name: str) -> None:
        """Go on with this one, if it takes the pod."""
        self.keep_only(as_rows(self._existing([name])))

    def keep_only_named(self, names: Iterable[str], rejected: Mapping[str, Status], *, by: str) -> None:
        """Go on with those of these nodes that take the pod; others have the statuses given here (extenders)."""
        row_of = self._cluster.nodes.row_of
        known = {row: status for name, status in rejected.items() if (row := row_of.get(name)) is not None}
        self._overrides = {**self._overrides, **known}
        named = as_rows(self._existing(names))
        if np.count_nonzero(self.takes(named)) < self.count:
            self.keep_only(named)
            self._rejectors |= {by}

    def _exclude(self, rows: Positions) -> None:
        if len(rows):
            self._narrow(~self._mask(rows))

    def _narrow(self, keep: Booleans) -> None:
        rows = self.rows()
        self.narrowed_to = rows[keep[rows]]

    def _existing(self, node_names: Iterable[str]) -> list[int]:
        row_of, exists = self._cluster.nodes.row_of, self._cluster.nodes.exists
        return sorted([row for name in node_names if (row := row_of.get(name)) is not None and exists[row]])

    # ---- why not -------------------------------------------------------------------------------------------------

    def diagnosis(self) -> Diagnosis:
        """Why the nodes that do not take the pod do not."""
        diagnosis = Diagnosis(node_count=self._node_count)
        pre_filtered = self.pre_filtered
        diagnosis.unschedulable_plugins.update(pre_filtered.limiting)
        if not pre_filtered.status.is_success:
            diagnosis.pre_filter_message = pre_filtered.status.message
            diagnosis.statuses = everywhere = RowStatuses(self._cluster, [], {}, True)
            everywhere.absent = pre_filtered.status
            diagnosis.add(pre_filtered.status)
            return diagnosis
        is_everywhere = self._considered is None
        statuses = RowStatuses(self._cluster, self.rejections(), dict(self._overrides), is_everywhere)
        if pre_filtered.node_names is not None:
            named = sorted({*pre_filtered.limiting, *self._ask_nominated(statuses)})
            statuses.absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(named)}]")
        diagnosis.statuses = statuses
        diagnosis.unschedulable_plugins |= statuses.plugins() | self._rejectors
        diagnosis.pending_plugins |= statuses.pending_plugins()
        return diagnosis

    def _ask_nominated(self, statuses: RowStatuses) -> list[str]:
        """The plugin that rejects the node which the pod is nominated to; that node has its status from now on.

        kube-scheduler asks about it before it turns to the nodes that PreFilter named, and what it learns stays:
        the status of a node that PreFilter left out, and the plugin among those named for all such nodes
        (evaluateNominatedNode).
        """
        name = self.pod.pod.status.nominated_node_name
        rows = self._existing([name])
        if rows and name not in statuses:
            nodes = self._cluster.view(as_rows(rows))
            for plugin, _ in self.evaluation.in_order(self.state, with_columns=False):
                try:
                    verdict = ask_filter(plugin, self.state, self.pod, nodes)
                except PluginError:
                    return []
                if not verdict.fitting[0]:
                    statuses.override(rows[0], verdict.status(0, plugin.name))
                    break
        return [statuses[name].plugin] if name in statuses else []

    def rejections(self) -> list[Rejection]:
        """Per plugin, in order: the rows that it was the first to reject."""
        rejections: list[Rejection] = []
        size = len(self._cluster.nodes)
        open_rows = self._cluster.nodes.exists[:size].copy()
        if self._considered is not None:
            open_rows &= self._mask(self._considered)[:size]
        open_rows[list(self._overrides)] = False
        in_order = self.evaluation.in_order(self.state, with_columns=not self.is_from_scratch)
        of_filters = (self._said_by(plugin, column, open_rows) for plugin, column in in_order)
        for said in chain(self._foremost, chain.from_iterable(of_filters)):
            positions = np.flatnonzero(~said.verdict.fitting & open_rows[said.rows])
            if len(positions):
                found = Rejection(said.plugin, said.rows[positions], said.verdict.at(positions))
                rejections.append(found)
                open_rows[found.rows] = False
        return rejections

    def _said_by(self, plugin: FilterPlugin, column: FilterColumn | None, open_rows: Booleans) -> list[Rejection]:
        """What a plugin said about the rows that no plugin before it rejected.

        One that keeps nothing was asked only about rows that all the others left; the rest is made up for here.
        """
        if column is not None:
            rows = np.flatnonzero(open_rows)
            return [Rejection(plugin.name, rows, Verdict(column.bits[rows], column.reasons))]
        said = [verdict for verdict in self._verdicts if verdict.plugin == plugin.name]
        unasked = open_rows.copy()
        for verdict in said:
            unasked[verdict.rows] = False
        if unasked.any():
            rows = np.flatnonzero(unasked)
            answer = ask_filter(plugin, self.state, self.pod, self._cluster.view(rows))
            said.append(Rejection(plugin.name, rows, answer))
            self._verdicts += (said[-1],)
        return said
