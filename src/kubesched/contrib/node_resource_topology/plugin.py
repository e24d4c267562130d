"""The arguments and the extension points of NodeResourceTopologyMatch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from kubesched.contrib.node_resource_topology.alignment import alignment
from kubesched.contrib.node_resource_topology.demand import demand_of
from kubesched.contrib.node_resource_topology.least_numa_nodes import least_numa_scores
from kubesched.contrib.node_resource_topology.over_reserve import CacheArgs, OverReserve
from kubesched.contrib.node_resource_topology.scoring import STRATEGIES, zone_scores
from kubesched.contrib.node_resource_topology.sources import DiscardReserved, TopologySource
from kubesched.contrib.node_resource_topology.topology import NodeResourceTopology
from kubesched.contrib.node_resource_topology.zones import Zones
from kubesched.framework import (
    FIXED,
    MAX_SCORE,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Integers,
    NodeView,
    Plugin,
    PluginArgs,
    Pod,
    PodTemplate,
    Positions,
    PostBindPlugin,
    ReservePlugin,
    Resource,
    ScorePlugin,
    Status,
    Verdict,
)

NAME: Final = "NodeResourceTopologyMatch"
LEAST_NUMA_NODES: Final = "LeastNUMANodes"


class ResourceWeight(PluginArgs, frozen=True):
    name: str = ""
    weight: int = 0


class ScoringStrategy(PluginArgs, frozen=True):
    """Resources without a weight, or not named here, weigh 1."""

    type: str = ""
    resources: tuple[ResourceWeight, ...] = ()


class NodeResourceTopologyMatchArgs(PluginArgs, frozen=True):
    """`cache_resync_period_seconds`: with more than 0, what was placed since the last report is counted."""

    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")
    cache_resync_period_seconds: int = 0
    discard_reserved_nodes: bool = False
    cache: CacheArgs = CacheArgs()

    def problems(self) -> list[str]:
        if self.scoring_strategy.type in (*STRATEGIES, LEAST_NUMA_NODES):
            return []
        return [f'scoringStrategy.type: Invalid value: "{self.scoring_strategy.type}": invalid ScoringStrategyType']


class NodeResourceTopologyMatch(FilterPlugin, ScorePlugin, ReservePlugin, PostBindPlugin):
    """Nodes without a NodeResourceTopology take all pods, and score 0."""

    name = NAME
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = NodeResourceTopologyMatchArgs.of(args)
        self._source = _source(chosen, handle)
        self._zones = Zones(self._source, handle.cluster)
        self._strategy = STRATEGIES.get(chosen.scoring_strategy.type)
        self._weights = {one.name: max(one.weight, 1) for one in chosen.scoring_strategy.resources}

    def take_over(self, previous: Plugin) -> None:
        """Pods that are on their way to a node are remembered."""
        if isinstance(previous, NodeResourceTopologyMatch):
            self._source.take_over(previous._source)

    # ---- what answers depend on ----------------------------------------------------------------------------------

    def concerns(self, pod: PodTemplate) -> bool:
        return self._source.counts_reservations

    def signature(self, pod: PodTemplate) -> Hashable:
        demand = demand_of(pod)
        return demand if demand.is_judged else "asks for nothing"

    def external_version(self, pod: PodTemplate) -> Hashable:
        if not demand_of(pod).is_judged:
            return FIXED
        self._source.refresh()
        return self._source.changes.position

    def filter_changes(self, pod: PodTemplate, since: Any) -> Positions | None:
        names = self._source.changes.since(since)
        return self._zones.rows_of(names) if isinstance(names, list) else None

    score_changes = filter_changes

    def events_to_register(self) -> Sequence[EventHint]:
        return [
            EventHint(ClusterEvent(Resource.POD, Action.DELETE)),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)),
            EventHint(ClusterEvent.of(NodeResourceTopology, Action.ADD | Action.UPDATE)),
        ]

    # ---- one pod -------------------------------------------------------------------------------------------------

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        demand = demand_of(pod)
        if not demand.is_judged:
            return Verdict.fits(nodes)
        self._refresh()
        verdict = alignment(self._zones, demand, nodes)
        if self._source.counts_reservations:
            self._source.rejected(nodes.name(position) for position in np.flatnonzero(verdict.bits > 1).tolist())
        return verdict

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        """Only guaranteed pods are given their resources in one zone: for others all nodes are alike."""
        demand = demand_of(pod)
        if not demand.is_guaranteed:
            return np.full(len(nodes), MAX_SCORE, dtype=np.int64)
        self._refresh()
        if self._strategy is None:
            return least_numa_scores(self._zones, demand, nodes)
        return zone_scores(self._zones, demand, nodes, self._strategy, self._weights)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self._source.reserve(pod, node_name)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._source.unreserve(pod, node_name)

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._source.bound(pod, node_name)

    def _refresh(self) -> None:
        self._source.refresh()
        self._zones.refresh()


def _source(args: NodeResourceTopologyMatchArgs, handle: Handle) -> TopologySource:
    if args.discard_reserved_nodes:
        return DiscardReserved(handle)
    if args.cache_resync_period_seconds > 0:
        return OverReserve(handle, args.cache_resync_period_seconds, args.cache)
    return TopologySource(handle)
