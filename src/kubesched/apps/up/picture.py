"""What there is to see of a running cluster, in numbers; how it looks is the command line's business."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from itertools import count
from typing import Final

from kubesched.apps.page.history import Placements
from kubesched.apps.page.node_map import is_ready
from kubesched.apps.page.queue_view import GATED, UNSCHEDULABLE, waiting_by_conditions
from kubesched.clock import Clock
from kubesched.objects import Event, Node, Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns.node_table import STANDARD, NodeTable
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.state.queue.observer import SubQueue

RATE_SECONDS: Final = 2.0
EVENTS_KEPT: Final = 200
ZONE: Final = "topology.kubernetes.io/zone"
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class AttemptCounts:
    """An `AttemptObserver` that counts, and knows how many decisions there were in the last seconds."""

    def __init__(self, clock: Clock, placements: Placements | None = None) -> None:
        """`placements`: where another scheduler's are counted, if that is the one in question."""
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()
        self.placements = placements or Placements()
        self.rejected_pods = 0

    def algorithm_ran(self, seconds: float) -> None: ...

    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None:
        now = self._clock.monotonic()
        self.placements.note(now - queued.initial_attempt if queued.initial_attempt is not None else seconds)

    def unschedulable(self, profile: str, seconds: float) -> None:
        self.rejected_pods += 1

    def failed(self, profile: str, seconds: float) -> None:
        self.rejected_pods += 1

    @property
    def scheduled_pods(self) -> int:
        return self.placements.count

    @property
    def decisions(self) -> int:
        return self.scheduled_pods + self.rejected_pods

    def per_second(self) -> float:
        """Since the calls of the last two seconds; ask regularly."""
        now = self._clock.monotonic()
        self._marks.append((now, self.decisions))
        while len(self._marks) > 2 and self._marks[1][0] <= now - RATE_SECONDS:
            self._marks.popleft()
        then, before = self._marks[0]
        return (self.decisions - before) / (now - then) if now > then else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    number: int
    at: datetime | None
    kind: str
    name: str
    reason: str
    note: str
    is_warning: bool


class LastEvents:
    """The store of a reflector of events: keeps the last ones only. `since` gives those that are new."""

    def __init__(self) -> None:
        self._lines: deque[EventLine] = deque(maxlen=EVENTS_KEPT)
        self._numbers = count(1)
        self.listed = asyncio.Event()
        """Set once the first list has come."""
        self.problem = ""
        """Why nothing can be heard from the server at present; for a reflector that reports its interruptions here."""

    def expect(self, value: Event) -> None: ...

    async def replace(self, objects: dict[str, Event], unreadable: set[str]) -> None:
        if not self._lines:
            for event in nlargest(EVENTS_KEPT, objects.values(), key=lambda event: _last_seen(event) or LONG_AGO)[::-1]:
                self.put(event)
        self.listed.set()
        self.problem = ""

    def put(self, value: Event) -> None:
        about = value.regarding
        line = EventLine(
            number=next(self._numbers),
            at=_last_seen(value),
            kind=about.kind,
            name=_short_key(about.namespace, about.name),
            reason=value.reason,
            note=value.note,
            is_warning=value.type == "Warning",
        )
        self._lines.append(line)

    def remove(self, key: str, final: Event | None) -> None: ...

    def broken(self, error: Exception) -> None:
        self.problem = str(error)

    def resumed(self) -> None:
        self.problem = ""

    def since(self, number: int) -> list[EventLine]:
        return [line for line in self._lines if line.number > number]

    def last(self, most: int, without: Container[str] = ()) -> list[EventLine]:
        """The last ones, oldest first, leaving out those with certain reasons."""
        return [line for line in self._lines if line.reason not in without][-most:]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node; `cpu` and `memory` are the requested parts of what it offers."""

    name: str
    zone: str
    state: str
    cpu: float
    memory: float
    pods: int
    pod_limit: int
    devices: str = ""
    """What it offers besides CPU, memory and disk: `nvidia.com/gpu 3/4`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    nodes: int
    ready_nodes: int
    waiting: int
    unschedulable: int
    gated: int
    starting: int
    running: int
    ending: int
    scheduled: int
    rejected: int
    decisions_per_second: float

    @property
    def pods(self) -> int:
        return self.waiting + self.unschedulable + self.gated + self.starting + self.running + self.ending


