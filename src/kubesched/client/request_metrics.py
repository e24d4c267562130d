"""Requests and plugin runs, into the `rest_client_*` metrics."""

from __future__ import annotations

from typing import Final

from kubesched.client.rest import FinishedRequest
from kubesched.telemetry.component_metrics import RestClientMetrics

_MOST_NOTED: Final = 256


class _Requests:
    """Requests with the same labels; `noted` are those not counted yet."""

    def __init__(self, metrics: RestClientMetrics, code: str, verb: str, host: str) -> None:
        self.noted: list[FinishedRequest] = []
        self._number = metrics.requests.labels(code, verb, host)
        self._throttled = metrics.rate_limiter_duration.labels(verb, host)
        self._duration = metrics.request_duration.labels(verb, host)
        self._sent = metrics.request_size.labels(verb, host)
        self._received = metrics.response_size.labels(verb, host)

    def count(self) -> None:
        if self.noted:
            noted, self.noted = self.noted, []
            self._number.add(len(noted))
            self._throttled.observe_all([request.throttled for request in noted])
            self._duration.observe_all([request.seconds for request in noted])
            self._sent.observe_all([request.sent_bytes for request in noted])
            self._received.observe_all([request.received_bytes for request in noted])


class RequestMetrics:
    """A `RequestObserver` and an `ExecObserver`.

    What happens with every request is noted, and counted when metrics are read or enough has come together: from one
    answer of a server to the next, the counting has left the processor's caches and takes five times as long.
    """

    def __init__(self, metrics: RestClientMetrics) -> None:
        self._metrics = metrics
        self._requests: dict[tuple[str, str, str], _Requests] = {}
        metrics.before_reading(self._count)

    def request_finished(self, request: FinishedRequest) -> None:
        labels = request.code, request.verb, request.host
        requests = self._requests.get(labels)
        if requests is None:
            requests = self._requests[labels] = _Requests(self._metrics, *labels)
        noted = requests.noted
        noted.append(request)
        if len(noted) >= _MOST_NOTED:
            requests.count()

    def request_retried(self, *, verb: str, host: str, code: str) -> None:
        self._metrics.request_retries.labels(code, verb, host).inc()

    def exec_plugin_called(self, *, exit_code: int, call_status: str) -> None:
        self._metrics.exec_plugin_call.labels(str(exit_code), call_status).inc()

    def _count(self) -> None:
        for requests in self._requests.values():
            requests.count()
