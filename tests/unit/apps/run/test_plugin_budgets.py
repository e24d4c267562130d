"""Plugins that are slow, block, wait for ever or fail again and again: named, ended, and taken out if asked for."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.run.circuit_breaker import OPEN_SECONDS, CircuitBreaker
from kubesched.apps.run.loop_thread import LoopThread
from kubesched.apps.run.plugin_budgets import PODS_PER_LOOK, PluginFailures, TimeBudget
from kubesched.apps.run.watchdog import FIRST_REPORT, Watchdog
from kubesched.clock import SystemClock, VirtualClock
from kubesched.framework import FilterPlugin, Handle, NodeInfo, PreBindPlugin, ScorePlugin, Status
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: NAME}]}}}]
"""


def test_a_slow_plugin_is_named_with_its_time_per_pod(capfd: pytest.CaptureFixture[str]) -> None:
    """Once, until some minutes later; kube-scheduler's own plugins are not blamed."""
    clock = VirtualClock()
    budget = TimeBudget(clock, 0.005, lambda: ["Slow", "Quick"])
    for _ in range(3 * PODS_PER_LOOK):
        budget.next_pod()
        budget.took("Slow", 0.02)
        budget.took("Quick", 0.0001)
        budget.took("NodeResourcesFit", 0.02)
    [line] = capfd.readouterr().err.splitlines()
    assert '"A plugin is slow" plugin="Slow" millisecondsPerPod=' in line
    assert budget.means()["Slow"] == pytest.approx(0.02)
    clock.tick(301)
    for _ in range(PODS_PER_LOOK):
        budget.next_pod()
    assert "Slow" in capfd.readouterr().err


class Sleeps(ScorePlugin):
    """Waits within the loop, as a plugin does that asks a server."""

    name = "Sleeps"

    def __init__(self) -> None:
        self.entered, self.may_go = threading.Event(), threading.Event()

    def score(self, state: Any, pod: Any, node: Any) -> int:
        self.entered.set()
        self.may_go.wait(20)
        return 0


async def test_a_plugin_that_blocks_is_named_while_it_does(capfd: pytest.CaptureFixture[str]) -> None:
    """With its method and the line at which it waits."""
    home, plugin, blocked = LoopThread("scheduler", None), Sleeps(), list[tuple[str, float]]()
    home.start()
    home.soon(plugin.score, None, None, None)
    await asyncio.to_thread(plugin.entered.wait, 20)
    watching = asyncio.create_task(
        Watchdog(home, SystemClock(), lambda name, seconds: blocked.append((name, seconds))).wait_for_a_sign()
    )
    said = ""
    while "blocks" not in said and not watching.done():
        await asyncio.sleep(0.05)
        said += capfd.readouterr().err
    plugin.may_go.set()
    await watching
    home.stop()
    assert '"A plugin blocks the scheduler"' in said
    assert 'plugin="Sleeps" line="test_plugin_budgets.py:' in said
    assert "score has not ended after" in said
    [(name, seconds)] = blocked
    assert name == "Sleeps"
    assert seconds >= FIRST_REPORT


async def test_a_loop_that_answers_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    home = LoopThread("scheduler", None)
    home.start()
    await Watchdog(home, SystemClock(), lambda name, seconds: pytest.fail(name)).wait_for_a_sign()
    home.stop()
    assert capfd.readouterr().err == ""


class NeverEnds(PreBindPlugin):
    name = "NeverEnds"
    time_limit = 30.0

    async def pre_bind(self, state: Any, pod: Pod, node_name: str) -> Status:
        await asyncio.Event().wait()
        return Status()


def test_what_never_ends_is_ended() -> None:
    """The pod is not bound, is told why, and is tried again."""
    with Simulation(CONFIG.replace("NAME", "NeverEnds"), plugins={"NeverEnds": NeverEnds}) as simulation:
        simulation.add(make_node("n"), make_pod("p"))
        simulation.schedule()
        assert simulation.events == []
        simulation.advance(31)
        assert simulation.events[0][1] == "FailedScheduling"
        assert "pre_bind has not ended within 30 seconds" in simulation.events[0][2]
        assert [node.requested.get("cpu", 0) for node in simulation.nodes()] == [0]


def test_failures_are_counted_and_reported(capfd: pytest.CaptureFixture[str]) -> None:
    """At 10 and at 100, not each."""
    counted: list[str] = []
    failures = PluginFailures(VirtualClock(), counted.append)
    for _ in range(120):
        failures.failed("Broken", "KeyError: 'x' (broken.py:7)")
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all("A plugin fails again and again" in line and 'plugin="Broken"' in line for line in lines)
    assert len(counted) == 120


@pytest.mark.parametrize(
    ("limit", "pause", "trips"),
    [
        pytest.param(0, 0.0, 0, id="off by default"),
        pytest.param(5, 1.0, 2, id="so many within a minute"),
        pytest.param(5, 30.0, 0, id="rarely enough"),
    ],
)
def test_the_limit(limit: int, pause: float, trips: int) -> None:
    clock, tripped = VirtualClock(), list[str]()
    failures = PluginFailures(clock, lambda plugin: None, limit=limit, own=lambda: ["Broken"], trip=tripped.append)
    for _ in range(10):
        failures.failed("Broken", "no")
        failures.failed("VolumeBinding", "no")
        clock.tick(pause)
    assert tripped == ["Broken"] * trips


class Broken(FilterPlugin):
    name = "Broken"

    def __init__(self, args: Any, handle: Handle) -> None: ...

    def filter(self, state: Any, pod: Pod, node: NodeInfo) -> Status | None:
        raise KeyError("nothing here")


def test_the_circuit_breaker_goes_on_without_the_plugin_for_a_while() -> None:
    """Pods are placed without it, and with it again after some minutes."""
    with Simulation(CONFIG.replace("NAME", "Broken"), plugins={"Broken": Broken}) as simulation:
        simulation.add(make_node("n"), make_pod("p"))
        assert simulation.schedule() == {"default/p": None}
        breaker = CircuitBreaker(simulation._assembled, simulation.clock)

        async def trip() -> asyncio.Task[None]:
            return asyncio.create_task(breaker.open("Broken"))

        simulation._loop.run(trip())
        assert simulation.advance(20) == {"default/p": "n"}
        simulation.advance(OPEN_SECONDS)
        simulation.add(make_pod("q"))
        assert simulation.schedule()["default/q"] is None
        assert "KeyError" in simulation.events[-1][2]
