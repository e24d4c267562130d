"""The scheduling queue's transitions: from every place, by every cause, to the right place."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.errors import IllegalTransitionError
from kubesched.scheduler.columns import ClusterTables, PodInfo
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
)
from kubesched.scheduler.framework.events import ASSIGNED_POD_DELETE, UNSCHEDULABLE_TIMEOUT
from kubesched.scheduler.state.queue import QueueSettings, SchedulingQueue, SubQueue
from kubesched.testing.builders import make_pod

PROFILE = "default-scheduler"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
NODE_LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
CLAIM_ADD = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
STORAGE_CLASS_ADD = ClusterEvent(Resource.STORAGE_CLASS, Action.ADD)
ANYTHING = ClusterEvent(Resource.WILDCARD, Action.ALL)
POD_UPDATE = ClusterEvent(Resource.POD, Action.UPDATE)


class ByPriority(QueueSortPlugin):
    name = "ByPriority"

    def sort_key(self, pod: QueuedPod) -> tuple[int, float]:
        return (-pod.info.priority, pod.timestamp)


class Gate(PreEnqueuePlugin):
    """Holds back the pods named in `holds`; raises for the one named "bad"."""

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]  # two gates in one profile need two names
        self.holds: set[str] = set()
        self.asked: list[str] = []

    def pre_enqueue(self, pod: PodInfo) -> Status:
        self.asked.append(pod.pod.metadata.name)
        if pod.pod.metadata.name == "bad":
            raise RuntimeError("no such luck")
        return Status.unresolvable("held") if pod.pod.metadata.name in self.holds else SUCCESS


class Recorder:
    def __init__(self) -> None:
        self.enqueued: Counter[tuple[str, str]] = Counter()
        self.rejections: Counter[str] = Counter()
        self.hints: list[tuple[str, str, str]] = []
        self.gate_runs = 0

    def pod_enqueued(self, queue: SubQueue, event: str) -> None:
        self.enqueued[queue, event] += 1

    def rejections_changed(self, plugin: str, profile: str, change: int) -> None:
        self.rejections[plugin] += change

    def hint_asked(self, plugin: str, event: str, result: str, seconds: float) -> None:
        self.hints.append((plugin, event, result))

    def pre_enqueue_ran(self, profile: str, seconds: float) -> None:
        self.gate_runs += 1


class Driver:
    """A queue with two gates and these hints:

    Fit         NodeAdd and changed labels, always worth it; Pod updates
    Picky       NodeAdd, only if the node is "good"
    Volumes     a claim was added
    Gate        a changed taint, and Pod updates
    """

    def __init__(self, **settings: Any) -> None:
        self.clock = VirtualClock()
        self.gate, self.second_gate = Gate("Gate"), Gate("SecondGate")
        self.recorder = Recorder()
        self.cluster = ClusterTables()
        node_change = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT)
        self.hints: dict[str, list[EventHint]] = {
            "Fit": [EventHint(node_change), EventHint(POD_UPDATE)],
            "Picky": [EventHint(NODE_ADD, self._is_good, per_template=True)],
            "Volumes": [EventHint(CLAIM_ADD)],
            "Gate": [EventHint(NODE_TAINT), EventHint(POD_UPDATE)],
            "SecondGate": [EventHint(NODE_LABEL)],
        }
        self.asked_about: list[str] = []
        self.queue = SchedulingQueue(
            ByPriority(),
            self.clock,
            pre_enqueue={PROFILE: [self.gate, self.second_gate]},
            hints={PROFILE: self.hints},
            settings=QueueSettings(**settings),
            observer=self.recorder,
        )

    def _is_good(self, pod: PodInfo, old: Any, new: Any) -> Hint:
        self.asked_about.append(pod.pod.metadata.name)
        if new == "broken":
            raise RuntimeError("cannot say")
        return Hint.QUEUE if new == "good" else Hint.SKIP

    def info(self, name: str, **fields: Any) -> PodInfo:
        return self.cluster.templates.info(make_pod(name, **fields))

    def add(self, name: str = "p", **fields: Any) -> PodInfo:
        info = self.info(name, **fields)
        self.queue.add(info)
        return info

    def pop(self) -> QueuedPod:
        queued = self.queue.try_pop()
        assert queued is not None
        return queued

    def give_back(self, queued: QueuedPod, by: Collection[str] = (), pending: Collection[str] = ()) -> QueuedPod:
        queued.forget_rejections()
        queued.unschedulable_plugins, queued.pending_plugins = set(by), set(pending)
        self.queue.add_unschedulable(queued)
        return queued

    def reject(self, name: str = "p", by: Collection[str] = ("Fit",), pending: Collection[str] = ()) -> QueuedPod:
        """Add a pod and let its first attempt fail."""
        self.add(name)
        queued = self.queue.pop_specific(f"default/{name}")
        assert queued is not None
        return self.give_back(queued, by, pending)

    def put(self, place: str) -> PodInfo:
        """Bring a new pod into a place."""
        match place:
            case "active":
                return self.add()
            case "backoff":
                self.reject()
                self.queue.move_all(NODE_ADD, None, "good")
            case "error backoff":
                self.reject(by=())
            case "unschedulable":
                self.reject()
            case "gated":
                self.gate.holds.add("p")
                return self.add()
            case "in flight":
                self.add()
                return self.pop().info
        return next(queued.info for _, queued in self.queue.waiting())

    def place(self, name: str = "p") -> str:
        """Where the pod is: in one place, or nowhere."""
        places = [str(place) for place, queued in self.queue.waiting() if queued.info.pod.metadata.name == name]
        places += ["in flight" for pod in self.queue.in_flight_pods() if pod.metadata.name == name]
        assert len(places) <= 1
        return places[0] if places else "nowhere"


PLACES = ("active", "backoff", "error backoff", "unschedulable", "gated", "in flight")


def test_pods_are_popped_by_priority_then_age_then_arrival() -> None:
    """The queue-sort plugin's key decides; equal keys leave in the order they came."""
    driver = Driver()
    driver.add("low", priority=1)
    driver.add("first", priority=5)
    driver.add("second", priority=5)
    driver.clock.tick(1)
    driver.add("late", priority=5)
    driver.add("high", priority=9)
    popped = [driver.pop().info.pod.metadata.name for _ in range(5)]
    assert popped == ["high", "first", "second", "late", "low"]
    assert driver.queue.try_pop() is None


