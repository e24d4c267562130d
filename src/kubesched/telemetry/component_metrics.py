"""Metrics that every Kubernetes component has: its API client, its work queues, its election, its process."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector

from kubesched.telemetry.instruments import ALPHA, BETA, InstrumentSet, exponential_buckets

WORKQUEUE_BUCKETS: Final = exponential_buckets(10e-9, 10, 10)
REQUEST_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
REQUEST_SIZE_BUCKETS: Final = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)


class RestClientMetrics:
    """Requests to the API server, as client-go counts them."""

    def __init__(self, made: InstrumentSet) -> None:
        self.before_reading = made.before_reading
        self.requests = made.counter(
            "rest_client_requests_total",
            ALPHA,
            "Number of HTTP requests, partitioned by status code, method, and host.",
            *("code", "method", "host"),
        )
        self.request_retries = made.counter(
            "rest_client_request_retries_total",
            ALPHA,
            "Number of request retries, partitioned by status code, verb, and host.",
            *("code", "verb", "host"),
        )
        self.request_duration = made.histogram(
            "rest_client_request_duration_seconds",
            ALPHA,
            "Request latency in seconds. Broken down by verb, and host.",
            *("verb", "host"),
            buckets=REQUEST_BUCKETS,
        )
        self.rate_limiter_duration = made.histogram(
            "rest_client_rate_limiter_duration_seconds",
            ALPHA,
            "Client side rate limiter latency in seconds. Broken down by verb, and host.",
            *("verb", "host"),
            buckets=REQUEST_BUCKETS,
        )
        self.request_size = made.histogram(
            "rest_client_request_size_bytes",
            ALPHA,
            "Request size in bytes. Broken down by verb and host.",
            *("verb", "host"),
            buckets=REQUEST_SIZE_BUCKETS,
        )
        self.response_size = made.histogram(
            "rest_client_response_size_bytes",
            ALPHA,
            "Response size in bytes. Broken down by verb and host.",
            *("verb", "host"),
            buckets=REQUEST_SIZE_BUCKETS,
        )
        self.exec_plugin_call = made.counter(
            "rest_client_exec_plugin_call_total",
            ALPHA,
            "Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, "
            "plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The "
            "exit code will be set to 0 if and only if the plugin call was successful.",
            *("code", "call_status"),
        )


class WorkqueueMetrics:
    """Queues of background work (not the scheduling queue), by the queue's name."""

    def __init__(self, made: InstrumentSet) -> None:
        self.depth = made.gauge("workqueue_depth", BETA, "Current depth of workqueue", "name")
        self.adds = made.counter("workqueue_adds_total", BETA, "Total number of adds handled by workqueue", "name")
        self.queue_duration = made.histogram(
            "workqueue_queue_duration_seconds",
            BETA,
            "How long in seconds an item stays in workqueue before being requested.",
            "name",
            buckets=WORKQUEUE_BUCKETS,
        )
        self.work_duration = made.histogram(
            "workqueue_work_duration_seconds",
            BETA,
            "How long in seconds processing an item from workqueue takes.",
            "name",
            buckets=WORKQUEUE_BUCKETS,
        )
        self.unfinished_work = made.gauge(
            "workqueue_unfinished_work_seconds",
            BETA,
            "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large "
            "values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at "
            "which this increases.",
            "name",
        )
        self.longest_running_processor = made.gauge(
            "workqueue_longest_running_processor_seconds",
            BETA,
            "How many seconds has the longest running processor for workqueue been running.",
            "name",
        )
        self.retries = made.counter(
            "workqueue_retries_total", BETA, "Total number of retries handled by workqueue", "name"
        )


class LeaderElectionMetrics:
    """Who leads, by the lease's name."""

    def __init__(self, made: InstrumentSet) -> None:
        self.master_status = made.gauge(
            "leader_election_master_status",
            ALPHA,
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates "
            "master. 'name' is the string used to identify the lease. Please make sure to group by name.",
            "name",
        )
        self.slowpath = made.counter(
            "leader_election_slowpath_total",
            ALPHA,
            "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify "
            "the lease. Please make sure to group by name.",
            "name",
        )


def register_process_metrics(registry: CollectorRegistry) -> None:
    """CPU, memory, file descriptors and start time of this process (`process_*`), and its garbage collector."""
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
