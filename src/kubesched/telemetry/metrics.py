"""All metrics of the scheduler, with kube-scheduler v1.36's names, labels, buckets and help texts.

An attribute is called like its metric, without `scheduler_`, `_total` and `_seconds`; label values follow the amount,
in the metric's order: `metrics.scheduling_attempt_duration.observe(seconds, "scheduled", "default-scheduler")`.
A caller in a loop keeps the series: `attempts = metrics.schedule_attempts.labels("scheduled", profile)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry

from kubesched.telemetry.component_metrics import LeaderElectionMetrics, RestClientMetrics, WorkqueueMetrics
from kubesched.telemetry.instruments import ALPHA, BETA, STABLE, InstrumentSet, MetricPolicy, exponential_buckets
from kubesched.telemetry.version import build_labels

ATTEMPT_BUCKETS: Final = exponential_buckets(0.001, 2, 15)
EXTENSION_POINT_BUCKETS: Final = exponential_buckets(0.0001, 2, 12)
PLUGIN_BUCKETS: Final = exponential_buckets(0.00001, 1.5, 20)
SLI_BUCKETS: Final = exponential_buckets(0.01, 2, 20)


class SchedulerMetrics:
    """The numbers of one scheduler, shown by the registry that it is made with."""

    def __init__(
        self, registry: CollectorRegistry, policy: MetricPolicy | None = None, *, native_histograms: bool = False
    ) -> None:
        self._instruments = made = InstrumentSet(policy, native_histograms=native_histograms)
        self._attempts(made)
        self._queue(made)
        self._plugins(made)
        self._preemption(made)
        self._api_calls(made)
        self._pod_groups(made)
        self._evaluation(made)
        self.rest_client = RestClientMetrics(made)
        self.workqueue = WorkqueueMetrics(made)
        self.leader_election = LeaderElectionMetrics(made)
        self._component(made)
        registry.register(made)

    def before_reading(self, settle: Callable[[], None]) -> None:
        """Call `settle` before the numbers are shown or reset: for who records in bulk."""
        self._instruments.before_reading(settle)

    def reset(self) -> None:
        """What DELETE /metrics does: counters and histograms start again; gauges keep showing the present."""
        self._instruments.reset()

    def record_features(self, features: Iterable[tuple[str, str, bool]]) -> None:
        """(name, stage, enabled) of every feature gate. Shown are the stages ALPHA, BETA, DEPRECATED and "" for GA."""
        for name, stage, enabled in features:
            self.feature_enabled.set(1.0 if enabled else 0.0, name, "" if stage == "GA" else stage.upper())

    def _attempts(self, made: InstrumentSet) -> None:
        self.schedule_attempts = made.counter(
            "scheduler_schedule_attempts_total",
            STABLE,
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, "
            "while 'error' means an internal scheduler problem.",
            "result",
            "profile",
        )
        self.scheduling_attempt_duration = made.histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            STABLE,
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            "result",
            "profile",
            buckets=ATTEMPT_BUCKETS,
        )
        self.scheduling_algorithm_duration = made.histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            ALPHA,
            "Scheduling algorithm latency in seconds",
            buckets=ATTEMPT_BUCKETS,
        )
        self.event_handling_duration = made.histogram(
            "scheduler_event_handling_duration_seconds",
            ALPHA,
            "Event handling latency in seconds.",
            "event",
            buckets=EXTENSION_POINT_BUCKETS,
        )
        self.pod_scheduling_sli_duration = made.histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            BETA,
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
            "involve multiple scheduling attempts.",
            "attempts",
            buckets=SLI_BUCKETS,
        )
        self.pod_scheduling_attempts = made.histogram(
            "scheduler_pod_scheduling_attempts",
            STABLE,
            "Number of attempts to successfully schedule a pod.",
            buckets=exponential_buckets(1, 2, 5),
        )
        self.pod_scheduled_after_flush = made.counter(
            "scheduler_pod_scheduled_after_flush_total",
            ALPHA,
            "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to "
            "timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
        )
        self.goroutines = made.gauge(
            "scheduler_goroutines",
            BETA,
            "Number of running goroutines split by the work they do such as binding.",
            "operation",
        )
        self.cache_size = made.gauge(
            "scheduler_cache_size",
            ALPHA,
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            "type",
        )

    def _queue(self, made: InstrumentSet) -> None:
        self.pending_pods = made.gauge(
            "scheduler_pending_pods",
            STABLE,
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
            "number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the "
            "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the "
            "scheduler never attempted to schedule because they are gated.",
            "queue",
        )
        self.queue_incoming_pods = made.counter(
            "scheduler_queue_incoming_pods_total",
            STABLE,
            "Number of pods added to scheduling queues by event and queue type.",
            "queue",
            "event",
        )
        self.inflight_events = made.gauge(
            "scheduler_inflight_events",
            ALPHA,
            "Number of events currently tracked in the scheduling queue.",
            "event",
        )
        self.queueing_hint_execution_duration = made.histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            ALPHA,
            "Duration for running a queueing hint function of a plugin.",
            "plugin",
            "event",
            "hint",
            buckets=PLUGIN_BUCKETS,
        )
        self.unschedulable_pods = made.gauge(
            "scheduler_unschedulable_pods",
            BETA,
            "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
            "plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
            "plugin",
            "profile",
        )

    def _plugins(self, made: InstrumentSet) -> None:
        self.framework_extension_point_duration = made.histogram(
            "scheduler_framework_extension_point_duration_seconds",
            STABLE,
            "Latency for running all plugins of a specific extension point.",
            "extension_point",
            "status",
            "profile",
            buckets=EXTENSION_POINT_BUCKETS,
        )
        self.plugin_execution_duration = made.histogram(
            "scheduler_plugin_execution_duration_seconds",
            ALPHA,
            "Duration for running a plugin at a specific extension point.",
            "plugin",
            "extension_point",
            "status",
            buckets=PLUGIN_BUCKETS,
        )
        self.plugin_evaluation = made.counter(
            "scheduler_plugin_evaluation_total",
            BETA,
            "Number of attempts to schedule pods by each plugin and the extension point (available only in "
            "PreFilter, Filter, PreScore, and Score).",
            "plugin",
            "extension_point",
            "profile",
        )
        self.permit_wait_duration = made.histogram(
            "scheduler_permit_wait_duration_seconds",
            BETA,
            "Duration of waiting on permit.",
            "result",
            buckets=ATTEMPT_BUCKETS,
        )
        self.volume_binder_cache_requests = made.counter(
            "scheduler_volume_binder_cache_requests_total",
            ALPHA,
            "Total number for request volume binding cache",
            "operation",
        )
        self.volume_scheduling_stage_error = made.counter(
            "scheduler_volume_scheduling_stage_error_total",
            ALPHA,
            "Volume scheduling stage error count",
            "operation",
        )
        self.resourceclaim_creates = made.counter(
            "scheduler_resourceclaim_creates_total",
            ALPHA,
            "Number of ResourceClaims creation requests within scheduler",
            "status",
        )
        self.dra_bindingconditions_allocations = made.counter(
            "scheduler_dra_bindingconditions_allocations_total",
            ALPHA,
            "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
            "profile",
            "driver",
            "status",
        )
        self.dra_bindingconditions_wait_duration = made.histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            ALPHA,
            "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
            "profile",
            "driver",
            "status",
            buckets=exponential_buckets(0.1, 2, 14),
        )

    def _preemption(self, made: InstrumentSet) -> None:
        self.preemption_victims = made.histogram(
            "scheduler_preemption_victims",
            STABLE,
            "Number of selected preemption victims for preemption initiated by a single pod",
            buckets=exponential_buckets(1, 2, 7),
        )
        self.preemption_attempts = made.counter(
            "scheduler_preemption_attempts_total", STABLE, "Total preemption attempts in the cluster till now"
        )
        self.preemption_goroutines_duration = made.histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            ALPHA,
            "Duration in seconds for running goroutines for the preemption.",
            "result",
            buckets=SLI_BUCKETS,
        )
        self.preemption_goroutines_execution = made.counter(
            "scheduler_preemption_goroutines_execution_total",
            ALPHA,
            "Number of preemption goroutines executed.",
            "result",
        )
        self.preemption_evaluation_duration = made.histogram(
            "scheduler_preemption_evaluation_duration_seconds",
            ALPHA,
            "Duration in seconds for identifying the target preemption victims.",
            "preemptor",
            "result",
            buckets=exponential_buckets(0.001, 2, 16),
        )
        self.preemption_execution_duration = made.histogram(
            "scheduler_preemption_execution_duration_seconds",
            ALPHA,
            "Duration in seconds for preempting the target preemption victims.",
            "preemptor",
            "result",
            buckets=exponential_buckets(0.001, 2, 16),
        )
        self.preemption_pdb_violations = made.counter(
            "scheduler_preemption_pdb_violations_total",
            ALPHA,
            "Total number of pod disruption budget violations caused by preemption.",
            "preemptor",
        )
        self.preemption_workload_disruptions = made.histogram(
            "scheduler_preemption_workload_disruptions",
            ALPHA,
            "Number of preempted units that are pod groups, or single pods of pod groups.",
            "preemptor",
            buckets=exponential_buckets(1, 2, 11),
        )
        self.workload_preemption_attempts = made.counter(
            "scheduler_workload_preemption_attempts_total",
            ALPHA,
            "Total preemption attempts initiated by pod groups in the cluster till now.",
            "result",
        )
        self.workload_preemption_victims = made.histogram(
            "scheduler_workload_preemption_victims",
            ALPHA,
            "Number of pods that pod groups preempted.",
            buckets=exponential_buckets(1, 2, 11),
        )

    def _api_calls(self, made: InstrumentSet) -> None:
        """kube-scheduler counts bindings and status patches here, with SchedulerAsyncAPICalls; we, every write."""
        self.async_api_call_execution = made.counter(
            "scheduler_async_api_call_execution_total",
            ALPHA,
            "Total number of API calls executed by the async dispatcher.",
            "call_type",
            "result",
        )
        self.async_api_call_execution_duration = made.histogram(
            "scheduler_async_api_call_execution_duration_seconds",
            ALPHA,
            "Duration in seconds for executing API call in the async dispatcher.",
            "call_type",
            "result",
            buckets=ATTEMPT_BUCKETS,
        )
        self.pending_async_api_calls = made.gauge(
            "scheduler_pending_async_api_calls",
            ALPHA,
            "Number of API calls currently pending in the async queue.",
            "call_type",
        )

    def _pod_groups(self, made: InstrumentSet) -> None:
        self.podgroup_schedule_attempts = made.counter(
            "scheduler_podgroup_schedule_attempts_total",
            ALPHA,
            "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be "
            "scheduled, while 'error' means an internal scheduler problem.",
            "result",
            "profile",
        )
        self.podgroup_scheduling_attempt_duration = made.histogram(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            ALPHA,
            "Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)",
            "result",
            "profile",
            buckets=ATTEMPT_BUCKETS,
        )
        self.podgroup_scheduling_algorithm_duration = made.histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            ALPHA,
            "Pod group scheduling algorithm latency in seconds",
            buckets=ATTEMPT_BUCKETS,
        )

    def _evaluation(self, made: InstrumentSet) -> None:
        """Our own: how much of the last evaluation of an equal pod could be used again."""
        self.evaluation_reuse = made.counter(
            "kubesched_evaluation_reuse_total",
            ALPHA,
            "Number of evaluations of a pod against all nodes, by whether an earlier one of an equal pod was brought "
            "up to date (hit) or all nodes were evaluated (miss).",
            "result",
        )
        self.plugin_seconds_per_pod = made.gauge(
            "kubesched_plugin_seconds_per_pod",
            ALPHA,
            "Time that a plugin took for a pod in the mean of the sampled attempts, at all extension points together.",
            "plugin",
        )
        self.plugin_blocked = made.counter(
            "kubesched_plugin_blocked_seconds_total",
            ALPHA,
            "Time for which a plugin kept the scheduler from doing anything else, in stretches of a second and more.",
            "plugin",
        )
        self.plugin_failures = made.counter(
            "kubesched_plugin_failures_total",
            ALPHA,
            "Number of attempts that failed because a plugin raised or broke its contract.",
            "plugin",
        )
        self.evaluated_rows = made.counter(
            "kubesched_evaluated_rows_total",
            ALPHA,
            "Number of answers about single nodes that plugins had to give, because a node changed or was new to them.",
        )

    def _component(self, made: InstrumentSet) -> None:
        self.feature_enabled = made.gauge(
            "kubernetes_feature_enabled",
            BETA,
            "This metric records the data about the stage and enablement of a k8s feature.",
            "name",
            "stage",
        )
        self.build_info = made.gauge(
            "kubernetes_build_info",
            BETA,
            "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "
            "build date, Go version, and compiler from which Kubernetes was built, and platform on which it is "
            "running.",
            *("major", "minor", "git_version", "git_commit", "git_tree_state", "build_date"),
            *("go_version", "compiler", "platform"),
        )
        self.build_info.set(1, *build_labels())
