"""Requests and plugin runs, into the `rest_client_*` metrics."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubesched.telemetry.component_metrics import RestClientMetrics
from kubesched.telemetry.instruments import HistogramSeries, NumberSeries


class _Series(NamedTuple):
    """What a request with certain labels is recorded to."""

    requests: NumberSeries
    duration: HistogramSeries
    sent: HistogramSeries
    received: HistogramSeries


_MOST_NOTED: Final = 256


class RequestMetrics:
    """A `RequestObserver` and an `ExecObserver`.

    What happens with every request is noted, and counted when metrics are read or enough has come together: from one
    answer of a server to the next, the counting has left the processor's caches and takes five times as long.
    """

    def __init__(self, metrics: RestClientMetrics) -> None:
        self._metrics = metrics
        self._series: dict[tuple[str, str, str], _Series] = {}
        self._limited: list[tuple[str, str, float]] = []
        self._finished: list[tuple[str, str, str, float, int, int]] = []
        metrics.before_reading(self._count)

    def rate_limited(self, *, verb: str, host: str, seconds: float) -> None:
        self._limited.append((verb, host, seconds))
        if len(self._limited) >= _MOST_NOTED:
            self._count()

    def request_finished(
        self, *, verb: str, host: str, code: str, seconds: float, sent_bytes: int, received_bytes: int
    ) -> None:
        self._finished.append((code, verb, host, seconds, sent_bytes, received_bytes))
        if len(self._finished) >= _MOST_NOTED:
            self._count()

    def request_retried(self, *, verb: str, host: str, code: str) -> None:
        self._metrics.request_retries.labels(code, verb, host).inc()

    def exec_plugin_called(self, *, exit_code: int, call_status: str) -> None:
        self._metrics.exec_plugin_call.labels(str(exit_code), call_status).inc()

    def _count(self) -> None:
        limited, self._limited = self._limited, []
        for verb, host, seconds in limited:
            self._metrics.rate_limiter_duration.observe(seconds, verb, host)
        finished, self._finished = self._finished, []
        for code, verb, host, seconds, sent, received in finished:
            series = self._series.get((code, verb, host)) or self._new_series(code, verb, host)
            series.requests.inc()
            series.duration.observe(seconds)
            series.sent.observe(sent)
            series.received.observe(received)

    def _new_series(self, code: str, verb: str, host: str) -> _Series:
        metrics = self._metrics
        series = self._series[code, verb, host] = _Series(
            metrics.requests.labels(code, verb, host),
            metrics.request_duration.labels(verb, host),
            metrics.request_size.labels(verb, host),
            metrics.response_size.labels(verb, host),
        )
        return series
