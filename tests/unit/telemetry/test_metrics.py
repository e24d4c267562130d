"""The scheduler's metrics: names, types, labels and buckets are kube-scheduler's."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kubesched.telemetry.component_metrics import register_process_metrics
from kubesched.telemetry.instruments import Counter, Gauge, Histogram
from kubesched.telemetry.metrics import SchedulerMetrics

# name without prefix, attribute, type, labels, (first bound, factor, count)
SURFACE: list[tuple[str, str, type, tuple[str, ...], tuple[float, float, int] | None]] = [
    ("schedule_attempts_total", "schedule_attempts", Counter, ("result", "profile"), None),
    (
        "scheduling_attempt_duration_seconds",
        "scheduling_attempt_duration",
        Histogram,
        ("result", "profile"),
        (0.001, 2, 15),
    ),
    ("scheduling_algorithm_duration_seconds", "scheduling_algorithm_duration", Histogram, (), (0.001, 2, 15)),
    ("event_handling_duration_seconds", "event_handling_duration", Histogram, ("event",), (1e-4, 2, 12)),
    ("preemption_victims", "preemption_victims", Histogram, (), (1, 2, 7)),
    ("preemption_attempts_total", "preemption_attempts", Counter, (), None),
    ("pending_pods", "pending_pods", Gauge, ("queue",), None),
    ("pod_scheduling_sli_duration_seconds", "pod_scheduling_sli_duration", Histogram, ("attempts",), (0.01, 2, 20)),
    ("pod_scheduling_attempts", "pod_scheduling_attempts", Histogram, (), (1, 2, 5)),
    ("pod_scheduled_after_flush_total", "pod_scheduled_after_flush", Counter, (), None),
    (
        "framework_extension_point_duration_seconds",
        "framework_extension_point_duration",
        Histogram,
        ("extension_point", "status", "profile"),
        (1e-4, 2, 12),
    ),
    (
        "plugin_execution_duration_seconds",
        "plugin_execution_duration",
        Histogram,
        ("plugin", "extension_point", "status"),
        (1e-5, 1.5, 20),
    ),
    ("queue_incoming_pods_total", "queue_incoming_pods", Counter, ("queue", "event"), None),
    ("goroutines", "goroutines", Gauge, ("operation",), None),
    ("permit_wait_duration_seconds", "permit_wait_duration", Histogram, ("result",), (0.001, 2, 15)),
    ("cache_size", "cache_size", Gauge, ("type",), None),
    ("unschedulable_pods", "unschedulable_pods", Gauge, ("plugin", "profile"), None),
    ("plugin_evaluation_total", "plugin_evaluation", Counter, ("plugin", "extension_point", "profile"), None),
    ("volume_binder_cache_requests_total", "volume_binder_cache_requests", Counter, ("operation",), None),
    ("volume_scheduling_stage_error_total", "volume_scheduling_stage_error", Counter, ("operation",), None),
    (
        "queueing_hint_execution_duration_seconds",
        "queueing_hint_execution_duration",
        Histogram,
        ("plugin", "event", "hint"),
        (1e-5, 1.5, 20),
    ),
    ("inflight_events", "inflight_events", Gauge, ("event",), None),
    ("preemption_goroutines_duration_seconds", "preemption_goroutines_duration", Histogram, ("result",), (0.01, 2, 20)),
    ("preemption_goroutines_execution_total", "preemption_goroutines_execution", Counter, ("result",), None),
]


@pytest.mark.parametrize(("name", "attribute", "kind", "labels", "buckets"), SURFACE, ids=[row[0] for row in SURFACE])
def test_a_metric_has_kube_schedulers_shape(
    name: str, attribute: str, kind: type, labels: tuple[str, ...], buckets: tuple[float, float, int] | None
) -> None:
    """Dashboards and alerts written for kube-scheduler keep working."""
    metric: Counter | Gauge | Histogram = getattr(SchedulerMetrics(CollectorRegistry()), attribute)
    assert type(metric) is kind
    assert (metric.name, metric.label_names) == (f"scheduler_{name}", labels)
    if isinstance(metric, Histogram):
        assert buckets is not None
        start, factor, count = buckets
        assert len(metric.bounds) == count
        assert metric.bounds == pytest.approx([start * factor**power for power in range(count)])


def test_the_whole_exposition_parses_and_carries_the_stability() -> None:
    """One scrape of everything, read back by prometheus-client's own parser."""
    registry = CollectorRegistry()
    metrics = SchedulerMetrics(registry)
    register_process_metrics(registry)
    metrics.schedule_attempts.inc("scheduled", "default-scheduler")
    metrics.record_features([("DynamicResourceAllocation", "GA", True), ("GangScheduling", "Alpha", False)])
    metrics.leader_election.master_status.set(1, "kube-scheduler")
    metrics.rest_client.requests.inc("200", "GET", "127.0.0.1:6443")
    families = {family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())}
    assert families["scheduler_schedule_attempts"].documentation.startswith("[STABLE] Number of attempts to schedule")
    gates = families["kubernetes_feature_enabled"].samples
    assert {(gate.labels["name"], gate.labels["stage"], gate.value) for gate in gates} == {
        ("DynamicResourceAllocation", "", 1.0),
        ("GangScheduling", "ALPHA", 0.0),
    }
    assert families["kubernetes_build_info"].samples[0].labels["minor"] == "37"
    assert "process_resident_memory_bytes" in families
