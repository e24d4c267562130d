from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from kubesched.errors import ApiStatusError, TransportError
from kubesched.objects import Pod
from kubesched.scheduler.framework import PodInfo, Victims
from kubesched.scheduler.plugins.default_preemption.eviction import Evictions
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor
from kubesched.testing import make_node, make_pod, make_pod_group
from kubesched.testing.handle import FakeHandle

PREEMPTOR = make_pod("p", priority=10)
FIRST, LAST = make_pod("first", node="n"), make_pod("last", node="n")


@dataclass
class Observed:
    victims: list[int] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def attempted(self) -> None: ...
    def attempted_for_group(self, result: str) -> None: ...
    def evaluated(self, preemptor: str, result: str, seconds: float) -> None: ...

    def evicting(self, victims: Victims, preemptor: str) -> None:
        self.victims.append(len(victims.pods))

    def evicted(self, preemptor: str, result: str, seconds: float, *, in_background: bool) -> None:
        self.results.append(result)


@dataclass
class Waiting:
    """A pod that waits on permit."""

    pod: Pod
    pending_plugins: tuple[str, ...] = ()
    is_open: bool = True
    preempted: list[tuple[str, str]] = field(default_factory=list)

    def allow(self, plugin: str) -> None: ...

    def reject(self, plugin: str, message: str) -> bool:
        return True

    def preempt(self, plugin: str, message: str) -> bool:
        self.preempted.append((plugin, message))
        return self.is_open


def evicting(*victims: Pod, handle: FakeHandle, until_done: bool = True) -> tuple[Evictions, PodInfo]:
    info = handle.cluster.templates.info(PREEMPTOR)
    evictions = Evictions(handle, "DefaultPreemption")

    async def run() -> None:
        evictions.start(Preemptor.of_pod(info), "n", Victims(victims))
        assert evictions.is_running(info.uid) is bool(handle.tasks)
        if until_done:
            await asyncio.gather(*handle.tasks)

    asyncio.run(run())
    return evictions, info


def test_victims_are_marked_and_deleted() -> None:
    """The condition says why before the pod goes; the event names the preemptor."""
    handle = FakeHandle(preemption_observer=(observed := Observed()))
    evictions, info = evicting(FIRST, LAST, handle=handle)
    conditions = [(key, c.type, c.status, c.reason, c.message) for key, c, _ in handle.api.conditions if c is not None]
    message = "default-scheduler: preempting to accommodate a higher priority pod"
    assert conditions == [
        (f"default/{name}", "DisruptionTarget", "True", "PreemptionByScheduler", message) for name in ("first", "last")
    ]
    assert handle.api.deleted == ["default/first", "default/last"]
    note = f"Preempted by pod {info.uid} on node n"
    assert handle.recorder.events == [(f"default/{name}", "Normal", "Preempted", note) for name in ("first", "last")]
    assert (observed.victims, observed.results) == ([2], ["success"])
    assert not evictions.is_running(info.uid)
    assert handle.activated == []


def test_the_condition_says_which_generation_of_the_victim_it_is_about() -> None:
    """As every writer of a pod's conditions does (PodObservedGenerationTracking)."""
    handle = FakeHandle()
    evicting(replace(LAST, metadata=replace(LAST.metadata, generation=7)), handle=handle)
    [(_, condition, _)] = handle.api.conditions
    assert condition is not None
    assert condition.observed_generation == 7


def test_terminating_victims_need_no_call() -> None:
    """They are on their way out already."""
    handle = FakeHandle(preemption_observer=(observed := Observed()))
    evicting(make_pod("v", node="n", deleting=True), handle=handle)
    assert (handle.tasks, handle.api.deleted, observed.victims) == ([], [], [])


def test_a_waiting_pod_goes_back_to_the_queue_instead() -> None:
    """Nothing runs yet, so nothing must be deleted. Nobody will hear of a deletion: the preemptor tries again."""
    handle = FakeHandle(waiting={LAST.metadata.uid: (waiting := Waiting(LAST))})
    _, info = evicting(LAST, handle=handle)
    assert waiting.preempted == [("DefaultPreemption", "preempted")]
    assert handle.activated == [info]
    assert handle.api.deleted == []
    note = f"Preempted by pod {info.uid} on node n (in kube-scheduler memory)."
    assert handle.recorder.events == [("default/last", "Normal", "Preempted", note)]


