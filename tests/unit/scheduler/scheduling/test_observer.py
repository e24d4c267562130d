"""What is told of how long attempts take."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.objects import Pod
from kubesched.scheduler.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    QueuedPod,
    ReservePlugin,
    Status,
)
from kubesched.scheduler.runtime.observer import SilentObserver
from kubesched.testing import make_node, make_pod, make_pod_group


class Slow(FilterPlugin, ReservePlugin):
    """Takes a second for a node, and ten to reserve."""

    name = "Slow"

    def __init__(self, args: object, handle: Any) -> None:
        self._clock: VirtualClock = handle.clock

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        self._clock.tick(1.0)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self._clock.tick(10.0)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


class Written:
    """An `AttemptObserver` that writes down what it is told."""

    def __init__(self) -> None:
        self.algorithms: list[float] = []
        self.attempts: list[tuple[str, float]] = []

    def algorithm_ran(self, seconds: float) -> None:
        self.algorithms.append(seconds)

    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None:
        self.attempts.append(("scheduled", seconds))

    def unschedulable(self, profile: str, seconds: float) -> None:
        self.attempts.append(("unschedulable", seconds))

    def failed(self, profile: str, seconds: float) -> None:
        self.attempts.append(("failed", seconds))


async def test_the_algorithm_ends_when_the_node_is_chosen(new_bench: Any) -> None:
    """What follows, Reserve for one, is part of the attempt only."""
    bench = new_bench(Slow, attempts=(written := Written()))
    bench.add(make_node("n1"), make_pod("web"))
    await bench.schedule()
    assert (written.algorithms, written.attempts) == ([1.0], [("scheduled", 11.0)])


async def test_pods_of_a_group_are_measured_one_by_one(new_bench: Any) -> None:
    """The time of the others is not theirs; a search that was in vain counts, too."""
    gates = FeatureGates({"GenericWorkload": True})
    bench = new_bench(Slow, gates=gates, attempts=(written := Written()))
    bench.add(make_node("n1", cpu="1"), make_pod_group(min_count=3))
    bench.add(*(make_pod(f"p{number}", cpu=cpu, group="group") for number, cpu in enumerate(("500m", "500m", "2"))))
    await bench.schedule()
    assert written.algorithms == [1.0, 1.0, 0.0]  # the last one is out of the question before Slow is asked
    assert written.attempts == [("unschedulable", 11.0), ("unschedulable", 11.0), ("unschedulable", 0.0)]


class Everywhere(ReservePlugin, PermitPlugin, PreBindPlugin, PostBindPlugin):
    """Refuses pods named `refused` at Permit."""

    name = "Everywhere"

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return (Status.unschedulable("no") if pod.metadata.name == "refused" else SUCCESS), 0.0

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


class Calls(SilentObserver):
    """Writes down which extension points and which calls of plugins were timed, in the order in which they ended."""

    def __init__(self) -> None:
        self.points: list[tuple[str, str]] = []
        self.plugins: list[tuple[str, str, str]] = []

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        self.points.append((point, status))

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        self.plugins.append((plugin, point, status))


@pytest.mark.parametrize(
    ("pod", "points", "plugins"),
    [
        pytest.param(
            make_pod("bound"),
            [(p, "Success") for p in ("Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind")],
            [(p, "Success") for p in ("Reserve", "Permit", "PreBindPreFlight", "PreBind", "PostBind")],
            id="a pod that is bound",
        ),
        pytest.param(
            make_pod("refused"),
            [("Reserve", "Success"), ("Permit", "Unschedulable"), ("Unreserve", "Success")],
            [("Reserve", "Success"), ("Permit", "Unschedulable"), ("Unreserve", "Success")],
            id="a pod that is refused",
        ),
    ],
)
async def test_the_calls_of_a_timed_attempt(
    new_bench: Any, pod: Pod, points: list[tuple[str, str]], plugins: list[tuple[str, str]]
) -> None:
    """Every point after Score, and every plugin there."""
    bench = new_bench(Everywhere, calls=(calls := Calls()))
    bench.add(make_node("n1"), pod)
    await bench.schedule()
    assert calls.points[-len(points) :] == points
    assert [(point, status) for plugin, point, status in calls.plugins if plugin == "Everywhere"] == plugins


async def test_preemption_is_timed(new_bench: Any) -> None:
    """As a plugin, too: it may be the slowest of all."""
    bench = new_bench(calls=(calls := Calls()))
    bench.add(make_node("n1", cpu="1"), make_pod("large", cpu="2"))
    await bench.schedule()
    assert calls.points[-1] == ("PostFilter", "Unschedulable")
    assert ("DefaultPreemption", "PostFilter", "Unschedulable") in calls.plugins