@pytest.mark.parametrize(
    ("by", "pending", "happened", "expected"),
    [
        pytest.param((), (), [], "backoff", id="an error is retried after a backoff"),
        pytest.param(("Fit",), (), [], "unschedulable", id="rejected, and nothing happened meanwhile"),
        pytest.param(("Fit",), (), [(NODE_ADD, None, "n")], "backoff", id="the event that helps came meanwhile"),
        pytest.param(("Fit",), (), [(CLAIM_ADD, None, "c")], "unschedulable", id="another plugin's event came"),
        pytest.param(("Picky",), (), [(NODE_ADD, None, "bad")], "unschedulable", id="the hint says no"),
        pytest.param(
            ("Picky",), (), [(NODE_ADD, None, "bad"), (NODE_ADD, None, "good")], "backoff", id="the second event helps"
        ),
        pytest.param((), ("Volumes",), [(CLAIM_ADD, None, "c")], "active", id="a pending plugin skips the backoff"),
        pytest.param(
            ("Fit",),
            ("Volumes",),
            [(NODE_ADD, None, "n"), (CLAIM_ADD, None, "c")],
            "active",
            id="the pending plugin's word is the stronger one",
        ),
        pytest.param(
            ("Fit",), ("Volumes",), [(NODE_ADD, None, "n")], "backoff", id="only the other plugin's event came"
        ),
        pytest.param(("Fit",), (), [(ANYTHING, None, None)], "backoff", id="an event for everybody"),
        pytest.param(("Unheard",), (), [(NODE_ADD, None, "n")], "unschedulable", id="a plugin without registrations"),
    ],
)
def test_a_failed_attempt_ends(
    by: tuple[str, ...], pending: tuple[str, ...], happened: list[tuple[ClusterEvent, Any, Any]], expected: str
) -> None:
    """What the rejecting plugins say of the events of the meantime decides where the pod goes."""
    driver = Driver()
    driver.add()
    queued = driver.pop()
    for event, old, new in happened:
        driver.queue.move_all(event, old, new)
    driver.give_back(queued, by, pending)
    assert driver.place() == expected
    assert driver.queue.in_flight_counts() == {}


