"""From a chosen node to a bound pod, and how everything is undone when that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from kubesched.config import FeatureGates
from kubesched.errors import TransportError
from kubesched.objects import Pod
from kubesched.scheduler.framework import (
    SUCCESS,
    WAIT,
    Action,
    ClusterEvent,
    CycleState,
    EventHint,
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Resource,
    Status,
)
from kubesched.testing import make_node, make_pod


class Diary(ReservePlugin, PermitPlugin, PreBindPlugin, PostBindPlugin):
    """Writes down what is asked of it, and answers as it is told."""

    name = "Diary"
    calls: ClassVar[list[str]] = []
    answers: ClassVar[dict[str, Any]] = {}

    def __init__(self, args: object, handle: object) -> None:
        type(self).calls = []
        type(self).answers = {}

    def events_to_register(self) -> Sequence[EventHint]:
        """None wakes the pods that it rejected."""
        return ()

    def _note(self, point: str, usual: Any) -> Any:
        self.calls.append(f"{self.name} {point}")
        answer = self.answers.get(point, usual)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._note("reserve", SUCCESS)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._note("unreserve", None)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._note("permit", (SUCCESS, 0.0))

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._note("preflight", SUCCESS)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        answer = self._note("pre_bind", SUCCESS)
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            return SUCCESS
        return answer

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._note("post_bind", None)


class Second(Diary):
    name = "Second"
    calls: ClassVar[list[str]] = Diary.calls


class Waker(ReservePlugin):
    """Wants the pod `friend` tried when one is placed."""

    name = "Waker"

    def __init__(self, args: object, handle: Any) -> None:
        self._cluster = handle.cluster

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        friend = make_pod("friend", cpu="8")
        state.pods_to_activate = {friend.metadata.uid: self._cluster.templates.info(friend)}
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


async def test_a_pod_is_bound_and_its_user_is_told(new_bench: Any) -> None:
    """Every point is asked once, in order, and the cache knows the pod as bound."""
    bench = new_bench(Diary)
    bench.add(make_node("n1"), make_pod("web", cpu="1"))
    await bench.schedule()
    assert Diary.calls == [
        "Diary reserve",
        "Diary permit",
        "Diary preflight",
        "Diary pre_bind",
        "Diary post_bind",
    ]
    assert bench.places() == {"web": "n1"}
    assert bench.notes("Scheduled") == ["Successfully assigned default/web to n1"]
    assert bench.cache.assumed_count == 0
    assert not bench.queue.in_flight_pods()


@pytest.mark.parametrize(
    ("point", "answer", "place", "message"),
    [
        pytest.param("reserve", Status.failed("disk"), "backoff", 'running Reserve plugin "Diary": disk', id="reserve"),
        pytest.param(
            "reserve",
            Status.unschedulable("taken"),
            "unschedulable",
            "0/1 nodes are available: 1 taken.",
            id="reserve rejects",
        ),
        pytest.param(
            "permit", (Status.unresolvable("no"), 0.0), "unschedulable", "0/1 nodes are available: 1 no.", id="permit"
        ),
        pytest.param("permit", None, "backoff", "plugin Diary at Permit: TypeError", id="permit without an answer"),
        pytest.param("preflight", ValueError("x"), "backoff", "ValueError: x", id="preflight raises"),
        pytest.param(
            "pre_bind", Status.failed("slow"), "backoff", 'running PreBind plugin "Diary": slow', id="pre-bind"
        ),
        pytest.param(
            "pre_bind", None, "backoff", "must answer with a Status, not None", id="pre-bind without an answer"
        ),
        pytest.param("bind", TransportError("refused"), "backoff", "refused", id="bind"),
        pytest.param("bind", RuntimeError("a bug"), "backoff", "a bug", id="bind raises something unexpected"),
    ],
)
async def test_a_failure_at_any_point_undoes_everything(
    new_bench: Any, point: str, answer: Any, place: str, message: str
) -> None:
    """The room is free again, the pod is back in the queue, and event and condition say why."""
    bench = new_bench(Diary)
    if point == "bind":
        bench.api.errors["web"] = answer
    else:
        Diary.answers[point] = answer
    bench.add(make_node("n1"), make_pod("web", cpu="1"))
    await bench.schedule()
    assert Diary.calls[-1] == "Diary unreserve"
    assert Diary.calls.count("Diary unreserve") == 1
    assert bench.cache.pod_count == 0
    assert bench.cache.cluster.nodes.requested[0][0] == 0
    assert bench.places() == {"web": place}
    assert not bench.queue.in_flight_pods()
    assert not bench.profile.handle.waiting
    assert message in bench.notes("FailedScheduling")[-1]
    [condition] = bench.pod("web").status.conditions
    assert (condition.type, condition.status) == ("PodScheduled", "False")
    assert condition.reason == ("Unschedulable" if place == "unschedulable" else "SchedulerError")
    assert message in condition.message


async def test_plugins_undo_in_reverse_order_even_if_one_fails(new_bench: Any) -> None:
    """One that must not fail and does is logged; the others undo theirs."""
    bench = new_bench(Diary, Second)
    Second.calls = Diary.calls
    Second.answers = {"reserve": Status.failed("no"), "unreserve": ValueError("broken")}
    bench.add(make_node("n1"), make_pod("web"))
    await bench.schedule()
    assert Diary.calls == ["Diary reserve", "Second reserve", "Second unreserve", "Diary unreserve"]


async def test_a_failed_binding_wakes_pods_that_wait_for_room(new_bench: Any) -> None:
    """What the pod held is as good as freed by a deletion."""
    bench = new_bench()
    bench.api.held["first"] = asyncio.Event()
    bench.api.errors["first"] = TransportError("refused")
    bench.add(make_node("n1", cpu="1"), make_pod("first", cpu="1", priority=5))
    await bench.schedule()
    bench.add(make_pod("second", cpu="1"))
    await bench.schedule()
    assert bench.places() == {"first": "binding", "second": "unschedulable"}
    bench.api.held["first"].set()
    await bench.schedule()
    assert bench.places() == {"first": "backoff", "second": "n1"}


async def test_a_slow_binding_does_not_delay_the_next_decision(new_bench: Any) -> None:
    """Nor does it give its room away."""
    bench = new_bench()
    bench.api.held["slow"] = asyncio.Event()
    bench.add(make_node("n1", cpu="2"), make_pod("slow", cpu="1"))
    await bench.schedule()
    bench.add(make_pod("quick", cpu="1"), make_pod("late", cpu="1"))
    await bench.schedule()
    assert bench.places() == {"slow": "binding", "quick": "n1", "late": "unschedulable"}
    bench.api.held["slow"].set()
    await bench.schedule()
    assert bench.places()["slow"] == "n1"


async def test_a_pod_deleted_while_binding_makes_room_at_once(new_bench: Any) -> None:
    """Its binding fails later, which concerns nobody any more."""
    bench = new_bench()
    bench.api.held["doomed"] = asyncio.Event()
    bench.add(make_node("n1", cpu="1"), make_pod("doomed", cpu="1"))
    await bench.schedule()
    bench.handlers.delete(bench.pod("doomed"))
    bench.add(make_pod("next", cpu="1"))
    await bench.schedule()
    assert bench.places() == {"next": "n1"}
    bench.api.held["doomed"].set()
    await bench.schedule()
    assert bench.places() == {"next": "n1"}
    assert bench.cache.pod_count == 1
    assert not bench.queue.in_flight_pods()


async def test_a_pod_that_was_bound_though_the_answer_was_lost_is_not_tried_again(new_bench: Any) -> None:
    """The informer knows better than the error."""
    bench = new_bench()
    bench.add(make_node("n1"), make_pod("web"))
    bench.api.held["web"] = asyncio.Event()
    await bench.schedule()
    pod = bench.pod("web")
    bench.handlers.update(pod, make_pod("web", node="n1"))
    bench.api.held["web"].set()
    await bench.schedule()
    assert bench.places() == {"web": "n1"}
    assert not bench.notes("FailedScheduling")
    assert bench.cache.pod_count == 1


async def test_the_node_is_announced_while_binding_takes_its_time(new_bench: Any) -> None:
    """An autoscaler wants to know; without PreBind work nothing is written."""
    bench = new_bench(Diary)
    bench.add(make_node("n1"), make_pod("web"))
    Diary.answers["pre_bind"] = asyncio.Event()
    await bench.schedule()
    assert bench.pod("web").status.nominated_node_name == "n1"
    Diary.answers["pre_bind"].set()
    await bench.schedule()
    assert bench.places() == {"web": "n1"}
    plain = new_bench()
    plain.add(make_node("n1"), make_pod("web"))
    await plain.schedule()
    assert plain.api.statuses == []


async def test_no_node_is_announced_with_the_gate_off(new_bench: Any) -> None:
    """Nobody is asked in advance either: every plugin's PreBind runs."""
    bench = new_bench(Diary, gates=FeatureGates({"NominatedNodeNameForExpectation": False}))
    bench.add(make_node("n1"), make_pod("web"))
    await bench.schedule()
    assert (bench.places(), bench.api.statuses) == ({"web": "n1"}, [])
    assert Diary.calls == ["Diary reserve", "Diary permit", "Diary pre_bind", "Diary post_bind"]


