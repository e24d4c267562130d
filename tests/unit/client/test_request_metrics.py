"""Requests in the metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from kubesched.client.request_metrics import RequestMetrics
from kubesched.client.rest import FinishedRequest
from kubesched.telemetry.component_metrics import RestClientMetrics
from kubesched.telemetry.instruments import InstrumentSet


def test_requests_are_counted_as_client_go_counts_them() -> None:
    """Names and labels."""
    registry, made = CollectorRegistry(), InstrumentSet()
    registry.register(made)
    observer = RequestMetrics(RestClientMetrics(made))
    observer.request_finished(FinishedRequest("GET", "h:443", "200", 0.1, 0.2, 0, 100))
    observer.request_retried(verb="GET", host="h:443", code="200")
    observer.exec_plugin_called(exit_code=0, call_status="no_error")
    shown = generate_latest(registry).decode()
    for line in (
        'rest_client_requests_total{code="200",host="h:443",method="GET"} 1.0',
        'rest_client_request_duration_seconds_count{host="h:443",verb="GET"} 1.0',
        'rest_client_rate_limiter_duration_seconds_sum{host="h:443",verb="GET"} 0.1',
        'rest_client_response_size_bytes_sum{host="h:443",verb="GET"} 100.0',
        'rest_client_request_retries_total{code="200",host="h:443",verb="GET"} 1.0',
        'rest_client_exec_plugin_call_total{call_status="no_error",code="0"} 1.0',
    ):
        assert line in shown


def test_nothing_is_lost_or_kept_where_nobody_reads() -> None:
    """Requests are counted in bulk, and a reset takes those that were not counted yet with it."""
    made = InstrumentSet()
    metrics = RestClientMetrics(made)
    observer = RequestMetrics(metrics)

    def post() -> None:
        observer.request_finished(FinishedRequest("POST", "h", "201", 0.0, 0.2, 1, 1))

    for _ in range(1000):
        post()
    assert metrics.requests.value("201", "POST", "h") >= 700
    list(made.collect())
    assert metrics.requests.value("201", "POST", "h") == 1000
    post()
    made.reset()
    list(made.collect())
    assert metrics.requests.value("201", "POST", "h") == 0