def test_events_from_before_the_attempt_do_not_count() -> None:
    """The attempt saw the cluster with them already."""
    driver = Driver()
    driver.add("old")
    older = driver.pop()
    driver.queue.move_all(NODE_ADD, None, "n")
    driver.add("p")
    driver.give_back(driver.pop(), by=("Fit",))
    assert driver.place("p") == "unschedulable"
    driver.give_back(older, by=("Fit",))
    assert driver.place("old") == "backoff"


@pytest.mark.parametrize(
    ("by", "pending", "event", "new", "waited", "expected"),
    [
        pytest.param(("Fit",), (), NODE_ADD, "n", 0.5, "backoff", id="helps, still backing off"),
        pytest.param(("Fit",), (), NODE_ADD, "n", 5, "active", id="helps, backoff has passed"),
        pytest.param((), ("Fit",), NODE_ADD, "n", 0.5, "active", id="helps, and the plugin is pending: no backoff"),
        pytest.param(("Fit",), (), CLAIM_ADD, "n", 5, "unschedulable", id="not registered by the rejecting plugin"),
        pytest.param(("Fit",), (), STORAGE_CLASS_ADD, "n", 5, "unschedulable", id="registered by nobody"),
        pytest.param(("Picky",), (), NODE_ADD, "bad", 5, "unschedulable", id="the hint says no"),
        pytest.param(("Picky",), (), NODE_ADD, "good", 5, "active", id="the hint says yes"),
        pytest.param(("Picky", "Fit"), (), NODE_ADD, "bad", 5, "active", id="one of two plugins says yes"),
        pytest.param(("Picky",), (), NODE_TAINT, "bad", 5, "active", id="node additions include changed taints"),
        pytest.param(("Unheard",), (), NODE_ADD, "good", 5, "unschedulable", id="a plugin without registrations"),
        pytest.param(("Unheard",), (), ANYTHING, None, 5, "active", id="an event for everybody"),
    ],
)
def test_an_event_moves_a_rejected_pod(
    by: tuple[str, ...], pending: tuple[str, ...], event: ClusterEvent, new: Any, waited: float, expected: str
) -> None:
    """Only the plugins that rejected the pod are heard."""
    driver = Driver()
    driver.reject(by=by, pending=pending)
    driver.clock.tick(waited)
    driver.queue.move_all(event, None, new)
    assert driver.place() == expected


def test_a_predicate_narrows_down_who_is_moved() -> None:
    """For events that can only help some pods, such as those of lower priority."""
    driver = Driver()
    for name, priority in (("low", 1), ("high", 5)):
        driver.add(name, priority=priority)
        driver.give_back(driver.pop(), by=("Fit",))
    driver.queue.move_all(NODE_ADD, None, "n", lambda template: template.priority <= 3)
    assert (driver.place("low"), driver.place("high")) == ("backoff", "unschedulable")


def test_the_pod_behind_an_event_is_excepted() -> None:
    """A pod whose binding failed frees its node for others, not for itself."""
    driver = Driver()
    driver.reject("a")
    driver.reject("b")
    driver.queue.move_all(NODE_ADD, None, "n", except_uid="default/b")
    assert (driver.place("a"), driver.place("b")) == ("backoff", "unschedulable")