async def test_preemption_can_stop_a_pod_in_its_pre_bind(new_bench: Any) -> None:
    """It goes back to the queue with the reason that it was given."""
    bench = new_bench(Diary)
    bench.add(make_node("n1"), make_pod("web"))
    Diary.answers["pre_bind"] = asyncio.Event()
    await bench.schedule()
    handle = bench.profile.handle
    uid = bench.pod("web").metadata.uid
    assert handle.cancel_binding(uid, "preempted")
    assert handle.cancel_binding(uid, "preempted by another one")
    await bench.schedule()
    assert bench.places() == {"web": "backoff"}
    assert bench.notes("FailedScheduling") == ['running PreBind plugin "Diary": preempted']
    assert not handle.cancel_binding(uid, "preempted")


async def test_a_victim_whose_pre_bind_has_just_ended_is_deleted(new_bench: Any) -> None:
    """Its binding goes on, so that it must not count as stopped: it makes room by the API."""
    bench = new_bench(Diary)
    bench.add(make_node("n1", cpu="1"), make_pod("victim", cpu="1", priority=1))
    Diary.answers["pre_bind"] = asyncio.Event()
    await bench.schedule()
    bench.add(make_pod("vip", cpu="1", priority=9))
    Diary.answers["pre_bind"].set()
    await bench.scheduler.schedule_one(bench.queue.try_pop())
    await bench.schedule()
    await bench.schedule(after=20)
    assert bench.places() == {"vip": "n1"}
    assert not any("in kube-scheduler memory" in note for note in bench.notes("Preempted"))


