"""The loop: which pods are tried, by which profile, and what a bad plugin costs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched.objects import Pod
from kubesched.scheduler.columns import NodeView, PodInfo
from kubesched.scheduler.framework import CycleState, FilterPlugin, NodeInfo, PreFilterPlugin, ScorePlugin, Status
from kubesched.testing import make_node, make_pod


class Allergic(PreFilterPlugin, FilterPlugin, ScorePlugin):
    """Breaks at the point that the pod's label names."""

    name = "Allergic"

    def __init__(self, args: object, handle: object) -> None: ...

    def _point(self, pod: Pod) -> str:
        return pod.metadata.labels.get("breaks", "")

    def external_version(self, pod: Any) -> Any:
        return None

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Any:
        if self._point(pod.pod) == "PreFilter":
            raise ValueError("boom")
        return None if self._point(pod.pod) == "PreFilter type" else Status()

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Any:
        if self._point(pod) == "Filter":
            raise ValueError("boom")
        return "yes" if self._point(pod) == "Filter type" else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> Any:
        if self._point(pod) == "Score":
            raise ValueError("boom")
        return {"Score type": "many", "Score range": 101}.get(self._point(pod), 5)


class RejectsAll(PreFilterPlugin):
    name = "RejectsAll"

    def __init__(self, args: object, handle: object) -> None: ...

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return Status.unresolvable("no claim")


class Favourite(ScorePlugin):
    """Likes node n2 best."""

    name = "Favourite"

    def __init__(self, args: object, handle: object) -> None: ...

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.name == "n2" else 0


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("PreFilter", "plugin Allergic at PreFilter: ValueError: boom"),
        ("PreFilter type", "plugin Allergic at PreFilter: must answer with a Status"),
        ("Filter", "plugin Allergic at Filter: ValueError: boom"),
        ("Filter type", "plugin Allergic at Filter: TypeError: filter must answer with a Status or None"),
        ("Score", "plugin Allergic at Score: ValueError: boom"),
        ("Score type", "plugin Allergic at Score: TypeError: score must answer with an integer"),
        ("Score range", "plugin Allergic at Score: returns an invalid score 101"),
    ],
)
async def test_a_plugin_that_breaks_costs_that_pod_s_attempt_only(new_bench: Any, point: str, message: str) -> None:
    """The pod is tried again after its backoff; the others are scheduled."""
    bench = new_bench(Allergic)
    bench.add(make_node("n1"), make_node("n2"), make_pod("bad", labels={"breaks": point}), make_pod("good"))
    await bench.schedule()
    places = bench.places()
    assert places.pop("bad") == "backoff"
    assert places["good"] in ("n1", "n2")
    assert message in bench.notes("FailedScheduling")[0]
    assert bench.pod("bad").status.conditions[0].reason == "SchedulerError"


async def test_the_loop_survives_whatever_an_attempt_brings(new_bench: Any) -> None:
    """It ends when the queue is closed."""
    bench = new_bench(Allergic)
    loop = asyncio.create_task(bench.scheduler.run())
    bench.add(make_node("n1"), make_node("n2"))
    for k in range(20):
        bench.add(make_pod(f"p{k}", labels={"breaks": "Filter"} if k % 2 else {}))
    for _ in range(60):
        await asyncio.sleep(0)
    assert sorted(bench.places().values()).count("backoff") == 10
    bench.queue.close()
    await asyncio.wait_for(loop, 60)


async def test_without_nodes_a_pod_waits(new_bench: Any) -> None:
    """kube-scheduler's words for it."""
    bench = new_bench()
    bench.add(make_pod("web"))
    await bench.schedule()
    assert bench.notes("FailedScheduling") == ["no nodes available to schedule pods"]
    assert bench.pod("web").status.conditions[0].reason == "Unschedulable"
    bench.add(make_node("n1"))
    await bench.schedule(after=2)
    assert bench.places() == {"web": "n1"}


async def test_a_pod_that_is_being_deleted_is_not_tried(new_bench: Any) -> None:
    """Its user is told."""
    bench = new_bench()
    bench.add(make_node("n1"), make_pod("web", deleting=True))
    await bench.schedule()
    assert bench.places() == {"web": ""}
    assert bench.notes("FailedScheduling") == ["skip schedule deleting pod: default/web"]
    assert not bench.queue.in_flight_pods()


async def test_a_pod_that_is_placed_already_is_not_tried(new_bench: Any) -> None:
    """An update may have put it into the queue once more."""
    bench = new_bench()
    bench.api.held["web"] = asyncio.Event()
    bench.add(make_node("n1"), make_pod("web"))
    await bench.schedule()
    bench.queue.add(bench.cache.cluster.templates.info(bench.pod("web")))
    await bench.schedule()
    assert bench.places() == {"web": "binding"}
    assert bench.cache.pod_count == 1
    bench.api.held["web"].set()
    await bench.schedule()
    assert bench.places() == {"web": "n1"}


async def test_each_profile_schedules_its_pods_and_nobody_else_s(new_bench: Any) -> None:
    """Pods of other schedulers are left alone."""
    bench = new_bench(profiles=("one", "two"))
    bench.add(make_node("n1"), *(make_pod(name, scheduler=name) for name in ("one", "two", "three")))
    await bench.schedule()
    assert bench.places() == {"one": "n1", "two": "n1", "three": ""}