def test_a_hint_that_raises_counts_as_worth_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A pod must not get stuck because of a bad plugin; the failure is logged."""
    driver = Driver()
    driver.reject(by=("Picky",))
    driver.queue.move_all(NODE_ADD, None, "broken")
    assert driver.place() == "backoff"
    assert '"QueueingHintFn returns error"' in (said := capsys.readouterr().err)
    assert 'plugin="Picky"' in said
    assert driver.recorder.hints == [("Picky", "NodeAdd", "Error")]


def test_a_shared_hint_is_asked_once_per_template() -> None:
    """Replicas share their template, hence the answer."""
    driver = Driver()
    for number in range(10):
        driver.reject(f"p{number}", by=("Picky",))
    driver.queue.move_all(NODE_ADD, None, "good")
    assert len(driver.asked_about) == 1
    assert driver.queue.counts()[SubQueue.BACKOFF] == 10


def test_a_registration_without_a_hint_is_measured_like_one_that_always_says_yes() -> None:
    """As kube-scheduler's metric has it (defaultQueueingHintFn)."""
    driver = Driver()
    driver.reject("p", by=("Fit",))
    driver.queue.move_all(NODE_ADD, None, "n")
    assert driver.recorder.hints == [("Fit", "NodeAdd", "Queue")]


def test_a_hint_about_single_pods_is_asked_for_each() -> None:
    """Without `per_template` the function may read whatever it likes of the pod."""
    driver = Driver()

    def only_p1(pod: PodInfo, old: Any, new: Any) -> Hint:
        return Hint.QUEUE if pod.pod.metadata.name == "p1" else Hint.SKIP

    queue = SchedulingQueue(
        ByPriority(), driver.clock, hints={PROFILE: {"Fit": [EventHint(NODE_ADD, only_p1)]}}, observer=driver.recorder
    )
    driver.queue = queue
    for number in range(3):
        driver.reject(f"p{number}")
    queue.move_all(NODE_ADD, None, "n")
    assert [driver.place(f"p{number}") for number in range(3)] == ["unschedulable", "backoff", "unschedulable"]


@pytest.mark.parametrize("place", PLACES)
def test_a_deleted_pod_is_nowhere(place: str) -> None:
    """Except in flight, where its attempt must end first."""
    driver = Driver()
    info = driver.put(place)
    driver.queue.delete(info.pod)
    assert driver.place() == ("in flight" if place == "in flight" else "nowhere")
    driver.queue.done(info.uid)
    assert driver.place() == "nowhere"
    assert driver.queue.pending_pods() == ([], "activeQ:0; backoffQ:0; unschedulablePods:0")
    assert not +driver.recorder.rejections


@pytest.mark.parametrize(
    ("place", "change", "expected"),
    [
        pytest.param("active", {"priority": 3}, "active", id="active: in place"),
        pytest.param("backoff", {"priority": 3}, "backoff", id="backoff: in place"),
        pytest.param("error backoff", {"priority": 3}, "backoff", id="error backoff: in place"),
        pytest.param("in flight", {"labels": {"a": "b"}}, "in flight", id="in flight: stays"),
        pytest.param("unschedulable", {"labels": {"a": "b"}}, "backoff", id="unschedulable: the change may help"),
        pytest.param("gated", {"labels": {"a": "b"}}, "gated", id="gated: the gate is still closed"),
    ],
)
def test_an_update_of_a_pod(place: str, change: dict[str, Any], expected: str) -> None:
    """The new version is what waits, wherever that is."""
    driver = Driver()
    old = driver.put(place)
    new = driver.info("p", **change)
    driver.queue.update(old.pod, new)
    assert driver.place() == expected
    if place != "in flight":
        assert [queued.info for _, queued in driver.queue.waiting()] == [new]


def test_an_update_that_no_rejecting_plugin_registered_leaves_the_pod() -> None:
    """But in its newest version: a later event asks about that."""
    driver = Driver()
    queued = driver.reject(by=("Volumes",))
    new = driver.info("p", labels={"a": "b"})
    driver.queue.update(queued.info.pod, new)
    assert driver.place() == "unschedulable"
    assert queued.info is new
    driver.queue.move_all(CLAIM_ADD, None, "c")
    assert driver.place() == "backoff"


