"""Whatever happens, every pending pod is in one place, the right one, and no event that may help it is lost.

The queue runs beside a model that keeps its pods in a plain list and decides by the rules' wording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubesched.clock import VirtualClock
from kubesched.scheduler.columns import ClusterTables, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    PreEnqueuePlugin,
    QueuedPod,
    QueueSortPlugin,
    Resource,
    Status,
    Tags,
)
from kubesched.scheduler.state.queue import SchedulingQueue, SubQueue
from kubesched.testing.builders import make_pod

PROFILE = "default-scheduler"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
CLAIM_ADD = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
GATE_OPENS = ClusterEvent(Resource.RESOURCE_CLAIM, Action.UPDATE)
NEIGHBOUR = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD)
NOBODYS = ClusterEvent(Resource.STORAGE_CLASS, Action.ADD)
EVERYBODYS = ClusterEvent(Resource.WILDCARD, Action.ALL)
LABELLED = ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)

NOT, AFTER_BACKOFF, IMMEDIATELY = 0, 1, 2
PLUGINS = ("Fit", "Volumes", "Near")


class ByPriority(QueueSortPlugin):
    name = "ByPriority"

    def sort_key(self, pod: QueuedPod) -> tuple[int, float]:
        return (-pod.info.priority, pod.timestamp)


class Gate(PreEnqueuePlugin):
    name = "Gate"

    def __init__(self, holds: set[str]) -> None:
        self._holds = holds

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return Status.unresolvable("held") if pod.uid in self._holds else SUCCESS


def good_claims_only(pod: PodInfo, old: Any, new: Any) -> Hint:
    return Hint.QUEUE if new == "good" else Hint.SKIP


def same_label_only(pod: PodInfo, old: Any, new: Any) -> Hint:
    return Hint.QUEUE if pod.template.labels.get("l") == new else Hint.SKIP


def own_label(pod: PodTemplate) -> list[str] | None:
    """As a plugin may have it: something for most pods, everything or nothing for others."""
    match pod.labels.get("l"):
        case "y":
            return None
        case None:
            return []
        case label:
            return [label]


SAME_LABEL = Tags(own_label, lambda old, new: None if new == "z" else [new, "other"])

HINTS = {
    "Fit": [EventHint(NODE_ADD), EventHint(ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL))],
    "Volumes": [EventHint(CLAIM_ADD, good_claims_only, per_template=True)],
    "Near": [EventHint(NEIGHBOUR, same_label_only, per_template=True, tags=SAME_LABEL)],
    "Gate": [EventHint(GATE_OPENS)],
}


def helps(plugin: str, labels: Mapping[str, str], event: ClusterEvent, new: object) -> bool:
    match plugin:
        case "Near":
            return event == NEIGHBOUR and new == labels.get("l")
        case "Fit":
            return event in (NODE_ADD, LABELLED)
        case "Volumes":
            return event == CLAIM_ADD and new == "good"
        case _:
            return event == GATE_OPENS


@dataclass
class Modelled:
    info: PodInfo
    timestamp: float
    order: int
    place: str = "nowhere"
    by: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    rejections: int = 0
    errors: int = 0
    flushed_at: float = 0.0
    meantime: list[tuple[ClusterEvent, object]] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, float, int]:
        return (-self.info.priority, self.timestamp, self.order)

    @property
    def backoff_until(self) -> float:
        return floor(self.timestamp + min(2.0 ** ((self.errors or self.rejections) - 1), 10.0))

    def answer(self, event: ClusterEvent, new: object) -> int:
        if not self.by | self.pending or event == EVERYBODYS:
            return AFTER_BACKOFF
        strengths = {
            plugin: IMMEDIATELY if plugin in self.pending else AFTER_BACKOFF for plugin in self.by | self.pending
        }
        labels = self.info.pod.metadata.labels
        helping = [strength for plugin, strength in strengths.items() if helps(plugin, labels, event, new)]
        return max(helping, default=NOT)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.templates = ClusterTables().templates
        self.held: set[str] = set()
        self.rejections: dict[str, int] = {}
        self.queue = SchedulingQueue(
            ByPriority(), self.clock, pre_enqueue={PROFILE: [Gate(self.held)]}, hints={PROFILE: HINTS}, observer=self
        )
        self.pods: dict[str, Modelled] = {}
        self.flying: dict[str, QueuedPod] = {}
        self.count = 0

    # The machine is the queue's observer, too.

    def pod_enqueued(self, queue: SubQueue, event: str) -> None: ...
    def hint_asked(self, plugin: str, event: str, result: str, seconds: float) -> None: ...
    def pre_enqueue_ran(self, profile: str, seconds: float) -> None: ...
    def rejections_changed(self, plugin: str, profile: str, change: int) -> None:
        self.rejections[plugin] = self.rejections.get(plugin, 0) + change

    # The model's steps.

    def at(self, *places: str) -> list[Modelled]:
        return [pod for pod in self.pods.values() if pod.place in places]

    def next_order(self) -> int:
        self.count += 1
        return self.count

    def requeue(self, pod: Modelled, answer: int) -> None:
        backs_off = (pod.rejections or pod.errors) and pod.backoff_until >= floor(self.clock.monotonic())
        if answer == NOT:
            pod.place = "unschedulable"
        elif pod.info.uid in self.held:
            pod.by.add("Gate")
            pod.place = "gated"
        elif answer == AFTER_BACKOFF and backs_off:
            pod.place = "backoff"
        else:
            pod.place = "active"

    def take_off(self, pod: Modelled, queued: QueuedPod | None) -> None:
        assert queued is not None
        assert queued.info is pod.info
        pod.place, pod.meantime = "in flight", []
        self.flying[queued.uid] = queued

    def remember(self, event: ClusterEvent, new: object) -> None:
        for pod in self.at("in flight"):
            pod.meantime.append((event, new))

    # What may happen. Pods are turned away often: that is where the queue has most to decide.

    @rule(priority=st.integers(0, 2), label=st.sampled_from(("", "x", "y", "z")), held=st.booleans())
    def add(self, priority: int, label: str, held: bool) -> None:
        name = f"p{self.count}"
        labels = {"l": label} if label else {}
        info = self.templates.info(make_pod(name, uid=name, labels=labels, priority=priority))
        if held:
            self.held.add(name)
        pod = self.pods[name] = Modelled(info, self.clock.monotonic(), self.next_order())
        self.requeue(pod, IMMEDIATELY)
        self.queue.add(info)

    @rule()
    def pop(self) -> None:
        queued = self.queue.try_pop()
        if active := self.at("active"):
            self.take_off(min(active, key=lambda pod: pod.key), queued)
        elif early := [pod for pod in self.at("backoff") if pod.by or pod.pending]:
            self.take_off(min(early, key=lambda pod: (pod.backoff_until, pod.key)), queued)
        else:
            assert queued is None

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), by=st.sets(st.sampled_from(PLUGINS)), pending=st.sets(st.sampled_from(PLUGINS)))
    def fail(self, data: st.DataObject, by: set[str], pending: set[str]) -> None:
        self.take_back(data.draw(st.sampled_from(sorted(self.flying))), by, pending)

    @rule(by=st.sets(st.sampled_from(PLUGINS)), pending=st.sets(st.sampled_from(PLUGINS)))
    def fail_at_once(self, by: set[str], pending: set[str]) -> None:
        before = set(self.flying)
        self.pop()
        for uid in set(self.flying) - before:
            self.take_back(uid, by, pending)

    @rule(labels=st.lists(st.sampled_from(("", "x", "y", "z")), min_size=2, max_size=4))
    def fail_together(self, labels: list[str]) -> None:
        """Pods of several kinds that wait for the same."""
        for label in labels:
            self.add(priority=0, label=label, held=False)
        for _ in labels:
            self.fail_at_once(by={"Near"}, pending=set())

    def take_back(self, uid: str, by: set[str], pending: set[str]) -> None:
        queued = self.flying.pop(uid)
        pod = self.pods.get(queued.uid)
        if pod is None or pod.place != "in flight":
            self.queue.done(queued.uid)
            return
        queued.forget_rejections()
        queued.unschedulable_plugins, queued.pending_plugins = set(by), set(pending)
        queued.info = pod.info
        pod.by, pod.pending = set(by), set(pending)
        pod.rejections, pod.errors = (pod.rejections + 1, 0) if by | pending else (pod.rejections, pod.errors + 1)
        pod.timestamp, pod.order, pod.flushed_at = self.clock.monotonic(), self.next_order(), 0.0
        answers = [pod.answer(event, new) for event, new in pod.meantime]
        self.requeue(pod, max(answers, default=NOT) if by | pending else AFTER_BACKOFF)
        self.queue.add_unschedulable(queued)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        del self.flying[uid]
        self.pods.pop(uid, None)
        self.queue.done(uid)
        self.queue.done(uid)

    @rule(
        event=st.sampled_from((NODE_ADD, CLAIM_ADD, NEIGHBOUR, NEIGHBOUR, GATE_OPENS, NOBODYS, EVERYBODYS)),
        new=st.sampled_from(("good", "bad", "x", "y", "z")),
    )
    def happen(self, event: ClusterEvent, new: str) -> None:
        for pod in self.at("unschedulable", "gated"):
            if pod.place == "gated" and event not in (GATE_OPENS, EVERYBODYS):
                continue
            if answer := pod.answer(event, new):
                self.requeue(pod, answer)
        if event != NOBODYS:
            self.remember(event, new)
        self.queue.move_all(event, None, None if event == EVERYBODYS else new)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), label=st.sampled_from("xyz"), priority=st.integers(0, 2))
    def update(self, data: st.DataObject, label: str, priority: int) -> None:
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        old = pod.info.pod
        name = old.metadata.name
        new = self.templates.info(make_pod(name, uid=name, labels={"l": label}, priority=priority))
        is_labelled = old.metadata.labels != new.pod.metadata.labels
        if pod.place == "in flight":
            for other in self.at("in flight"):
                other.meantime.append((LABELLED if is_labelled else NOBODYS, new.pod))
        elif pod.place in ("unschedulable", "gated") and is_labelled and (answer := pod.answer(LABELLED, new.pod)):
            self.requeue(pod, answer)
        pod.info = new
        self.queue.update(old, new)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        pod = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
        self.queue.delete(pod.info.pod)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        if pod.place == "backoff":
            pod.place = "active"
        elif pod.place in ("unschedulable", "gated"):
            self.requeue(pod, IMMEDIATELY)
        elif pod.place == "in flight":
            for other in self.at("in flight"):
                other.meantime.append((EVERYBODYS if other is pod else NOBODYS, pod.info.pod))
        self.queue.activate([pod.info])

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def turn_gate(self, data: st.DataObject) -> None:
        self.held ^= {data.draw(st.sampled_from(sorted(self.pods)))}

    @rule(seconds=st.sampled_from((0.25, 1.0, 1.0, 7.5, 200.0)))
    def wait(self, seconds: float) -> None:
        self.clock.tick(seconds)

    @rule()
    def flush_backoff(self) -> None:
        for pod in self.at("backoff"):
            if pod.backoff_until < floor(self.clock.monotonic()):
                pod.place = "active"
        self.queue.flush_backoff()

    @rule()
    def flush_leftover(self) -> None:
        now = self.clock.monotonic()
        overdue = [p for p in self.at("unschedulable", "gated") if now - max(p.timestamp, p.flushed_at) > 300]
        for pod in overdue:
            pod.flushed_at = now
            self.requeue(pod, AFTER_BACKOFF)
        if overdue:
            self.remember(EVERYBODYS, None)
        self.queue.flush_unschedulable_leftover()

    # What must always hold.

    @invariant()
    def every_pod_is_in_its_one_place(self) -> None:
        waiting = self.queue.waiting()
        places = {queued.uid: str(place) for place, queued in waiting}
        assert len(places) == len(waiting)
        assert places == {uid: pod.place for uid, pod in self.pods.items() if pod.place != "in flight"}
        assert {pod.metadata.uid for pod in self.queue.in_flight_pods()} == set(self.flying)
        for place, number in self.queue.counts().items():
            assert number == list(places.values()).count(place)

    @invariant()
    def pods_wait_in_their_newest_version(self) -> None:
        for _, queued in self.queue.waiting():
            assert queued.info is self.pods[queued.uid].info

    @invariant()
    def nothing_is_lost_in_flight(self) -> None:
        """And nothing is kept that no pod in flight needs."""
        kept = sum(number for label, number in self.queue.in_flight_counts().items() if label != "PodPopped")
        needed = 0
        for uid in self.flying:
            events = self.queue._in_flight.events_since_start(uid)
            assert events is not None
            needed = max(needed, len(events))
            if (pod := self.pods.get(uid)) is not None:
                assert len(events) == len(pod.meantime)
        assert kept == needed

    @invariant()
    def rejections_are_counted(self) -> None:
        expected = dict.fromkeys(self.rejections, 0)
        for _, queued in self.queue.waiting():
            for plugin in queued.rejecting_plugins:
                expected[plugin] += 1
        assert self.rejections == expected

    def teardown(self) -> None:
        """With the gates open, every waiting pod can be popped, once, in order of the key."""
        self.held.clear()
        self.queue.move_all(EVERYBODYS, None, None)
        self.clock.tick(60)
        self.queue.flush_backoff()
        popped = []
        while (queued := self.queue.try_pop()) is not None:
            popped.append(queued)
        assert sorted(q.uid for q in popped) == sorted(p.info.uid for p in self.pods.values() if p.place != "in flight")
        keys = [(-queued.info.priority, queued.timestamp, queued.sequence) for queued in popped]
        assert keys == sorted(keys)


QueueMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None, derandomize=True)
TestQueue = QueueMachine.TestCase
