"""From a trace to a workload: what happens in a cluster by itself, without what its scheduler decided.

A pod's life is taken apart into what its users did (it arrived, changed, was deleted while it waited) and how long it
ran once it had a node. Pods that were disrupted (preempted, evicted, lost with their node) differ from those that
ended: their replacement, made by their controller, comes only if the replay disrupts them, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kubesched.objects import Node, Pod, PodGroup, ResourceClaim
from kubesched.objects.dra import ResourceClaimStatus
from kubesched.objects.pod import RUN_SECONDS, TERMINAL_PHASES, PodStatus
from kubesched.traces import Change, ChangeType, Entry, Trace

REPLACED_WITHIN: Final = 60.0
"""Seconds after a disruption within which a new pod of the same controller counts as the replacement."""


LENGTH_OF_A_MOMENT: Final = 60.0
"""Seconds that are replayed of a trace of a single moment: time for second attempts."""


class PodLife(msgspec.Struct):
    """One pod: when it came, how long it ran, and what came after it."""

    pod: Pod
    """As it arrived, without a node; with one, if it had it from the start of the trace or named it itself."""
    arrives: float
    bound_at: float | None = None
    node: str = ""
    """Where the trace shows it."""
    ends: float | None = None
    """When it ended or was deleted, as the trace shows it; None: not before the trace ended."""
    disrupted_at: float | None = None
    """Its end was none of its own: from here on it was being preempted or evicted, or its node was gone."""
    replacement: PodLife | None = None
    is_replacement: bool = False
    run_seconds: float | None = None
    """How long it runs if the trace does not show it: what its annotation says."""

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    @property
    def withdrawn(self) -> float | None:
        """When it was deleted, if it was still waiting then."""
        return self.ends if self.bound_at is None else None

    @property
    def runs_for(self) -> float | None:
        """Seconds from its binding to its end; for a disrupted one, with those of its replacements. None: for ever."""
        if self.bound_at is None or self.ends is None:
            return self.run_seconds
        own = self.ends - self.bound_at
        if self.disrupted_at is None:
            return own
        rest = self.replacement.runs_for if self.replacement is not None else None
        return None if rest is None else own + rest


class PodChange(msgspec.Struct, frozen=True):
    """A pod's specification or metadata changed: a gate was lifted, a label set, it was resized."""

    time: float
    pod: Pod


class Workload(msgspec.Struct):
    """All that a replay needs of a trace, each list in the order of time."""

    started: float
    ended: float
    objects: list[Any]
    """The state at the start, without pods."""
    changes: list[Change]
    """Of everything but pods, after the start."""
    lives: list[PodLife]
    pod_changes: list[PodChange]
    gaps: int = 0
    name: str = ""
    """Of the trace's file."""


def workload_of(source: Trace | str | Path) -> Workload:
    """Read a whole trace. TraceError where it cannot be read."""
    trace = source if isinstance(source, Trace) else Trace.open(source)
    reader = _Reader(trace.header.started)
    for entry in trace:
        reader.take(entry)
    return replace(reader.workload(trace.ended), name=trace.name)