def test_a_waiting_pod_that_was_just_allowed_is_deleted() -> None:
    """It is too late to stop it."""
    handle = FakeHandle(waiting={LAST.metadata.uid: Waiting(LAST, is_open=False)})
    evicting(LAST, handle=handle)
    assert handle.api.deleted == ["default/last"]


def test_a_pod_in_pre_bind_is_stopped_there() -> None:
    """Its binding is cancelled instead of deleting it."""

    class Binding(FakeHandle):
        def cancel_binding(self, uid: str, reason: str) -> bool:
            return (uid, reason) == (LAST.metadata.uid, "preempted by DefaultPreemption")

    handle = Binding()
    evicting(LAST, handle=handle)
    assert handle.api.deleted == []
    assert handle.recorder.events[0][3].endswith("(in kube-scheduler memory).")


@pytest.mark.parametrize(
    ("leaves_node", "asks", "is_activated"),
    [
        pytest.param(True, True, True, id="its binding failed: the event that freed the room met a closed gate"),
        pytest.param(True, False, False, id="nothing was refused: the event is still to be heard"),
        pytest.param(False, True, False, id="it is still on the node: an event comes when it has left"),
    ],
)
def test_a_victim_that_lost_its_node_before_its_deletion(leaves_node: bool, asks: bool, is_activated: bool) -> None:
    """A pod without a node is deleted silently, so a preemptor that was kept out meanwhile must try by itself."""
    handle = FakeHandle().load(make_node("n"), LAST)
    info = handle.cluster.templates.info(PREEMPTOR)
    evictions = Evictions(handle, "DefaultPreemption")

    async def run() -> None:
        evictions.start(Preemptor.of_pod(info), "n", Victims((LAST,)))
        if leaves_node:
            handle.cluster.displace(LAST.metadata.uid)
        if asks:
            assert evictions.keeps_out(info.uid)
        await asyncio.gather(*handle.tasks)

    asyncio.run(run())
    assert handle.api.deleted == ["default/last"]
    assert handle.activated == ([info] if is_activated else [])


def test_less_important_nominated_pods_lose_their_claim() -> None:
    """They would not fit any more, and had better look elsewhere at once."""
    handle = FakeHandle()
    for name, priority in (("low", 5), ("equal", 10)):
        info = handle.cluster.templates.info(make_pod(name, priority=priority, nominated_node="n"))
        handle.nominator.add(info, None)
    evicting(LAST, handle=handle)
    cleared = [(key, nominating.node_name) for key, _, nominating in handle.api.conditions if nominating is not None]
    assert cleared == [("default/low", "")]


@pytest.mark.parametrize(
    ("error", "result", "is_activated"),
    [
        pytest.param(TransportError("no answer"), "error", True, id="a call that fails"),
        pytest.param(ApiStatusError(404, "NotFound", ""), "success", False, id="a victim that is gone already"),
    ],
)
def test_errors(error: Exception, result: str, is_activated: bool) -> None:
    """After an error no event may come to wake the pod: it is tried again at once."""
    handle = FakeHandle(preemption_observer=(observed := Observed()))
    handle.api.error = error
    evictions, info = evicting(LAST, handle=handle)
    assert observed.results == [result]
    assert [pod.uid for pod in handle.activated] == ([info.uid] if is_activated else [])
    assert handle.recorder.events == []
    assert not evictions.is_running(info.uid)


@pytest.mark.parametrize(
    ("known", "is_running"),
    [
        pytest.param(LAST, True, id="the last victim is still there"),
        pytest.param(make_pod("last", node="n", deleting=True), False, id="its deletion has begun"),
        pytest.param(None, False, id="it is gone"),
    ],
)
def test_the_last_victim_decides_whether_the_eviction_runs(known: Pod | None, is_running: bool) -> None:
    """Its deletion may be seen before the API server's answer; the preemptor must not miss it."""
    handle = FakeHandle()
    if known is not None:
        handle.load(known)
    evictions = Evictions(handle, "DefaultPreemption")
    info = handle.cluster.templates.info(PREEMPTOR)
    seen: list[bool] = []

    async def delete_pod(pod: Pod) -> None:
        seen.append(evictions.is_running(info.uid))

    async def run() -> None:
        handle.api.delete_pod = delete_pod  # type: ignore[method-assign]  # looks in at the right moment
        evictions.start(Preemptor.of_pod(info), "n", Victims((LAST,)))
        await asyncio.gather(*handle.tasks)

    asyncio.run(run())
    assert seen == [is_running]