def test_an_update_in_flight_is_looked_at_when_the_attempt_fails() -> None:
    """It happened after the attempt started."""
    driver = Driver()
    driver.add()
    queued = driver.pop()
    driver.queue.update(queued.info.pod, driver.info("p", labels={"a": "b"}))
    assert driver.queue.in_flight_counts() == {"PodPopped": 1, "UnschedulablePodUpdatePodLabel": 1}
    driver.give_back(queued, by=("Fit",))
    assert driver.place() == "backoff"


def test_an_update_opens_the_gate() -> None:
    """The gating plugin registered updates, and passes the pod now."""
    driver = Driver()
    old = driver.put("gated")
    driver.gate.holds.clear()
    driver.queue.update(old.pod, driver.info("p", labels={"a": "b"}))
    assert driver.place() == "active"
    assert driver.queue.counts()[SubQueue.GATED] == 0


def test_an_update_of_an_unknown_pod_takes_it_in() -> None:
    """The addition was missed, or the pod became ours."""
    driver = Driver()
    driver.queue.update(make_pod("p"), driver.info("p", labels={"a": "b"}))
    assert driver.place() == "active"
    assert driver.recorder.enqueued["active", "UnschedulablePodUpdate"] == 1


def test_an_update_to_another_uid_is_another_pod() -> None:
    """Deleted and made again under its name between two looks."""
    driver = Driver()
    old = driver.put("unschedulable")
    driver.queue.update(old.pod, driver.info("p", uid="new"))
    ((place, queued),) = driver.queue.waiting()
    assert (place, queued.uid, queued.attempts) == (SubQueue.ACTIVE, "new", 0)


@pytest.mark.parametrize("place", PLACES)
def test_adding_a_known_pod_does_not_double_it(place: str) -> None:
    """An informer that lists again adds what is here already."""
    driver = Driver()
    driver.put(place)
    driver.queue.add(driver.info("p"))
    assert driver.place() != "nowhere"
    assert len(driver.queue.waiting()) + len(driver.queue.in_flight_pods()) == 1


def test_a_higher_priority_by_update_comes_first() -> None:
    """An update in place changes the order."""
    driver = Driver()
    driver.add("a")
    old = driver.add("b")
    driver.queue.update(old.pod, driver.info("b", priority=10))
    assert driver.pop().info.pod.metadata.name == "b"
    assert driver.pop().info.pod.metadata.name == "a"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param("active", "active", id="active already"),
        pytest.param("backoff", "active", id="backoff is cut short"),
        pytest.param("error backoff", "active", id="error backoff is cut short"),
        pytest.param("unschedulable", "active", id="no event is waited for"),
        pytest.param("gated", "gated", id="a gate is respected"),
        pytest.param("in flight", "in flight", id="in flight"),
        pytest.param("nowhere", "nowhere", id="an unknown pod stays unknown"),
    ],
)
def test_activation(place: str, expected: str) -> None:
    """Plugins may name pods to be tried at once."""
    driver = Driver()
    info = driver.info("p") if place == "nowhere" else driver.put(place)
    driver.queue.activate([info])
    assert driver.place() == expected


def test_activation_in_flight_counts_for_that_pod_alone() -> None:
    """It comes back to the backoff queue, whoever rejected it; another pod does not."""
    driver = Driver()
    driver.add("p")
    driver.add("q")
    first, second = driver.pop(), driver.pop()
    driver.queue.activate([first.info])
    driver.give_back(first, by=("Volumes",))
    driver.give_back(second, by=("Volumes",))
    assert (driver.place("p"), driver.place("q")) == ("backoff", "unschedulable")


def test_a_gated_pod_waits_for_its_gating_plugins_event() -> None:
    """Other events are not even put to it."""
    driver = Driver()
    driver.put("gated")
    driver.gate.asked.clear()
    driver.gate.holds.clear()
    driver.queue.move_all(NODE_ADD, None, "n")
    assert (driver.place(), driver.gate.asked) == ("gated", [])
    driver.queue.move_all(NODE_TAINT, None, "n")
    assert driver.place() == "active"