class _Reader:
    def __init__(self, started: float) -> None:
        self._started = self._now = started
        self._objects: list[Any] = []
        self._changes: list[Change] = []
        self._lives: dict[str, PodLife] = {}  # by uid
        self._current: dict[str, Pod] = {}
        self._pod_changes: list[PodChange] = []
        self._lost_nodes: dict[str, float] = {}
        self._gaps = 0

    def take(self, entry: Entry) -> None:
        self._now = entry.time
        if not isinstance(entry, Change):
            self._gaps += hasattr(entry, "since")
            return
        if isinstance(entry.object, Pod):
            self._take_pod(entry, entry.object)
        elif entry.time <= self._started and entry.type is not ChangeType.DELETED:
            self._objects.append(entry.object)
        else:
            if isinstance(entry.object, Node) and entry.type is ChangeType.DELETED:
                self._lost_nodes[entry.object.metadata.name] = entry.time
            self._changes.append(replace(entry, object=without_decisions(entry.object)))

    def _take_pod(self, entry: Change, pod: Pod) -> None:
        uid = pod.metadata.uid or pod.key
        life, known = self._lives.get(uid), self._current.get(uid)
        if life is None:
            if entry.type is ChangeType.DELETED or pod.status.phase in TERMINAL_PHASES:
                return  # it ended before the trace began, or in a gap
            if _would_have_ended(pod, self._started):
                return
            life = self._lives[uid] = self._arrival(entry.time, pod)
        elif known is not None and _asks_for(known) != _asks_for(pod):
            self._pod_changes.append(PodChange(entry.time, pod))
        self._current[uid] = pod
        if pod.spec.node_name and life.bound_at is None:
            life.bound_at, life.node = entry.time, pod.spec.node_name
        if life.bound_at is not None and life.disrupted_at is None and _is_disruption_target(pod):
            life.disrupted_at = entry.time
        if life.ends is None and (entry.type is ChangeType.DELETED or pod.status.phase in TERMINAL_PHASES):
            life.ends = entry.time
            if life.disrupted_at is None:
                life.disrupted_at = self._lost_with_its_node(life)
            self._current.pop(uid)

    def _arrival(self, time: float, pod: Pod) -> PodLife:
        """At the start, pods that have a node stay where they are; later on, only those that came with one."""
        stays = bool(pod.spec.node_name)
        life = PodLife(pod if stays else pending(pod), time, time if stays else None, pod.spec.node_name)
        life.run_seconds = _seconds_left(pod, self._started)
        return life

    def _lost_with_its_node(self, life: PodLife) -> float | None:
        lost = self._lost_nodes.get(life.node)
        return lost if lost is not None and life.bound_at is not None and lost >= life.bound_at else None

    def workload(self, watched_until: float | None) -> Workload:
        lives = list(self._lives.values())
        _match_replacements(lives)
        last = max(self._now, watched_until or self._now)
        ended = last if last > self._started else self._started + LENGTH_OF_A_MOMENT
        return Workload(self._started, ended, self._objects, self._changes, lives, self._pod_changes, gaps=self._gaps)


def without_decisions(obj: Any) -> Any:
    """The object without what a scheduler wrote into its status: a replay decides itself."""
    if isinstance(obj, ResourceClaim):
        return replace(obj, status=ResourceClaimStatus())
    if isinstance(obj, PodGroup):
        return replace(obj, status=replace(obj.status, conditions=()))
    return obj


def pending(pod: Pod) -> Pod:
    """The pod without a node, as it is before any scheduler or kubelet has seen it."""
    claims = pod.status.resource_claim_statuses  # which claims were made for it: its controller's, not its scheduler's
    return replace(pod, spec=replace(pod.spec, node_name=""), status=PodStatus(resource_claim_statuses=claims))


def _seconds_left(pod: Pod, started: float) -> float | None:
    """What its annotation says; of a pod from before the trace, as if it had run since. None if it says nothing."""
    try:
        seconds = float(pod.metadata.annotations[RUN_SECONDS])
    except (KeyError, ValueError):
        return None
    created = pod.metadata.creation_timestamp
    return seconds if created is None else seconds - max(started - created.timestamp(), 0.0)


def _would_have_ended(pod: Pod, started: float) -> bool:
    """In a part of a generated trace: a pod without a node that came long before the part begins."""
    left = None if pod.spec.node_name else _seconds_left(pod, started)
    return left is not None and left <= 0


def _asks_for(pod: Pod) -> tuple[Any, ...]:
    """What users change of a pod, as opposed to its scheduler and kubelet."""
    metadata = pod.metadata
    claims = pod.status.resource_claim_statuses
    return replace(pod.spec, node_name=""), metadata.labels, metadata.annotations, claims


def _is_disruption_target(pod: Pod) -> bool:
    return any(c.type == "DisruptionTarget" and c.status == "True" for c in pod.status.conditions)


def _match_replacements(lives: Iterable[PodLife]) -> None:
    """Give every disrupted pod the next new pod of its controller, unless another one has it already."""
    waiting: dict[str, list[tuple[float, PodLife]]] = {}
    for time, _, life, is_arrival in sorted(_disruptions_and_arrivals(lives), key=lambda item: item[:2]):
        owner = life.pod.metadata.controller_of
        if owner is None:
            continue
        queue = waiting.setdefault(owner.uid, [])
        if not is_arrival:
            queue.append((time, life))
            continue
        while queue:
            disrupted_at, disrupted = queue.pop(0)
            if time - disrupted_at <= REPLACED_WITHIN:
                disrupted.replacement, life.is_replacement = life, True
                break


def _disruptions_and_arrivals(lives: Iterable[PodLife]) -> Iterator[tuple[float, int, PodLife, bool]]:
    for number, life in enumerate(lives):
        yield life.arrives, 2 * number + 1, life, True
        if life.disrupted_at is not None:
            yield life.disrupted_at, 2 * number, life, False