class ClusterMonitor:
    """Takes pictures of the cluster as the scheduler knows it."""

    def __init__(
        self, assembled: Assembled, attempts: AttemptCounts, events: LastEvents, *, schedules: bool = True
    ) -> None:
        """`schedules`: whether this scheduler decides. If not, who waits is read from the conditions of the pods."""
        self._assembled = assembled
        self._attempts = attempts
        self._schedules = schedules
        self.events = events

    def picture(self) -> ClusterSummary:
        starting = running = ending = unbound = 0
        for pod in self._assembled.objects.of(Pod):
            if pod.is_terminal:
                continue
            if pod.is_terminating:
                ending += 1
            elif not pod.spec.node_name:
                unbound += 1
            elif pod.status.phase == "Running":
                running += 1
            else:
                starting += 1
        unschedulable, gated = self._without_a_place()
        nodes = list(self._assembled.objects.of(Node))
        return ClusterSummary(
            nodes=len(nodes),
            ready_nodes=sum(is_ready(node) for node in nodes),
            waiting=max(0, unbound - unschedulable - gated),
            unschedulable=unschedulable,
            gated=gated,
            starting=starting,
            running=running,
            ending=ending,
            scheduled=self._attempts.scheduled_pods,
            rejected=self._attempts.rejected_pods,
            decisions_per_second=self._attempts.per_second(),
        )

    def _without_a_place(self) -> tuple[int, int]:
        """How many pods are unschedulable, and how many gated."""
        if self._schedules:
            queue = self._assembled.queue.counts()
            return queue.get(SubQueue.UNSCHEDULABLE, 0), queue.get(SubQueue.GATED, 0)
        places = Counter(one.place for one in waiting_by_conditions(self._assembled) if not one.pod.is_terminating)
        return places[UNSCHEDULABLE], places[GATED]

    def placements(self, most: int) -> list[EventLine]:
        """The last pods that got a node, oldest first, as the pods' conditions say."""
        return last_placements(self._assembled.objects.of(Pod), most)

    def node_lines(self, most: int) -> list[NodeLine]:
        """The first nodes by the number in their name."""
        table = self._assembled.cache.cluster.nodes
        rows = sorted(table.existing(), key=lambda item: (len(item[1].name), item[1].name))[:most]
        return [_node_line(table, row, node) for row, node in rows]

    def filling(self) -> list[int]:
        """How many nodes have 0–10 %, 10–20 %, … of their CPU requested."""
        table = self._assembled.cache.cluster.nodes
        parts = [0] * 10
        for row, _ in table.existing():
            parts[min(9, int(_part(table, 0, row) * 10))] += 1
        return parts


def last_placements(pods: Iterable[Pod], most: int) -> list[EventLine]:
    """Those of which a condition says when."""
    placed = [
        (one.last_transition_time, pod.key, pod)
        for pod in pods
        if pod.spec.node_name
        for one in pod.status.conditions
        if one.type == "PodScheduled" and one.status == "True" and one.last_transition_time is not None
    ]
    last = nlargest(most, placed, key=lambda one: one[:2])[::-1]
    return [
        EventLine(
            number=number,
            at=at,
            kind="Pod",
            name=_short_key(pod.metadata.namespace, pod.metadata.name),
            reason="Scheduled",
            note=f"to {pod.spec.node_name}",
            is_warning=False,
        )
        for number, (at, _, pod) in enumerate(last, 1)
    ]


def _short_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace not in ("", "default") else name


def _last_seen(event: Event) -> datetime | None:
    again = event.series.last_observed_time if event.series is not None else None
    return again or event.event_time or event.metadata.creation_timestamp


def _node_line(table: NodeTable, row: int, node: Node) -> NodeLine:
    state = "" if is_ready(node) else "NotReady"
    if node.spec.unschedulable:
        state = f"{state},cordoned".lstrip(",")
    return NodeLine(
        name=node.name,
        zone=node.metadata.labels.get(ZONE, ""),
        state=state,
        cpu=_part(table, 0, row),
        memory=_part(table, 1, row),
        pods=table.pod_count.item(row),
        pod_limit=table.allowed_pods.item(row),
        devices=" ".join(_devices(table, row)),
    )


def _devices(table: NodeTable, row: int) -> Iterator[str]:
    for resource in table.resources_of(row)[len(STANDARD) :]:
        if offered := table.allocatable[resource][row]:
            yield f"{table.resources.values[resource]} {table.requested[resource][row]}/{offered}"


def _part(table: NodeTable, resource: int, row: int) -> float:
    offered = table.allocatable[resource][row]
    return float(table.requested[resource][row] / offered) if offered else 0.0
