"""Instruments record cheaply and show what Prometheus expects."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kubesched.telemetry.instruments import ALPHA, HistogramSeries, InstrumentSet, MetricPolicy, exponential_buckets


def scrape(made: InstrumentSet) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    registry = CollectorRegistry()
    registry.register(made)
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("value", "bucket"),
    [
        pytest.param(0.5, 0, id="below the first bound"),
        pytest.param(1.0, 0, id="on a bound: counted under it"),
        pytest.param(1.1, 1, id="just above a bound"),
        pytest.param(4.0, 2, id="on the last bound"),
        pytest.param(9.0, 3, id="above all bounds"),
    ],
)
def test_an_observation_falls_into_the_first_bucket_whose_bound_holds_it(value: float, bucket: int) -> None:
    """Buckets are `le`: less or equal."""
    histogram = InstrumentSet().histogram("h", ALPHA, "help", buckets=(1, 2, 4))
    histogram.observe(value)
    assert histogram.labels().counts.index(1) == bucket


def test_many_observations_at_once_count_as_each_of_them() -> None:
    """Below, on, between and above the bounds, and none at all."""
    values = [0.05, 0.1, 0.1, 0.3, 1.0, 7.0, 9.0]
    at_once, one_by_one = HistogramSeries([0.1, 0.5, 1.0]), HistogramSeries([0.1, 0.5, 1.0])
    at_once.observe_all(values)
    at_once.observe_all([])
    for value in values:
        one_by_one.observe(value)
    assert at_once.counts == one_by_one.counts == [3, 1, 1, 2]
    assert at_once.sum == pytest.approx(one_by_one.sum)


def test_exposition_shows_cumulative_buckets_with_go_bounds() -> None:
    """`le` is text: "1" as Go's client writes it, not "1.0"."""
    made = InstrumentSet()
    histogram = made.histogram("h", ALPHA, "help", "who", buckets=(1, 2, 1048576))
    for value in (1, 2, 3):
        histogram.observe(value, "me")
    shown = scrape(made)
    who = ("who", "me")
    assert shown["h_bucket", (("le", "1"), who)] == 1
    assert shown["h_bucket", (("le", "2"), who)] == 2
    assert shown["h_bucket", (("le", "1.048576e+06"), who)] == 3
    assert shown["h_bucket", (("le", "+Inf"), who)] == shown["h_count", (who,)] == 3
    assert shown["h_sum", (who,)] == 6


def test_a_labelled_metric_is_silent_until_first_used_and_an_unlabelled_one_starts_at_zero() -> None:
    """As Go's client does it: `rate()` of a plain counter works from the first scrape."""
    made = InstrumentSet()
    made.counter("by_label_total", ALPHA, "help", "who")
    made.counter("plain_total", ALPHA, "help")
    assert scrape(made) == {("plain_total", ()): 0}


def test_a_disabled_metric_is_recorded_but_not_shown() -> None:
    """`--disabled-metrics` takes full names."""
    made = InstrumentSet(MetricPolicy(disabled=frozenset({"gone_total"})))
    made.counter("gone_total", ALPHA, "help").inc()
    made.counter("kept_total", ALPHA, "help").inc()
    assert scrape(made) == {("kept_total", ()): 1}


def test_values_outside_the_allow_list_share_one_series() -> None:
    """`--allow-metric-labels` bounds cardinality: anything else is counted as `unexpected`."""
    made = InstrumentSet(MetricPolicy(allowed_values={("c_total", "who"): frozenset({"ann"})}))
    counter = made.counter("c_total", ALPHA, "help", "who", "what")
    for who in ("ann", "bob", "eve"):
        counter.inc(who, "x")
    assert scrape(made) == {
        ("c_total", (("what", "x"), ("who", "ann"))): 1,
        ("c_total", (("what", "x"), ("who", "unexpected"))): 2,
    }


def test_a_wrong_number_of_labels_is_refused_on_first_use() -> None:
    """A typo at a call site shows in the first test that gets there."""
    with pytest.raises(TypeError, match=r"c_total has the labels \('who',\), got the values \(\)"):
        InstrumentSet().counter("c_total", ALPHA, "help", "who").inc()


def test_reset_zeroes_in_place_and_leaves_gauges() -> None:
    """Whoever kept a series goes on recording to it; a gauge tells the present."""
    made = InstrumentSet()
    series = made.counter("c_total", ALPHA, "help", "who").labels("me")
    histogram = made.histogram("h", ALPHA, "help", buckets=(1,))
    gauge = made.gauge("g", ALPHA, "help")
    series.inc()
    histogram.observe(0.5)
    gauge.set(7)
    made.reset()
    series.inc()
    shown = scrape(made)
    assert shown["c_total", (("who", "me"),)] == 1
    assert (shown["h_count", ()], shown["h_sum", ()], shown["g", ()]) == (0, 0, 7)


def test_a_gauge_can_be_read_when_it_is_shown() -> None:
    """A size that somebody already knows costs nothing between scrapes."""
    made = InstrumentSet()
    pods = ["a"]
    gauge = made.gauge("g", ALPHA, "help", "queue")
    gauge.read_from(lambda: {("active",): len(pods)})
    pods.append("b")
    assert scrape(made) == {("g", (("queue", "active"),)): 2}


def test_a_removed_gauge_series_is_not_shown_any_more() -> None:
    """For labels that name things which go away."""
    made = InstrumentSet()
    gauge = made.gauge("g", ALPHA, "help", "who")
    gauge.set(1, "me")
    gauge.remove("me")
    assert scrape(made) == {}


def test_exponential_buckets_are_gos() -> None:
    """Repeated multiplication, rounding errors included: the bounds are label values."""
    assert exponential_buckets(0.00001, 1.5, 4) == (
        1e-05,
        1.5000000000000002e-05,
        2.2500000000000005e-05,
        3.375000000000001e-05,
    )
