"""A node upgrade played through in virtual time, with budgets, grace periods, start-up times and nodes that come back.

Up to `surge` nodes are replaced at a time: a new node joins, then the old one is drained and deleted. Besides, up to
`max_unavailable` are upgraded in place: drained, away for a while, and back.

    waiting ─► (a new node joins) ─► draining ─► (away) ─► upgraded
                                        │
                                        └── stuck: a budget, or a pod that nothing recreates
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from itertools import count

from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import new_node, stays_with_node
from kubesched.apps.plan.budgets import Budgets, is_healthy
from kubesched.apps.plan.reporting import Progress, ReportPart
from kubesched.apps.plan.state import BARE, State, Timing
from kubesched.apps.plan.what_if import ZONE, why_waiting
from kubesched.apps.plan.workloads import is_recreated, release_claims, replacement
from kubesched.apps.simulate.simulation import Simulation
from kubesched.clock import utc
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, Pod, PodDisruptionBudget


class Order(StrEnum):
    NAME = "name"
    FEWEST_PODS = "fewest-pods"
    MOST_PODS = "most-pods"
    ZONES_IN_TURN = "zones-in-turn"
    ZONE_BY_ZONE = "zone-by-zone"


class Pace(ReportPart):
    """How many nodes at a time, and how long things take, in seconds."""

    surge: int = 0
    max_unavailable: int = 1
    grace: float = 30.0
    """A pod takes this to stop, or its own grace period if that is shorter."""
    start_up: float = 20.0
    """From a pod's node to its readiness."""
    node_time: float = 180.0
    """Until a new node joins, or one that is upgraded in place is back."""


class NodeUpgrade(ReportPart):
    node: str
    drains_from: float
    empty_at: float | None = None
    done_at: float | None = None
    evictions: int = 0


class Stuck(ReportPart):
    """What holds a node up in the end, in the API server's words or the scheduler's."""

    node: str
    pod: str
    why: str


class LongWait(ReportPart):
    """A pod that had no node for a while; `until` None: it has none in the end."""

    pod: str
    since: float
    until: float | None
    why: str


class RolloutReport(ReportPart):
    """Times are seconds from the start. `seconds` is when the last node was done, if it `finishes`."""

    order: str
    finishes: bool
    seconds: float
    nodes: tuple[NodeUpgrade, ...]
    evictions: int
    """Pods that land on nodes which are still to be upgraded are evicted again."""
    stuck: tuple[Stuck, ...] = ()
    waits: tuple[LongWait, ...] = ()
    lost: tuple[str, ...] = ()
    not_reached: int = 0
    """Nodes whose turn never came."""
    ties: int = 0
    """Landings that were left to chance: with other ones, the rest may go otherwise."""
    by_timing: bool = False
    """Evictions differ with the order in which successors of pods that go at once come."""

    @property
    def pod_seconds_waited(self) -> float:
        return sum((wait.until if wait.until is not None else self.seconds) - wait.since for wait in self.waits)


