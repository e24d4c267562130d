"""Schedulers beside each other."""

from __future__ import annotations

from kubesched.apps.bench.comparison import compared
from kubesched.apps.bench.results import Collected, Result


def result(scheduler: str, rate: float, *, cpu: float = 1.0, memory: float = 100.0, problem: str = "") -> Result:
    stretch = Collected("pods", bound_at=[0.0] * 100, wall_seconds=100 / rate, cpu_seconds=cpu)
    return Result(
        workload="Basic/1",
        mode="cluster",
        scheduler=scheduler,
        collected=[stretch],
        peak_rss_mib=memory,
        problem=problem,
    )


def test_figures_are_medians_over_the_rounds() -> None:
    """One disturbed round does not count; the order is that of the first round."""
    rounds = [result("ours", 400), result("other", 100), result("ours", 410), result("other", 100), result("ours", 50)]
    ((ours, other),) = compared(rounds)
    assert (ours.scheduler, round(ours.throughput)) == ("ours", 400)
    assert (other.scheduler, round(other.throughput)) == ("other", 100)


def test_ratios_say_how_many_times_the_others_figures_ours_are() -> None:
    """Of throughput, CPU time and memory; nothing where the other used nothing that can be measured."""
    ((ours, other),) = compared([result("ours", 200, cpu=3, memory=50), result("other", 100, cpu=0)])
    throughput, cpu, memory = ours.over(other)
    assert (round(throughput or 0, 6), cpu, memory) == (2.0, None, 0.5)


def test_runs_with_a_problem_do_not_count() -> None:
    """They have no figures to compare."""
    assert [
        [typical.scheduler for typical in row] for row in compared([result("a", 1), result("b", 1, problem="x")])
    ] == [["a"]]
