"""The kept answers of some filter plugins."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kubesched.scheduler.columns import Booleans, ClusterTables, NodeView, PodInfo
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.filter_column import FilterColumn
from kubesched.scheduler.engine.lineup import try_filter
from kubesched.scheduler.engine.tracker import MOST_ROWS_ONE_BY_ONE, RowArray
from kubesched.scheduler.framework import CycleState, DependsOn, FilterPlugin, Verdict


class FilterColumns:
    """A column for each of these plugins, unless its PreFilter said Skip. After `complete` they are all there.

    A plugin with more reasons than a column can tell apart is `unkept`: it must be asked in every cycle. So is one that
    fails on some node: that matters only to a pod for which the node is still in question.
    """

    def __init__(self, plugins: Sequence[tuple[FilterPlugin, DependsOn]], cluster: ClusterTables, asked: Asked) -> None:
        self._plugins = plugins
        self._cluster = cluster
        self._asked = asked
        self.by_plugin: dict[str, FilterColumn] = {}
        self.unkept: dict[str, FilterPlugin] = {}
        self._stale: list[FilterColumn] = []
        self._completed: AbstractSet[str] | None = None  # the plugins that were skipped then
        self._has_changed = True  # a column came, went, or was made anew
        self.version = 0
        """Another one whenever a column came, went, or was made anew. Told by `complete`."""
        self.look_at_pods = False
        """Whether a column depends on the pods of its row, beyond their sums."""

    def drop(self) -> None:
        """Everything may have changed."""
        self.by_plugin.clear()
        self._stale.clear()
        self._completed = None
        self._has_changed = True

    def ask(self, state: CycleState, pod: PodInfo, nodes: NodeView, reaches: Collection[DependsOn]) -> None:
        """Ask about some rows again, where answers are kept that are not known to be stale."""
        for column in list(self.by_plugin.values()):
            if column.depends_on in reaches and not column.is_stale:
                self._ask(column, state, pod, nodes)

    def catch_up(self, state: CycleState, pod: PodInfo, doubted: Mapping[str, Hashable]) -> list[int]:
        """The external versions of these plugins have changed since the given ones: ask about the rows they name.

        Returns these rows. A column whose plugin cannot tell is stale until `complete`.
        """
        asked: list[int] = []
        for name, since in doubted.items():
            column = self.by_plugin.get(name)
            if column is None or column.is_stale or name in state.skipped_filters:
                continue
            rows = column.plugin.filter_changes(pod.template, since)
            if rows is None or len(rows) > MOST_ROWS_ONE_BY_ONE:
                column.is_stale = True
                self._stale.append(column)
            elif len(rows):
                self._ask(column, state, pod, self._cluster.view(rows))
                asked += rows.tolist()
        return asked

    def are_complete(self, state: CycleState) -> bool:
        """Whether `complete` has nothing to do."""
        return state.skipped_filters is self._completed and not self._stale and not self._has_changed

    def complete(self, state: CycleState, pod: PodInfo) -> list[int] | None:
        """Get the answers that are not there yet, or stale: the rows that are judged otherwise now, None if any may be.

        What `ask` was told is not among them.
        """
        skipped = state.skipped_filters
        if skipped is not self._completed and skipped != self._completed:
            self._fill_gaps(state, pod)
        changed: list[int] = []
        for column in self._stale:
            if column.is_stale and self.by_plugin.get(column.plugin.name) is column:
                changed += self._ask_again(column, state, pod)
        self._stale.clear()
        if not self._has_changed:
            return changed
        self._has_changed = False
        self.version += 1
        self.look_at_pods = any(column.depends_on is DependsOn.NODE_AND_PODS for column in self.by_plugin.values())
        return None

    def reject(self, row: int) -> bool:
        return any(column.may_reject and column.bits[row] for column in self.by_plugin.values())

    def narrow_at(self, rows: RowArray, fits: Booleans) -> None:
        """As `narrow`, for some rows only: `fits` speaks of these."""
        for column in self.by_plugin.values():
            if column.may_reject:
                fits &= column.fits(rows)

    def narrow(self, fits: Booleans) -> None:
        """Take out of the rows those that a plugin rejects."""
        for column in self.by_plugin.values():
            if column.may_reject:
                fits &= column.bits == 0

    def _fill_gaps(self, state: CycleState, pod: PodInfo) -> None:
        skipped = state.skipped_filters
        for plugin, depends_on in self._plugins:
            name = plugin.name
            if name in skipped or name in self.unkept:
                self._forget(name)
            elif name not in self.by_plugin:
                column = self.by_plugin[name] = FilterColumn(plugin, depends_on, self._cluster.nodes.capacity)
                self._take_over(column, self._ask_all(column, state, pod))
        self._completed = skipped

    def _ask_again(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> Iterable[int]:
        """Bring a stale column up to date; the rows whose answers are others now."""
        verdict = self._ask_all(column, state, pod)
        changed = column.renew(verdict)
        if changed is None:
            self._take_over(column, verdict)
            return ()
        rows: list[int] = changed.tolist()
        return rows

    def _ask_all(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> Verdict:
        """Ask about every row; where nodes that are alike get the same answer, about one of each kind."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table)) if column.depends_on is DependsOn.NODE_RESOURCES else None
        nodes = self._cluster.view(None if alike is None else alike.rows)
        self._asked.rows += len(nodes)
        verdict = try_filter(column.plugin, state, pod, nodes)
        return verdict if alike is None else verdict.at(alike.kind)

    def _ask(self, column: FilterColumn, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        self._asked.rows += len(nodes)
        verdict = try_filter(column.plugin, state, pod, nodes)
        if verdict.has_failures or not column.merge(nodes.rows, verdict):
            self._forget(column.plugin.name)  # not to be kept, it seems: `complete` asks about all rows
            self._completed = None

    def _take_over(self, column: FilterColumn, verdict: Verdict) -> None:
        """Put the answers for all rows into a column."""
        self._has_changed = True
        column.is_stale = False
        if verdict.has_failures or not column.merge(slice(0, len(self._cluster.nodes)), verdict):
            self.unkept[column.plugin.name] = column.plugin
            self._forget(column.plugin.name)

    def _forget(self, name: str) -> None:
        if self.by_plugin.pop(name, None) is not None:
            self._has_changed = True