def test_the_gating_plugin_is_asked_first_and_others_after_it() -> None:
    """One gate opens, the next one closes: the pod stays gated, by the other plugin."""
    driver = Driver()
    driver.second_gate.holds.add("p")
    driver.add()
    (_, queued), *_ = driver.queue.waiting()
    assert queued.gating_plugin == "SecondGate"
    driver.second_gate.holds.clear()
    driver.gate.holds.add("p")
    driver.second_gate.asked.clear()
    driver.queue.move_all(NODE_LABEL, None, "n")
    assert (driver.place(), queued.gating_plugin) == ("gated", "Gate")
    assert driver.second_gate.asked == ["p"]
    assert queued.unschedulable_plugins == {"Gate", "SecondGate"}


def test_a_pod_is_gated_on_its_way_into_the_backoff() -> None:
    """From there it may be popped at any moment, and then no gate stands in between."""
    driver = Driver()
    driver.reject()
    driver.gate.holds.add("p")
    driver.queue.move_all(NODE_ADD, None, "n")
    assert driver.place() == "gated"


def test_a_gate_that_raises_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    """The pod waits for the plugin's events; the failure is logged."""
    driver = Driver()
    driver.add("bad")
    assert driver.place("bad") == "gated"
    assert "no such luck" in capsys.readouterr().err


def test_backoff_is_cut_short_rather_than_idle() -> None:
    """With nothing active, a rejected pod is tried before its backoff has passed; never one that met an error."""
    driver = Driver()
    driver.reject("error", by=())
    driver.reject("rejected")
    driver.queue.move_all(NODE_ADD, None, "n")
    assert driver.pop().info.pod.metadata.name == "rejected"
    assert driver.queue.try_pop() is None
    assert driver.recorder.enqueued["active", "PopFromBackoffQ"] == 1


def test_without_early_pops_backoff_is_waited_for_and_the_gate_comes_after_it() -> None:
    """Feature gate SchedulerPopFromBackoffQ off."""
    driver = Driver(pop_from_backoff=False)
    driver.reject()
    driver.gate.holds.add("p")
    driver.queue.move_all(NODE_ADD, None, "n")
    assert driver.place() == "backoff"
    assert driver.queue.try_pop() is None
    driver.clock.tick(1.01)
    driver.queue.flush_backoff()
    assert driver.place() == "gated"


def test_backoff_ends_with_its_window() -> None:
    """A backoff of 1 s begun at 0.5 s ends in the window that starts at 1 s: its pods leave at 2 s."""
    driver = Driver()
    driver.clock.tick(0.5)
    driver.put("backoff")
    for moment, expected in ((1.0, "backoff"), (1.5, "backoff"), (2.0, "active")):
        driver.clock.tick(moment - driver.clock.monotonic())
        driver.queue.flush_backoff()
        assert driver.place() == expected


def test_pods_of_one_window_leave_the_backoff_by_priority() -> None:
    """Their order is the active queue's, not that of the fractions of a second."""
    driver = Driver()
    driver.reject("low")
    driver.clock.tick(0.5)
    driver.add("high", priority=9)
    driver.give_back(driver.pop(), by=("Fit",))
    driver.queue.move_all(NODE_ADD, None, "n")
    assert driver.pop().info.pod.metadata.name == "high"


@pytest.mark.parametrize(
    ("place", "waited", "expected"),
    [
        pytest.param("unschedulable", 299.0, "unschedulable", id="not yet"),
        pytest.param("unschedulable", 301.0, "active", id="after five minutes"),
        pytest.param("gated", 301.0, "gated", id="a gate is respected"),
    ],
)
def test_pods_that_no_event_woke(place: str, waited: float, expected: str) -> None:
    """They are tried again after the time-out: a hint may have been wrong."""
    driver = Driver()
    driver.put(place)
    driver.clock.tick(waited)
    driver.queue.flush_unschedulable_leftover()
    assert driver.place() == expected


def test_a_pod_knows_that_the_time_out_woke_it() -> None:
    """Until it comes back from an attempt: then it is its first time again."""
    driver = Driver()
    queued = driver.reject()
    driver.clock.tick(301)
    driver.queue.flush_unschedulable_leftover()
    assert queued.was_flushed
    driver.give_back(driver.pop(), by=("Fit",))
    assert not queued.was_flushed