def rollout(
    simulation: Simulation,
    pool: str,
    pace: Pace,
    order: Order = Order.NAME,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> RolloutReport:
    """Upgrade the nodes of a pool (a name or a selector; all, if empty). The simulation is afterwards as it was before.

    `force` evicts pods that nothing recreates, too. ConfigurationError.
    """
    if pace.surge < 0 or pace.max_unavailable < 0 or not pace.surge + pace.max_unavailable:
        raise ConfigurationError(["no node may be upgraded: give a surge or a number of unavailable nodes above 0"])
    with State(simulation) as now:
        now.settle(retry=True)
        nodes = now.nodes(pool) if pool else sorted(simulation.objects(Node), key=lambda node: node.metadata.name)
        nodes = _in_order(nodes, order, simulation)
        reports = []
        for timing in Timing:
            with State(simulation) as state:
                reports.append(_Rollout(state, nodes, pace, force, timing, progress).run(order))
        evictions = [[node.evictions for node in one.nodes] for one in reports]
        return replace(reports[0], by_timing=any(other != evictions[0] for other in evictions))


def best_order(reports: Sequence[RolloutReport]) -> RolloutReport:
    """The one that finishes, or gets furthest; soonest, with the fewest evictions and the least waiting."""
    return min(
        reports,
        key=lambda one: (
            *(not one.finishes, -sum(node.done_at is not None for node in one.nodes), len(one.lost)),
            *(one.seconds, one.evictions, one.pod_seconds_waited, one.order),
        ),
    )


def _in_order(nodes: Sequence[Node], order: Order, simulation: Simulation) -> list[Node]:
    pods = {node.metadata.name: len(simulation.pods_on(node.metadata.name)) for node in nodes}
    zone_of = {node.metadata.name: node.metadata.labels.get(ZONE, "") for node in nodes}
    seen: Counter[str] = Counter()
    turn: dict[str, int] = {}
    for node in nodes:
        turn[node.metadata.name] = seen[zone_of[node.metadata.name]]
        seen[zone_of[node.metadata.name]] += 1
    keys: dict[Order, Callable[[str], object]] = {
        Order.NAME: lambda name: 0,
        Order.FEWEST_PODS: lambda name: pods[name],
        Order.MOST_PODS: lambda name: -pods[name],
        Order.ZONES_IN_TURN: lambda name: (turn[name], zone_of[name]),
        Order.ZONE_BY_ZONE: lambda name: zone_of[name],
    }
    return sorted(nodes, key=lambda node: (keys[order](node.metadata.name), node.metadata.name))


class _Rollout:
    def __init__(
        self,
        state: State,
        nodes: Sequence[Node],
        pace: Pace,
        force: bool,
        timing: Timing,
        progress: Progress | None,
    ) -> None:
        self._timing = timing
        self._state = state
        self._simulation = state.simulation
        self._pace = pace
        self._force = force
        self._progress = progress
        self._to_do = list(nodes)
        self._total = len(nodes)
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = count()
        self._replacing = 0
        self._in_place = 0
        self._draining: dict[str, bool] = {}  # by name: whether it is replaced
        self._upgrades: dict[str, NodeUpgrade] = {}
        self._starting: set[str] = set()
        self._seen_to_start: set[str] = set()
        self._waiting: dict[str, tuple[float, str]] = {}
        self._waits: list[LongWait] = []
        self._obstacles: dict[str, Stuck] = {}
        self._lost: list[str] = []
        self._budgets = Budgets(self._simulation.objects(PodDisruptionBudget))
        self._waited_before = {pod.key for pod in self._simulation.objects(Pod) if not pod.spec.node_name}

    def run(self, order: Order) -> RolloutReport:
        self._start_nodes()
        self._turn()
        while self._events:
            self._now, _, happen = heapq.heappop(self._events)
            happen()
            while self._events and self._events[0][0] == self._now:
                heapq.heappop(self._events)[2]()
            self._turn()
            if self._progress is not None:
                self._progress(sum(one.done_at is not None for one in self._upgrades.values()), self._total)
        return self._report(order)

    # ---- what happens at one moment ---------------------------------------------------------------------------

    def _turn(self) -> None:
        """The scheduler places, nodes are drained as far as budgets allow, and again until nothing more happens."""
        while True:
            self._state.settle()
            self._note_placements()
            if not self._drain():
                break
        self._start_nodes()

    def _note_placements(self) -> None:
        """Pods that got a node start up; those without one wait."""
        for key, (before, now) in self._simulation.changed_pods().items():
            if now is None or now.is_terminating or key in self._waited_before:
                self._waiting.pop(key, None)
            elif not now.spec.node_name:
                since = self._waiting.get(key, (self._now, ""))[0]
                self._waiting[key] = since, why_waiting(now)
            elif before is None or before.metadata.uid != now.metadata.uid:
                self._note_start(key, now)

    def _note_start(self, key: str, pod: Pod) -> None:
        if key in self._waiting:
            since, why = self._waiting.pop(key)
            if self._now > since:
                self._waits.append(LongWait(pod=key, since=since, until=self._now, why=why))
        uid = pod.metadata.uid
        if uid not in self._seen_to_start:
            self._seen_to_start.add(uid)
            self._starting.add(uid)
            self._later(self._pace.start_up, lambda: self._starting.discard(uid))

    def _drain(self) -> bool:
        """Evict what may go from the nodes that are drained. Whether anything went."""
        self._budgets.recount(self._simulation.objects(Pod) if self._budgets else (), self._is_up)
        self._obstacles = {}
        went = False
        for name in list(self._draining):
            leaving = [pod for pod in self._simulation.pods_on(name) if not stays_with_node(pod)]
            if not leaving:
                self._emptied(name)
                went = True
                continue
            for pod in reversed(leaving) if self._timing is Timing.REVERSED else leaving:
                if not pod.is_terminating:
                    went |= self._evict(pod, name)
                if went and self._timing is Timing.ONE_BY_ONE:
                    return True
        return went

    def _evict(self, pod: Pod, node: str) -> bool:
        if not is_recreated(pod) and not self._force:
            problem = f"{BARE}; --force evicts it all the same"
        else:
            problem = self._budgets.obstacle(pod, self._is_up)
        if problem:
            self._obstacles.setdefault(node, Stuck(node=node, pod=pod.key, why=problem))
            return False
        self._budgets.spend(pod, self._is_up)
        upgrade = self._upgrades[node]
        self._upgrades[node] = replace(upgrade, evictions=upgrade.evictions + 1)
        grace = pod.spec.termination_grace_period_seconds
        stops_in = self._pace.grace if grace is None else min(self._pace.grace, float(grace))
        now = utc(self._simulation.clock)
        owner = pod.metadata.controller_of
        at_once = owner is not None and owner.kind != "StatefulSet"
        self._simulation.add(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=now)))
        if at_once:
            self._simulation.add(replacement(pod, now, name=self._next_name(pod)))
        elif owner is None:
            self._lost.append(pod.key)
        self._later(stops_in, lambda: self._gone(pod, comes_back=not at_once and owner is not None))
        return True

    def _gone(self, pod: Pod, *, comes_back: bool) -> None:
        current = self._simulation.get(Pod, pod.metadata.name, pod.metadata.namespace)
        if current is None or current.metadata.uid != pod.metadata.uid:
            return
        successor = replacement(pod, utc(self._simulation.clock)) if comes_back else None
        release_claims(pod, successor, self._simulation)
        self._simulation.remove(current)
        if successor is not None:
            self._simulation.add(successor)

    def _next_name(self, pod: Pod) -> str:
        base, _, number = pod.metadata.name.partition("+")
        return f"{base}+{int(number or 0) + 1}"

    # ---- nodes ------------------------------------------------------------------------------------------------

    def _start_nodes(self) -> None:
        while self._to_do and self._replacing < self._pace.surge:
            node = self._to_do.pop(0)
            self._replacing += 1
            self._later(self._pace.node_time, partial(self._joined, node))
        while self._to_do and self._in_place < self._pace.max_unavailable:
            node = self._to_do.pop(0)
            self._in_place += 1
            self._start_drain(node, is_replaced=False)

    def _joined(self, old: Node) -> None:
        """The new node is there: the old one is drained now."""
        self._simulation.add(new_node(old, f"{old.metadata.name}-upgraded"))
        self._bring_daemons(old.metadata.name, f"{old.metadata.name}-upgraded")
        self._start_drain(old, is_replaced=True)

    def _start_drain(self, node: Node, *, is_replaced: bool) -> None:
        name = node.metadata.name
        self._upgrades[name] = NodeUpgrade(node=name, drains_from=self._now)
        self._draining[name] = is_replaced
        current = self._simulation.get(Node, name)
        if current is not None:
            self._state.cordon([current])
        self._later(0.0, lambda: None)  # a turn for it

    def _emptied(self, name: str) -> None:
        is_replaced = self._draining.pop(name)
        self._upgrades[name] = replace(self._upgrades[name], empty_at=self._now)
        node = self._simulation.get(Node, name)
        assert node is not None
        if is_replaced:
            self._state.delete(self._simulation.pods_on(name), "its node is gone")
            self._simulation.remove(node)
            self._replacing -= 1
            self._done(name)
        else:
            self._later(self._pace.node_time, lambda: self._back(name))

    def _back(self, name: str) -> None:
        node = self._simulation.get(Node, name)
        if node is not None:
            self._simulation.add(replace(node, spec=replace(node.spec, unschedulable=False)))
        self._in_place -= 1
        self._done(name)

    def _done(self, name: str) -> None:
        self._upgrades[name] = replace(self._upgrades[name], done_at=self._now)

    def _bring_daemons(self, model: str, name: str) -> None:
        now = utc(self._simulation.clock)
        for pod in self._simulation.pods_on(model):
            if stays_with_node(pod):
                copy = replacement(pod, now, name=f"{pod.metadata.name}-{name}")
                self._simulation.add(replace(copy, spec=replace(copy.spec, node_name=name)))

    # ---- the steps that the above share -----------------------------------------------------------------------

    def _later(self, seconds: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self._now + seconds, next(self._sequence), happen))

    def _is_up(self, pod: Pod) -> bool:
        return is_healthy(pod) and pod.metadata.uid not in self._starting

    def _report(self, order: Order) -> RolloutReport:
        done = [one.done_at for one in self._upgrades.values() if one.done_at is not None]
        still = [LongWait(pod=key, since=since, until=None, why=why) for key, (since, why) in self._waiting.items()]
        return RolloutReport(
            order=order.value,
            finishes=len(done) == self._total,
            seconds=max(done, default=0.0) if len(done) == self._total else self._now,
            nodes=tuple(self._upgrades.values()),
            evictions=sum(one.evictions for one in self._upgrades.values()),
            stuck=tuple(self._stuck()),
            waits=tuple(
                sorted((*self._waits, *still), key=lambda wait: (wait.until is not None, wait.since, wait.pod))
            ),
            lost=tuple(self._lost),
            not_reached=len(self._to_do),
            ties=len(self._simulation.ties),
        )

    def _stuck(self) -> Iterator[Stuck]:
        for name in self._draining:
            yield self._obstacles.get(name) or Stuck(node=name, pod="", why="it does not become empty")
