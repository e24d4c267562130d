"""What there is to see of a running cluster, in numbers; how it looks is the command line's business."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Final

from kubesched.apps.page.history import Placements
from kubesched.clock import Clock
from kubesched.objects import Event, Node, Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns.node_table import STANDARD, NodeTable
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.state.queue.observer import SubQueue

RATE_SECONDS: Final = 2.0
EVENTS_KEPT: Final = 200
ZONE: Final = "topology.kubernetes.io/zone"


class AttemptCounts:
    """An `AttemptObserver` that counts, and knows how many decisions there were in the last seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()
        self.placements = Placements()
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

    def expect(self, value: Event) -> None: ...

    async def replace(self, objects: dict[str, Event], unreadable: set[str]) -> None:
        if not self._lines:
            for event in list(objects.values())[-EVENTS_KEPT:]:
                self.put(event)

    def put(self, value: Event) -> None:
        about = value.regarding
        line = EventLine(
            number=next(self._numbers),
            at=_last_seen(value),
            kind=about.kind,
            name=f"{about.namespace}/{about.name}" if about.namespace not in ("", "default") else about.name,
            reason=value.reason,
            note=value.note,
            is_warning=value.type == "Warning",
        )
        self._lines.append(line)

    def remove(self, key: str, final: Event | None) -> None: ...

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

    def __init__(self, assembled: Assembled, attempts: AttemptCounts, events: LastEvents) -> None:
        self._assembled = assembled
        self._attempts = attempts
        self.events = events

    def picture(self) -> ClusterSummary:
        queue = self._assembled.queue.counts()
        starting = running = ending = unbound = 0
        for pod in self._assembled.objects.of(Pod):
            if pod.is_terminating:
                ending += 1
            elif not pod.spec.node_name:
                unbound += 1
            elif pod.status.phase == "Running":
                running += 1
            else:
                starting += 1
        unschedulable, gated = queue.get(SubQueue.UNSCHEDULABLE, 0), queue.get(SubQueue.GATED, 0)
        nodes = list(self._assembled.objects.of(Node))
        return ClusterSummary(
            nodes=len(nodes),
            ready_nodes=sum(_is_ready(node) for node in nodes),
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


def _last_seen(event: Event) -> datetime | None:
    again = event.series.last_observed_time if event.series is not None else None
    return again or event.event_time or event.metadata.creation_timestamp


def _node_line(table: NodeTable, row: int, node: Node) -> NodeLine:
    state = "" if _is_ready(node) else "NotReady"
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


def _is_ready(node: Node) -> bool:
    return any(item.type == "Ready" and item.status == "True" for item in node.status.conditions)
