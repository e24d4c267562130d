"""Requests and plugin runs, into the `rest_client_*` metrics."""

from __future__ import annotations

from typing import NamedTuple

from kubesched.telemetry.component_metrics import RestClientMetrics
from kubesched.telemetry.instruments import HistogramSeries, NumberSeries


class _Series(NamedTuple):
    """What a request with certain labels is recorded to."""

    requests: NumberSeries
    duration: HistogramSeries
    sent: HistogramSeries
    received: HistogramSeries


class RequestMetrics:
    """A `RequestObserver` and an `ExecObserver`."""

    def __init__(self, metrics: RestClientMetrics) -> None:
        self._metrics = metrics
        self._series: dict[tuple[str, str, str], _Series] = {}

    def rate_limited(self, *, verb: str, host: str, seconds: float) -> None:
        self._metrics.rate_limiter_duration.labels(verb, host).observe(seconds)

    def request_finished(
        self, *, verb: str, host: str, code: str, seconds: float, sent_bytes: int, received_bytes: int
    ) -> None:
        series = self._series.get((code, verb, host)) or self._new_series(code, verb, host)
        series.requests.inc()
        series.duration.observe(seconds)
        series.sent.observe(sent_bytes)
        series.received.observe(received_bytes)

    def request_retried(self, *, verb: str, host: str, code: str) -> None:
        self._metrics.request_retries.labels(code, verb, host).inc()

    def exec_plugin_called(self, *, exit_code: int, call_status: str) -> None:
        self._metrics.exec_plugin_call.labels(str(exit_code), call_status).inc()

    def _new_series(self, code: str, verb: str, host: str) -> _Series:
        metrics = self._metrics
        series = self._series[code, verb, host] = _Series(
            metrics.requests.labels(code, verb, host),
            metrics.request_duration.labels(verb, host),
            metrics.request_size.labels(verb, host),
            metrics.response_size.labels(verb, host),
        )
        return series
