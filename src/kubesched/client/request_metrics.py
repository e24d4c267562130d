"""Requests and plugin runs, into the `rest_client_*` metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from threading import Lock

from kubesched.client.rest import FinishedRequest
from kubesched.telemetry.component_metrics import RestClientMetrics
from kubesched.telemetry.instruments import Noted


class _Series:
    """The metrics of requests with the same labels."""

    def __init__(self, metrics: RestClientMetrics, code: str, verb: str, host: str) -> None:
        self._number = metrics.requests.labels(code, verb, host)
        self._throttled = metrics.rate_limiter_duration.labels(verb, host)
        self._duration = metrics.request_duration.labels(verb, host)
        self._sent = metrics.request_size.labels(verb, host)
        self._received = metrics.response_size.labels(verb, host)

    def count(self, requests: Sequence[FinishedRequest]) -> None:
        self._number.add(len(requests))
        self._throttled.observe_all([request.throttled for request in requests])
        self._duration.observe_all([request.seconds for request in requests])
        self._sent.observe_all([request.sent_bytes for request in requests])
        self._received.observe_all([request.received_bytes for request in requests])


class RequestMetrics:
    """A `RequestObserver` and an `ExecObserver`, for clients in any thread.

    What happens with every request is noted, and counted when metrics are read or enough has come together: from one
    answer of a server to the next, the counting has left the processor's caches and takes five times as long.
    """

    def __init__(self, metrics: RestClientMetrics) -> None:
        self._metrics = metrics
        self._rarely = Lock()
        self._noted = Noted(self._count)
        self.request_finished = self._noted.add
        self._series: dict[tuple[str, str, str], _Series] = {}
        metrics.before_reading(self._noted.count)

    def request_retried(self, *, verb: str, host: str, code: str) -> None:
        with self._rarely:
            self._metrics.request_retries.labels(code, verb, host).inc()

    def exec_plugin_called(self, *, exit_code: int, call_status: str) -> None:
        with self._rarely:
            self._metrics.exec_plugin_call.labels(str(exit_code), call_status).inc()

    def _count(self, noted: Sequence[FinishedRequest]) -> None:
        alike: defaultdict[tuple[str, str, str], list[FinishedRequest]] = defaultdict(list)
        for request in noted:
            alike[request.code, request.verb, request.host].append(request)
        for labels, requests in alike.items():
            series = self._series.get(labels)
            if series is None:
                series = self._series[labels] = _Series(self._metrics, *labels)
            series.count(requests)