@pytest.mark.parametrize("nominated", ["n1", "n2", "nowhere"])
async def test_a_nominated_node_that_still_fits_is_taken(new_bench: Any, nominated: str) -> None:
    """Without looking at the others, however good they are."""
    bench = new_bench(Favourite)
    bench.add(make_node("n1"), make_node("n2"), make_pod("web", nominated_node=nominated))
    await bench.schedule()
    assert bench.places() == {"web": nominated if nominated != "nowhere" else "n2"}


async def test_a_nominated_node_that_fits_no_more_is_left(new_bench: Any) -> None:
    """The nomination ends with the attempt that succeeds elsewhere."""
    bench = new_bench()
    bench.add(make_node("n1", unschedulable=True), make_node("n2"), make_pod("web", nominated_node="n1"))
    await bench.schedule()
    assert bench.places() == {"web": "n2"}
    assert not bench.queue.nominator.node_names()


async def test_a_nominated_pod_that_a_pre_filter_rejects_waits(new_bench: Any) -> None:
    """Nothing was evaluated that its node could be looked up in."""
    bench = new_bench(RejectsAll, percentage=50)
    bench.add(make_node("n1"), make_pod("web", nominated_node="n1"))
    await bench.schedule()
    assert bench.notes("FailedScheduling")[0].startswith("0/1 nodes are available: no claim.")


# ---- after a failed attempt -------------------------------------------------------------------------------------


async def popped(bench: Any, pod: Pod) -> Any:
    """A pod in flight."""
    bench.add(make_node("n1", cpu="1"), pod)
    return bench.queue.try_pop()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        pytest.param("nothing", "unschedulable", id="still there"),
        pytest.param("deleted", None, id="gone"),
        pytest.param("bound", "n1", id="bound by somebody else"),
        pytest.param("recreated", "active", id="recreated under its name: that one is queued"),
    ],
)
async def test_only_a_pod_that_is_still_pending_goes_back_to_the_queue(
    new_bench: Any, change: str, place: str | None
) -> None:
    """What happened to it during the attempt counts."""
    bench = new_bench()
    pod = make_pod("web", cpu="2")
    queued = await popped(bench, pod)
    if change == "deleted":
        bench.handlers.delete(pod)
    if change == "bound":
        bench.handlers.update(pod, make_pod("web", cpu="2", node="n1"))
    if change == "recreated":
        bench.handlers.update(pod, make_pod("web", cpu="2", uid="another"))
    await bench.scheduler.schedule_one(queued)
    await bench.scheduler.tasks.finish()
    assert bench.places().get("web") == place
    assert not bench.queue.in_flight_pods()
    assert bool(bench.notes("FailedScheduling")) is (change == "nothing")


async def test_the_newest_version_of_the_pod_goes_back_to_the_queue(new_bench: Any) -> None:
    """An update during the attempt is not lost."""
    bench = new_bench()
    pod = make_pod("web", cpu="2")
    queued = await popped(bench, pod)
    newer = make_pod("web", cpu="2", labels={"new": "yes"})
    bench.handlers.update(pod, newer)
    await bench.scheduler.schedule_one(queued)
    [(_, waiting)] = bench.queue.waiting()
    assert waiting.info.pod.metadata.labels == {"new": "yes"}


async def test_notes_are_cut_conditions_are_not(new_bench: Any) -> None:
    """Events have a limit of 1024 characters."""
    bench = new_bench()
    names = [f"{'x' * 60}{k}" for k in range(30)]
    bench.add(make_node("n1"))
    bench.add(make_pod("web", requests={f"example.com/{name}": 1 for name in names}))
    await bench.schedule()
    [note] = bench.notes("FailedScheduling")
    message = bench.pod("web").status.conditions[0].message
    assert len(note) == 1024 < len(message)
    assert note.endswith(" ...")
    assert message.startswith(note[:-4])


async def test_the_condition_says_which_generation_of_the_pod_it_is_about(new_bench: Any) -> None:
    """As every writer of a pod's conditions does (PodObservedGenerationTracking)."""
    bench = new_bench()
    pod = make_pod("web", cpu="2")
    bench.add(make_node("n1", cpu="1"), replace(pod, metadata=replace(pod.metadata, generation=7)))
    await bench.schedule()
    assert bench.pod("web").status.conditions[0].observed_generation == 7


async def test_a_failed_attempt_ends_the_nomination(new_bench: Any) -> None:
    """Unless preemption has made a new one."""
    bench = new_bench()
    bench.add(make_node("n1", cpu="1"), make_pod("web", cpu="2", nominated_node="n1"))
    assert list(bench.queue.nominator.node_names()) == ["n1"]
    await bench.schedule()
    assert bench.pod("web").status.conditions[0].last_transition_time == datetime.fromtimestamp(bench.clock.time(), UTC)
    assert not bench.queue.nominator.node_names()
    assert bench.pod("web").status.nominated_node_name == ""


async def test_a_pod_deleted_softly_while_binding_makes_room(new_bench: Any) -> None:
    """The deletion has begun: its room is free before its binding fails."""
    bench = new_bench()
    bench.api.held["web"] = asyncio.Event()
    bench.add(make_node("n1", cpu="1"), make_pod("web", cpu="1"))
    await bench.schedule()
    pod = bench.pod("web")
    going = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=datetime(2024, 1, 2, tzinfo=UTC)))
    bench.handlers.update(pod, going)
    assert bench.cache.pod_count == 0
    bench.add(make_pod("next", cpu="1"))
    await bench.schedule()
    assert bench.places() == {"web": "", "next": "n1"}
