"""A decision that takes long is traced in the log, as kube-scheduler does it; a fast one is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.objects import Pod
from kubesched.scheduler.framework import CycleState, FilterPlugin, NodeInfo, PostFilterPlugin, ScorePlugin, Status
from kubesched.scheduler.framework.plugin import PostFilterResult
from kubesched.scheduler.scheduling.decision_trace import FILTERED, SCORED, DecisionTrace
from kubesched.telemetry.logging import log
from kubesched.testing import make_node, make_pod


class Slow(FilterPlugin, ScorePlugin, PostFilterPlugin):
    """Takes as many milliseconds per node as the pod's labels say, and rejects nodes if they say so."""

    name = "Slow"

    def __init__(self, args: object, handle: Any) -> None:
        self._clock: VirtualClock = handle.clock

    def _spend(self, pod: Pod, point: str) -> None:
        self._clock.tick(int(pod.metadata.labels.get(point, "0")) / 1000)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self._spend(pod, "filter")
        return Status.unschedulable("no") if pod.metadata.labels.get("rejects") else Status()

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        self._spend(pod, "score")
        return 1

    async def post_filter(self, state: CycleState, pod: Any, diagnosis: Any) -> tuple[PostFilterResult | None, Status]:
        self._spend(pod.pod, "postFilter")
        return None, Status.unschedulable("nobody to preempt")


@pytest.fixture
def verbosity() -> Iterator[Callable[[int], None]]:
    """Sets the log's verbosity, for one test."""
    before = log.verbosity

    def set_to(level: int) -> None:
        log.verbosity = level

    yield set_to
    log.verbosity = before


@pytest.mark.parametrize(
    ("labels", "nodes", "level", "total", "steps"),
    [
        pytest.param({"filter": "40", "score": "9"}, 2, 2, None, [], id="a fast one is not traced"),
        pytest.param({"filter": "60", "score": "5"}, 2, 2, 130, [f"{FILTERED}: 120ms"], id="slow filters"),
        pytest.param({"filter": "5", "score": "60"}, 2, 2, 130, [f"{SCORED}: 120ms"], id="slow scores"),
        pytest.param(
            {"filter": "60", "score": "5"}, 2, 4, 130, [f"{FILTERED}: 120ms", f"{SCORED}: 10ms"], id="all steps at 4"
        ),
        pytest.param({"filter": "120"}, 1, 4, 120, [f"{FILTERED}: 120ms"], id="a single node is not scored"),
        pytest.param({"filter": "60", "score": "60"}, 2, 1, None, [], id="nothing below verbosity 2"),
        pytest.param(
            {"filter": "60", "rejects": "yes", "postFilter": "500"},
            2,
            2,
            120,
            [f"{FILTERED}: 120ms"],
            id="no node fits",
        ),
        pytest.param({"rejects": "yes", "postFilter": "500"}, 2, 2, None, [], id="preemption does not count"),
    ],
)
async def test_a_slow_decision_is_traced(
    new_bench: Any,
    verbosity: Callable[[int], None],
    capsys: pytest.CaptureFixture[str],
    labels: dict[str, str],
    nodes: int,
    level: int,
    total: int | None,
    steps: list[str],
) -> None:
    """From 100 ms on, with the steps that took more than their share of them."""
    verbosity(level)
    bench = new_bench(Slow)
    bench.add(*(make_node(f"n{number}") for number in range(nodes)), make_pod("slow", labels=labels))
    await bench.schedule()
    traced = [line for line in capsys.readouterr().err.splitlines() if "Trace[" in line]
    assert re.findall(r"total time: (\d+)ms", "".join(traced)) == ([] if total is None else [str(total)])
    assert [f"{name}: {took}" for name, took in re.findall(r'---"([^"]+)" (\d+ms)', "".join(traced))] == steps


def test_the_words_are_those_of_kube_scheduler(
    verbosity: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Searches over the logs of kube-scheduler find ours."""
    verbosity(2)
    clock = VirtualClock()
    clock.tick(3)
    trace = DecisionTrace(clock, make_pod("web", namespace="shop"))
    for name, seconds in ((FILTERED, 0.16), (SCORED, 0.0204)):
        clock.tick(seconds)
        trace.step(name)
    trace.log_if_long()
    head, filtered, end = capsys.readouterr().err.splitlines()
    moment = r"14-Nov-2023 \d\d:\d\d:23\.000"
    expected = rf'I.*\] Trace\[3000000\]: "Scheduling" namespace:shop,name:web \({moment}\) \(total time: 180ms\):'
    assert re.fullmatch(expected, head)
    assert re.fullmatch(r'Trace\[3000000\]: ---"Computing predicates done" 160ms \(\d\d:\d\d:23\.160\)', filtered)
    assert end == "Trace[3000000]: [180.4ms] [180.4ms] END"