def test_a_pod_gated_at_the_time_out_is_left_alone_for_as_long_again() -> None:
    """Its timestamp does not change, so the moment of the flush counts."""
    driver = Driver()
    driver.put("gated")
    driver.clock.tick(301)
    driver.queue.flush_unschedulable_leftover()
    driver.gate.asked.clear()
    driver.clock.tick(200)
    driver.queue.flush_unschedulable_leftover()
    assert driver.gate.asked == []
    driver.clock.tick(101)
    driver.queue.flush_unschedulable_leftover()
    assert driver.gate.asked == ["p"]
    assert not any(queued.was_flushed for _, queued in driver.queue.waiting())


def test_the_time_out_of_others_counts_in_flight() -> None:
    """As every move request does upstream, it brings a pod in flight back to the backoff queue."""
    driver = Driver()
    driver.reject("parked")
    driver.clock.tick(301)
    driver.add("p")
    queued = driver.pop()
    driver.queue.flush_unschedulable_leftover()
    assert driver.queue.in_flight_counts()[UNSCHEDULABLE_TIMEOUT.label] == 1
    driver.give_back(queued, by=("Volumes",))
    assert driver.place("p") == "backoff"


def test_errors_and_rejections_count_apart() -> None:
    """A rejection ends a row of errors; an error does not forget the rejections."""
    driver = Driver()
    driver.add()
    queued = driver.pop()
    counts = []
    for by in ((), (), ("Fit",), ()):
        driver.give_back(queued, by=by)
        counts.append((queued.unschedulable_count, queued.consecutive_errors))
        driver.queue.activate([queued.info])
        driver.pop()
    assert counts == [(0, 1), (0, 2), (1, 0), (1, 1)]


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
def test_a_pod_that_waits_cannot_come_back(place: str) -> None:
    """It would be in two places. It is not in flight afterwards either way."""
    driver = Driver()
    info = driver.put(place)
    with pytest.raises(IllegalTransitionError, match=f"default/p: it is already in the {place} queue"):
        driver.queue.add_unschedulable(QueuedPod(info))


def test_members_of_pod_groups_come_back_by_backoff_alone() -> None:
    """Events are not yet judged for whole groups (feature gate GenericWorkload)."""
    driver = Driver(pod_groups=True)
    driver.add("p", group="g")
    driver.give_back(driver.pop(), by=("Fit",))
    assert driver.place() == "backoff"


def test_done_is_idempotent_and_leaves_a_pod_that_came_back() -> None:
    """A binding cycle that failed says done after the pod was requeued."""
    driver = Driver()
    queued = driver.reject()
    driver.queue.done(queued.uid)
    driver.queue.done("unknown")
    assert driver.place() == "unschedulable"
    driver.queue.move_all(NODE_ADD, None, "n")
    assert driver.place() == "backoff"


@pytest.mark.parametrize("place", PLACES)
def test_one_pod_can_be_popped(place: str) -> None:
    """Members of a group are popped together, wherever they wait, unless they are gated."""
    driver = Driver()
    info = driver.put(place)
    queued = driver.queue.pop_specific(info.uid)
    assert (queued is None) is (place in ("gated", "in flight"))
    assert driver.place() == ("gated" if place == "gated" else "in flight")


async def test_pop_waits_for_a_pod() -> None:
    """And gets the most important one that is there when it wakes."""
    driver = Driver()
    popping = asyncio.create_task(driver.queue.pop())
    await asyncio.sleep(0)
    driver.add("low")
    driver.add("high", priority=1)
    queued = await popping
    assert queued is not None
    assert queued.info.pod.metadata.name == "high"


async def test_a_waiting_pop_ends_when_the_queue_is_closed() -> None:
    """What is left may still be popped; then None says that it is over."""
    driver = Driver()
    driver.add()
    driver.queue.close()
    queued = await driver.queue.pop()
    assert queued is not None
    assert await driver.queue.pop() is None
    other = Driver()
    popping = asyncio.create_task(other.queue.pop())
    await asyncio.sleep(0)
    other.queue.close()
    assert await popping is None


