"""Requests and plugin runs, into the `rest_client_*` metrics."""

from __future__ import annotations

from kubesched.telemetry.component_metrics import RestClientMetrics


class RequestMetrics:
    """A `RequestObserver` and an `ExecObserver`."""

    def __init__(self, metrics: RestClientMetrics) -> None:
        self._metrics = metrics

    def rate_limited(self, *, verb: str, host: str, seconds: float) -> None:
        self._metrics.rate_limiter_duration.labels(verb, host).observe(seconds)

    def request_finished(
        self, *, verb: str, host: str, code: str, seconds: float, sent_bytes: int, received_bytes: int
    ) -> None:
        self._metrics.requests.labels(code, verb, host).inc()
        self._metrics.request_duration.labels(verb, host).observe(seconds)
        self._metrics.request_size.labels(verb, host).observe(sent_bytes)
        self._metrics.response_size.labels(verb, host).observe(received_bytes)

    def request_retried(self, *, verb: str, host: str, code: str) -> None:
        self._metrics.request_retries.labels(code, verb, host).inc()

    def exec_plugin_called(self, *, exit_code: int, call_status: str) -> None:
        self._metrics.exec_plugin_call.labels(str(exit_code), call_status).inc()
