"""Counters, gauges and histograms that are cheap enough for every scheduling decision.

prometheus-client takes a lock and walks the buckets for each observation (2–4 µs). Here an observation is a dict lookup
and an addition in plain Python, without a lock: each series is recorded to by one thread. Another one may read, which
the interpreter makes safe, and may see a histogram between its count and its sum. `InstrumentSet` hands the numbers to
prometheus-client when somebody scrapes. What several threads record, or record in bulk, goes through `Noted`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from kubesched.telemetry.native_histogram import NativeBuckets, SparseCounts

T = TypeVar("T")

Labels = tuple[str, ...]
_MOST_READS: Final = 20
_MOST_NOTED: Final = 256
UNEXPECTED: Final = "unexpected"

# Stability levels: the first word of a help text.
STABLE: Final = "STABLE"
BETA: Final = "BETA"
ALPHA: Final = "ALPHA"


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds as Go's client multiplies them up, so that the `le` labels are the same to the last digit."""
    return tuple(accumulate([factor] * (count - 1), lambda bound, by: bound * by, initial=start))


def _go_float(value: float) -> str:
    """A bound as Go prints it: `1`, not `1.0`, since the `le` label is text that queries compare."""
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]  # prometheus-client has no annotation here
    return text.removesuffix(".0")


@dataclass(frozen=True, kw_only=True)
class MetricPolicy:
    """What an operator decided about exposition: `--disabled-metrics` and `--allow-metric-labels`."""

    disabled: frozenset[str] = frozenset()
    allowed_values: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """(metric, label) → the values it may take; any other value is counted as `unexpected`."""

    def admit(self, metric: str, names: Sequence[str], values: Labels) -> Labels:
        """The label values under which an observation is recorded."""
        if not self.allowed_values:
            return values
        return tuple(
            value if allowed is None or value in allowed else UNEXPECTED
            for name, value in zip(names, values, strict=True)
            for allowed in (self.allowed_values.get((metric, name)),)
        )


def steady(read: Callable[[], T]) -> T:
    """What `read` says about something that another thread may be changing: asked again if it changed meanwhile."""
    for _ in range(_MOST_READS):
        try:
            return read()
        except RuntimeError:  # "changed size during iteration"
            continue
    return read()


class Noted(Generic[T]):
    """Recorded later, in bulk: when enough has come together, or somebody reads. Any thread may note and count."""

    def __init__(self, count: Callable[[list[T]], None]) -> None:
        self._count = count
        self._items: deque[T] = deque()
        self._counting = Lock()

    def add(self, item: T) -> None:
        self._items.append(item)
        if len(self._items) >= _MOST_NOTED:
            self.count()

    def count(self) -> None:
        with self._counting:
            items = self._items
            self._count([items.popleft() for _ in range(len(items))])


class _Series(Protocol):
    def reset(self) -> None: ...


S = TypeVar("S", bound=_Series)


class _SeriesByLabels(dict[Labels, S], Generic[S]):
    """Label values as the caller says them → series; a first use creates the series, or finds the admitted one."""

    def __init__(self, name: str, label_names: Labels, policy: MetricPolicy, make: Callable[[], S]) -> None:
        super().__init__()
        self._name = name
        self._label_names = label_names
        self._policy = policy
        self._make = make
        self.admitted: dict[Labels, S] = {}

    def __missing__(self, values: Labels) -> S:
        if len(values) != len(self._label_names):
            raise TypeError(f"metric {self._name} has the labels {self._label_names}, got the values {values}")
        admitted = self._policy.admit(self._name, self._label_names, values)
        if admitted not in self.admitted:
            self.admitted[admitted] = self._make()
        series = self[values] = self.admitted[admitted]
        return series

    def shown(self) -> list[tuple[Labels, S]]:
        """All series, in order. Others may be made meanwhile."""
        return sorted(steady(lambda: list(self.admitted.items())), key=lambda entry: entry[0])

    def forget(self, values: Labels) -> None:
        admitted = self._policy.admit(self._name, self._label_names, values)
        self.pop(values, None)
        self.admitted.pop(admitted, None)