async def test_pods_that_a_plugin_wants_activated_are(new_bench: Any) -> None:
    """Without waiting for an event or for the end of their backoff."""
    bench = new_bench(Waker)
    bench.add(make_node("n1", cpu="4"), make_pod("friend", cpu="8"))
    await bench.schedule()
    assert bench.places() == {"friend": "unschedulable"}
    bench.add(make_pod("web"))
    queued = bench.queue.try_pop()
    await bench.scheduler.schedule_one(queued)
    assert bench.places()["friend"] == "active"


# ---- permit ----------------------------------------------------------------------------------------------------


async def waiting_on_permit(new_bench: Any, seconds: float = 10.0) -> Any:
    bench = new_bench(Diary)
    Diary.answers["permit"] = (WAIT, seconds)
    bench.add(make_node("n1", cpu="1"), make_pod("web", cpu="1"))
    await bench.schedule()
    assert bench.places() == {"web": "binding"}
    return bench


async def test_a_waiting_pod_goes_on_when_it_is_allowed(new_bench: Any) -> None:
    """By the plugin that asked for it."""
    bench = await waiting_on_permit(new_bench)
    waiting = bench.profile.handle.waiting_pod(bench.pod("web").metadata.uid)
    assert set(waiting.pending_plugins) == {"Diary"}
    waiting.allow("Diary")
    await bench.schedule()
    assert bench.places() == {"web": "n1"}
    assert not bench.profile.handle.waiting


@pytest.mark.parametrize(
    ("seconds", "words"), [(10.0, "10s"), (0.5, "500ms"), (60.0, "1m0s"), (100_000.0, "15m0s")], ids=str
)
async def test_a_waiting_pod_is_rejected_when_its_time_is_up(new_bench: Any, seconds: float, words: str) -> None:
    """No plugin gets more than a quarter of an hour."""
    bench = await waiting_on_permit(new_bench, seconds)
    await bench.schedule(after=min(seconds, 900) - 0.1)
    assert bench.places() == {"web": "binding"}
    await bench.schedule(after=0.2)
    assert bench.notes("FailedScheduling") == [
        f"0/1 nodes are available: 1 rejected due to timeout after waiting {words} at plugin Diary."
    ]
    assert bench.cache.pod_count == 0
    assert Diary.calls[-1] == "Diary unreserve"


async def test_a_waiting_pod_that_is_rejected_makes_room(new_bench: Any) -> None:
    """And does not wake itself by that."""
    bench = await waiting_on_permit(new_bench)
    bench.profile.handle.waiting_pod(bench.pod("web").metadata.uid).reject("Diary", "enough")
    await bench.schedule()
    assert bench.places() == {"web": "unschedulable"}
    assert bench.cache.pod_count == 0


