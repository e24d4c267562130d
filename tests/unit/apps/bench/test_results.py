"""Figures and dataItems."""

from __future__ import annotations

import pytest

from kubesched.apps.bench.results import Collected, Result, data_items, percentile

ATTEMPTS = (("Metric", "scheduler_scheduling_attempt_duration_seconds"), ("result", "scheduled"))


def stretch() -> Collected:
    """100 pods, ten a second."""
    return Collected(
        "test",
        bound_at=[(number + 1) / 10 for number in range(100)],
        wall_seconds=10.0,
        cpu_seconds=5.0,
        durations={ATTEMPTS: [0.001, 0.002, 0.004]},
    )


def test_throughput_is_pods_over_the_time_to_the_last_binding() -> None:
    """A steady stream has the same rate in every window."""
    assert stretch().throughput == 10
    assert stretch().percentiles() == pytest.approx(
        {"Average": 10, "Perc50": 10, "Perc90": 10, "Perc95": 10, "Perc99": 10}
    )
    assert stretch().cpu_per_pod == 0.05


def test_percentiles_show_a_pause() -> None:
    """A window that waits is slow, the others are not."""
    slow_start = Collected("x", bound_at=[5 + number / 100 for number in range(40)], wall_seconds=5.39)
    shares = slow_start.percentiles()
    assert shares["Perc50"] == pytest.approx(100)
    assert shares["Average"] < 10


@pytest.mark.parametrize(
    ("share", "value"),
    [
        pytest.param(50, 2, id="the median of four is the second"),
        pytest.param(75, 3, id="three of four"),
        pytest.param(99, 4, id="nearly all"),
        pytest.param(0, 1, id="none"),
    ],
)
def test_percentile_is_the_smallest_value_that_covers_the_share(share: int, value: float) -> None:
    """Nearest rank."""
    assert percentile([1, 2, 3, 4], share) == value


def test_data_items_have_scheduler_perfs_shape() -> None:
    """Version, data, unit and labels; every item has every label."""
    result = Result(workload="Basic/10Nodes", mode="core", collected=[stretch()], peak_rss_mib=42.0)
    document = data_items([result])
    assert document["version"] == "v1"
    by_metric = {item["labels"]["Metric"]: item for item in document["dataItems"]}
    assert by_metric["SchedulingThroughput"]["unit"] == "pods/s"
    assert by_metric["SchedulingThroughput"]["data"]["Average"] == 10
    assert by_metric["SchedulingThroughput"]["labels"] == {
        "Metric": "SchedulingThroughput",
        "Mode": "core",
        "Name": "Basic/10Nodes/test",
        "Scheduler": "kubesched",
        "result": "not applicable",
    }
    assert by_metric["Seconds"]["data"] == {"CPU": 5.0, "Wall": 10.0, "First": 0.1, "Pods": 100}
    attempts = by_metric["scheduler_scheduling_attempt_duration_seconds"]
    assert (attempts["unit"], attempts["data"]["Perc99"], attempts["labels"]["result"]) == ("ms", 4.0, "scheduled")
    assert by_metric["PeakRSS"]["data"] == {"Max": 42.0}


def test_a_stretch_without_pods_has_no_throughput() -> None:
    """Publishing resource slices schedules nothing."""
    items = Result(workload="w", mode="core", collected=[Collected("x", wall_seconds=1.0)]).data_items()
    assert [item["labels"]["Metric"] for item in items] == ["Seconds", "PeakRSS"]