class _Instrument(Generic[S]):
    def __init__(
        self, name: str, help_text: str, label_names: Labels, policy: MetricPolicy, make: Callable[[], S]
    ) -> None:
        self.name = name
        self.help_text = help_text
        self.label_names = label_names
        self._series = _SeriesByLabels(name, label_names, policy, make)
        if not label_names:
            self._series[()]

    def labels(self, *values: str) -> S:
        """The series of these label values, for a caller that records to it again and again."""
        return self._series[values]

    def reset(self) -> None:
        """Back to zero, in place: whoever holds a series goes on recording to it."""
        for series in self._series.admitted.values():
            series.reset()


class NumberSeries:
    """One number with its labels."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self) -> None:
        self.value += 1.0

    def add(self, amount: float) -> None:
        self.value += amount

    def set(self, value: float) -> None:
        self.value = value

    def reset(self) -> None:
        self.value = 0.0


class _Number(_Instrument[NumberSeries]):
    """Set by whoever knows it, or read by a callback at scrape time."""

    def __init__(self, name: str, help_text: str, label_names: Labels, policy: MetricPolicy) -> None:
        super().__init__(name, help_text, label_names, policy, NumberSeries)
        self._read: Callable[[], Mapping[Labels, float]] | None = None

    def read_from(self, read: Callable[[], Mapping[Labels, float]]) -> None:
        """Ask `read` for label values → number whenever the metric is shown: costs nothing in between."""
        self._read = read

    def value(self, *labels: str) -> float:
        self._refresh()
        return self._series[labels].value

    def _refresh(self) -> None:
        if self._read is not None:
            for labels, value in steady(self._read).items():
                self._series[labels].value = value


class Counter(_Number):
    """A number that only grows."""

    def inc(self, *labels: str) -> None:
        self._series[labels].value += 1.0

    def add(self, amount: float, *labels: str) -> None:
        self._series[labels].value += amount

    def family(self) -> Metric:
        self._refresh()
        family = CounterMetricFamily(self.name, self.help_text, labels=self.label_names)
        for labels, series in self._series.shown():
            family.add_metric(labels, series.value)
        return family


class Gauge(_Number):
    """A number that goes up and down."""

    def set(self, value: float, *labels: str) -> None:
        self._series[labels].value = value

    def inc(self, *labels: str) -> None:
        self._series[labels].value += 1.0

    def remove(self, *labels: str) -> None:
        """Stop showing the series of these labels."""
        self._series.forget(labels)

    def reset(self) -> None:
        """A gauge shows the present, so it keeps its value; zero would be a lie until the next change."""

    def family(self) -> Metric:
        self._refresh()
        family = GaugeMetricFamily(self.name, self.help_text, labels=self.label_names)
        for labels, series in self._series.shown():
            family.add_metric(labels, series.value)
        return family


class HistogramSeries:
    """Counts per bucket and the sum of all observed values; `counts[-1]` is the bucket above the last bound."""

    __slots__ = ("_bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """`times`: so many observations that a sampled one stands for."""
        self.counts[bisect_left(self._bounds, value)] += times
        self.sum += times * value

    def observe_all(self, values: Iterable[float]) -> None:
        """As if each was observed; for hundreds of values at a fraction of the price."""
        ordered = sorted(values)
        below = 0
        for bucket, bound in enumerate(self._bounds):
            within = bisect_right(ordered, bound)
            self.counts[bucket] += within - below
            below = within
        self.counts[-1] += len(ordered) - below
        self.sum += sum(ordered)

    def reset(self) -> None:
        self.counts = [0] * len(self.counts)
        self.sum = 0.0


class Histogram(_Instrument[HistogramSeries]):
    """How often a value fell into each bucket."""

    make_series: ClassVar[type[HistogramSeries]] = HistogramSeries
    family_type: ClassVar[type[HistogramMetricFamily]] = HistogramMetricFamily

    def __init__(
        self, name: str, help_text: str, label_names: Labels, policy: MetricPolicy, bounds: Sequence[float]
    ) -> None:
        super().__init__(name, help_text, label_names, policy, lambda: self.make_series(bounds))
        self.bounds = list(bounds)
        self._le = [*map(_go_float, bounds), "+Inf"]

    def observe(self, value: float, *labels: str) -> None:
        series = self._series[labels]
        series.counts[bisect_left(self.bounds, value)] += 1
        series.sum += value

    def count(self, *labels: str) -> int:
        return sum(self._series[labels].counts)

    def sum(self, *labels: str) -> float:
        return self._series[labels].sum

    def family(self) -> Metric:
        family = self.family_type(self.name, self.help_text, labels=self.label_names)
        for labels, series in self._series.shown():
            buckets = list(zip(self._le, map(float, accumulate(series.counts)), strict=True))
            family.add_metric(labels, buckets, series.sum)
        return family


class NativeSeries(HistogramSeries):
    """A series that also counts in native buckets."""

    __slots__ = ("sparse",)

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__(bounds)
        self.sparse = SparseCounts()

    def observe(self, value: float, times: int = 1) -> None:
        super().observe(value, times)
        self.sparse.observe(value, times)

    def observe_all(self, values: Iterable[float]) -> None:
        values = list(values)
        super().observe_all(values)
        for value in values:
            self.sparse.observe(value)

    def reset(self) -> None:
        super().reset()
        self.sparse = SparseCounts()


class NativeFamily(HistogramMetricFamily):
    """A family with the native buckets of its series, by their label values."""

    native: Mapping[Labels, NativeBuckets]


class NativeHistogram(Histogram):
    """A histogram with native buckets beside its own (gate NativeHistograms)."""

    make_series = NativeSeries
    family_type = NativeFamily

    def observe(self, value: float, *labels: str) -> None:
        self._series[labels].observe(value)

    def family(self) -> Metric:
        family = super().family()
        assert isinstance(family, NativeFamily), "see family_type"
        family.native = {labels: _native(series) for labels, series in self._series.shown()}
        return family


def _native(series: HistogramSeries) -> NativeBuckets:
    assert isinstance(series, NativeSeries), "see make_series"
    return series.sparse.shown(steady(lambda: list(series.sparse.counts.items())))


class InstrumentSet(Collector):
    """Makes instruments and shows them to a prometheus-client registry, in the order of their making."""

    def __init__(self, policy: MetricPolicy | None = None, *, native_histograms: bool = False) -> None:
        self._make_histogram = NativeHistogram if native_histograms else Histogram
        self._policy = policy or MetricPolicy()
        self._instruments: list[Counter | Gauge | Histogram] = []
        self._before_reading: list[Callable[[], None]] = []

    def before_reading(self, settle: Callable[[], None]) -> None:
        """Call `settle` before the numbers are shown or reset: for who records in bulk."""
        self._before_reading.append(settle)

    def counter(self, name: str, stability: str, help_text: str, *labels: str) -> Counter:
        counter = Counter(name, f"[{stability}] {help_text}", labels, self._policy)
        self._instruments.append(counter)
        return counter

    def gauge(self, name: str, stability: str, help_text: str, *labels: str) -> Gauge:
        gauge = Gauge(name, f"[{stability}] {help_text}", labels, self._policy)
        self._instruments.append(gauge)
        return gauge

    def histogram(self, name: str, stability: str, help_text: str, *labels: str, buckets: Iterable[float]) -> Histogram:
        histogram = self._make_histogram(name, f"[{stability}] {help_text}", labels, self._policy, tuple(buckets))
        self._instruments.append(histogram)
        return histogram

    def collect(self) -> Iterator[Metric]:
        self._settle()
        for instrument in self._instruments:
            if instrument.name in self._policy.disabled:
                continue
            family = instrument.family()
            if family.samples:
                yield family

    def reset(self) -> None:
        """What DELETE /metrics does: counters and histograms start again."""
        self._settle()
        for instrument in self._instruments:
            instrument.reset()

    def _settle(self) -> None:
        for settle in self._before_reading:
            settle()