class Touchy(Diary):
    """Whoever leaves a node may help the pods that it rejected."""

    name = "Touchy"

    def events_to_register(self) -> Sequence[EventHint]:
        return (EventHint(ClusterEvent(Resource.POD, Action.DELETE)),)


async def test_a_rejected_pod_is_not_woken_by_its_own_leaving(new_bench: Any) -> None:
    """What it held is as good as a deletion, but to the others only: it would be bound if it was tried again."""
    # The end of a nomination wakes its own pod, too, as in kube-scheduler.
    bench = new_bench(Touchy, gates=FeatureGates({"NominatedNodeNameForExpectation": False}))
    Touchy.answers["permit"] = (WAIT, 60.0)
    bench.add(make_node("n1", cpu="1"), make_pod("web", cpu="1"))
    await bench.schedule()
    assert bench.places() == {"web": "binding"}
    Touchy.answers = {}
    bench.profile.handle.waiting_pod(bench.pod("web").metadata.uid).reject("Touchy", "enough")
    await bench.schedule()
    await bench.schedule(after=20)
    assert bench.places() == {"web": "unschedulable"}


async def test_a_waiting_pod_that_is_deleted_is_gone(new_bench: Any) -> None:
    """Its room goes to the next one."""
    bench = await waiting_on_permit(new_bench)
    bench.add(make_pod("next", cpu="1"))
    Diary.answers = {}
    await bench.schedule()
    assert bench.places() == {"web": "binding", "next": "unschedulable"}
    bench.handlers.delete(bench.pod("web"))
    await bench.schedule()
    await bench.schedule(after=20)
    assert bench.places() == {"next": "n1"}
    assert bench.cache.pod_count == 1


async def test_a_waiting_pod_that_is_preempted_tries_again(new_bench: Any) -> None:
    """In the words of WaitOnPermit: an error, not a rejection."""
    bench = await waiting_on_permit(new_bench)
    assert bench.profile.handle.waiting_pod(bench.pod("web").metadata.uid).preempt("DefaultPreemption", "preempted")
    await bench.schedule()
    assert bench.places() == {"web": "backoff"}
    assert bench.notes("FailedScheduling") == ["waiting on permit for pod: preempted"]


async def test_profiles_know_each_other_s_pods_on_their_way(new_bench: Any) -> None:
    """A victim of another profile is stopped where it waits, not deleted."""
    bench = new_bench(Diary, profiles=("default-scheduler", "other"))
    Diary.answers["permit"] = (WAIT, 60.0)
    bench.add(make_node("n1", cpu="1"), make_pod("victim", cpu="1", priority=1))
    await bench.schedule()
    for profile in bench.parts.profiles.values():
        assert [waiting.pod.metadata.name for waiting in profile.handle.waiting_pods()] == ["victim"]
    Diary.answers = {}
    bench.add(make_pod("vip", cpu="1", priority=9, scheduler="other"))
    await bench.schedule()
    await bench.schedule(after=20)
    assert bench.places() == {"victim": "unschedulable", "vip": "n1"}
    [note] = bench.notes("Preempted")
    assert note.endswith("(in kube-scheduler memory).")


async def test_profiles_know_each_other_s_pods_in_pre_bind(new_bench: Any) -> None:
    """As long as it lasts."""
    bench = new_bench(Diary, profiles=("default-scheduler", "other"))
    bench.add(make_node("n1"), make_pod("web"))
    Diary.answers["pre_bind"] = asyncio.Event()
    await bench.schedule()
    assert bench.parts.profiles["other"].handle.cancel_binding(bench.pod("web").metadata.uid, "preempted")
    await bench.schedule()
    assert bench.places() == {"web": "backoff"}
    assert bench.notes("FailedScheduling") == ['running PreBind plugin "Diary": preempted']


async def test_a_waiting_pod_that_was_let_go_and_is_deleted_makes_room_at_once(new_bench: Any) -> None:
    """It does not wait any more, so that there is nothing to reject."""
    bench = await waiting_on_permit(new_bench)
    pod = bench.pod("web")
    bench.profile.handle.waiting_pod(pod.metadata.uid).allow("Diary")
    bench.handlers.delete(pod)
    assert bench.cache.pod_count == 0
    await bench.schedule()
    assert bench.places() == {}


async def test_stopping_leaves_nothing_behind(new_bench: Any) -> None:
    """Bindings under way are undone; no task and no timer stays."""
    bench = await waiting_on_permit(new_bench)
    await bench.scheduler.tasks.stop(0)
    assert len(bench.scheduler.tasks) == 0
    assert not bench.profile.handle.waiting
    assert bench.cache.pod_count == 0
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