@pytest.mark.parametrize("ends_well", [True, False])
def test_a_pod_may_preempt_again_before_the_first_answer_is_there(ends_well: bool) -> None:
    """The first eviction's end does not end the second one, which goes through, or wakes the pod if it fails."""
    handle = FakeHandle(preemption_observer=(observed := Observed()))
    info = handle.cluster.templates.info(PREEMPTOR)
    evictions = Evictions(handle, "DefaultPreemption")
    answers = {name: asyncio.Event() for name in ("default/early", "default/first", "default/last")}

    async def delete_pod(pod: Pod) -> None:
        handle.api.deleted.append(pod.key)
        await answers[pod.key].wait()
        if pod is LAST and not ends_well:
            raise TransportError("no answer")

    async def run() -> None:
        handle.api.delete_pod = delete_pod  # type: ignore[method-assign]  # answers late
        evictions.start(Preemptor.of_pod(info), "n", Victims((make_pod("early", node="n"),)))
        await asyncio.sleep(0)
        assert not evictions.is_running(info.uid)  # the victim is gone already, the answer is on its way
        handle.load(FIRST, LAST)
        evictions.start(Preemptor.of_pod(info), "n", Victims((FIRST, LAST)))
        answers["default/early"].set()
        await handle.tasks[0]
        assert evictions.is_running(info.uid)
        answers["default/first"].set()
        answers["default/last"].set()
        await handle.tasks[1]

    asyncio.run(run())
    assert handle.api.deleted == ["default/early", "default/first", "default/last"]
    assert observed.results == ["success", "success" if ends_well else "error"]
    assert [pod.uid for pod in handle.activated] == ([] if ends_well else [info.uid])
    assert not evictions.is_running(info.uid)


def test_perform_waits_for_the_victims() -> None:
    """Without asynchronous preemption the cycle goes on when they are deleted, and hears of errors."""
    handle = FakeHandle()
    evictions, info = Evictions(handle, "DefaultPreemption"), handle.cluster.templates.info(PREEMPTOR)
    asyncio.run(evictions.perform(Preemptor.of_pod(info), "n", Victims((FIRST, LAST))))
    assert handle.api.deleted == ["default/first", "default/last"]
    handle.api.error = TransportError("no answer")
    with pytest.raises(TransportError):
        asyncio.run(evictions.perform(Preemptor.of_pod(info), "n", Victims((FIRST,))))


@pytest.mark.parametrize("error", [None, TransportError("no answer")], ids=["all goes well", "a call fails"])
def test_a_group_preempts(error: Exception | None) -> None:
    """It is named as such; after an error all of its pods are tried again."""
    handle = FakeHandle()
    handle.api.error = error
    members = [handle.cluster.templates.info(make_pod(name, group="group")) for name in ("a", "b")]
    preemptor = Preemptor.of_group(make_pod_group("group", spec={"priority": 10}), members)
    evictions = Evictions(handle, "DefaultPreemption")

    async def run() -> None:
        evictions.start(preemptor, "cluster", Victims((LAST,)))
        assert evictions.is_running("default/group")
        await asyncio.gather(*handle.tasks)

    asyncio.run(run())
    message = "default-scheduler: preempting to accommodate a higher priority podgroup"
    note = "Preempted by podgroup default/group on node cluster"
    assert [c.message for _, c, _ in handle.api.conditions if c is not None] == ([] if error else [message])
    assert handle.recorder.events == ([] if error else [("default/last", "Normal", "Preempted", note)])
    assert [pod.key for pod in handle.activated] == (["default/a", "default/b"] if error else [])
    assert not evictions.is_running("default/group")