async def test_the_clock_drives_the_flushes() -> None:
    """Backoff every second, on the second; leftovers every half minute."""
    driver = Driver()
    driver.clock.tick(0.3)
    driver.reject("backoff")
    driver.queue.move_all(NODE_ADD, None, "n")
    driver.reject("parked")
    running = asyncio.create_task(driver.queue.run())
    await driver.clock.advance(1.6)
    assert driver.place("backoff") == "backoff"
    await driver.clock.advance(0.1)
    assert driver.place("backoff") == "active"
    await driver.clock.advance(299)
    assert driver.place("parked") == "unschedulable"
    await driver.clock.advance(30)
    assert driver.place("parked") == "active"
    driver.queue.close()
    await driver.clock.advance(1)
    assert running.done()


def test_closing_forgets_what_is_in_flight() -> None:
    """Nobody will look at those events; a pod that still comes back is taken."""
    driver = Driver()
    driver.add()
    queued = driver.pop()
    driver.queue.move_all(NODE_ADD, None, "n")
    driver.queue.close()
    assert driver.queue.in_flight_counts() == {}
    driver.give_back(queued, by=("Volumes",))
    assert driver.place() == "backoff"


def test_the_initial_attempt_is_when_a_pod_first_became_active() -> None:
    """Time behind a gate does not count as scheduling time."""
    driver = Driver()
    driver.put("gated")
    driver.clock.tick(7)
    driver.gate.holds.clear()
    driver.queue.move_all(NODE_TAINT, None, "n")
    queued = driver.pop()
    assert (queued.timestamp, queued.initial_attempt) == (0.0, 7.0)
    driver.clock.tick(1)
    driver.give_back(queued)
    assert (queued.timestamp, queued.initial_attempt) == (8.0, 7.0)


def test_nominations_follow_the_queue() -> None:
    """A pod that comes with a nominated node is nominated; a deleted one is not."""
    driver = Driver()
    old = driver.add("p", nominated_node="n1")
    assert [info.uid for info in driver.queue.nominator.on_node("n1")] == [old.uid]
    new = driver.info("p", nominated_node="n2")
    driver.queue.update(old.pod, new)
    assert driver.queue.nominator.on_node("n2") == (new,)
    driver.queue.delete(new.pod)
    assert not driver.queue.nominator.node_names()


def test_the_observer_hears_of_moves_and_rejections() -> None:
    """In the metrics' words."""
    driver = Driver()
    driver.reject("p", by=("Fit", "Picky"))
    assert driver.recorder.rejections == {"Fit": 1, "Picky": 1}
    driver.queue.move_all(NODE_ADD, None, "n")
    driver.queue.move_all(ASSIGNED_POD_DELETE, None, None)
    driver.pop()
    assert not +driver.recorder.rejections
    assert driver.recorder.enqueued == {
        ("active", "UnschedulablePodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "PopFromBackoffQ"): 1,
    }
    assert driver.recorder.gate_runs == 2


def test_a_dump_says_where_each_pod_is_and_why() -> None:
    """For SIGUSR2 and for people."""
    driver = Driver()
    driver.reject("rejected", by=("Picky", "Fit"))
    driver.reject("error", by=())
    driver.add("running")
    driver.pop()
    driver.add("next", priority=3)
    driver.gate.holds.add("held")
    driver.add("held")
    driver.clock.tick(0.5)
    assert driver.queue.dump().splitlines() == [
        "activeQ:1; backoffQ:1; unschedulablePods:2",
        "active        default/next: priority 3, attempts 0, queued 0.5 s ago",
        "backoff       default/error: priority 0, attempts 1, queued 0.5 s ago, backoff ends in 0.5 s",
        "unschedulable default/rejected: priority 0, attempts 1, queued 0.5 s ago, rejected by Fit Picky",
        "gated         default/held: priority 0, attempts 0, queued 0.5 s ago, gated by Gate",
        "in flight     default/running: priority 0, attempts 1, queued 0.5 s ago",
    ]
