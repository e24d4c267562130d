"""What the scheduler's parts report, written into metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kubesched.apps.run.plugin_budgets import TimeBudget
from kubesched.clock import Clock
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.framework import QueuedPod, Victims
from kubesched.scheduler.framework.stopwatch import ATTEMPTS_PER_SAMPLE
from kubesched.scheduler.state.queue.observer import SubQueue
from kubesched.telemetry.instruments import Noted
from kubesched.telemetry.metrics import SchedulerMetrics

SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"

MOST_ATTEMPTS: Final = 15
"""From here on, attempts share one label (getAttemptsLabel)."""
_ATTEMPTS: Final = (*map(str, range(MOST_ATTEMPTS)), f"{MOST_ATTEMPTS}+")


class AttemptMetrics:
    """An `AttemptObserver`."""

    def __init__(self, metrics: SchedulerMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._algorithm = metrics.scheduling_algorithm_duration.labels()
        self._attempts_needed = metrics.pod_scheduling_attempts.labels()

    def algorithm_ran(self, seconds: float) -> None:
        self._algorithm.observe(seconds)

    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None:
        self._ended(SCHEDULED, profile, seconds)
        self._attempts_needed.observe(queued.attempts)
        if queued.initial_attempt is not None:
            waited = self._clock.monotonic() - queued.initial_attempt
            attempts = _ATTEMPTS[min(queued.attempts, MOST_ATTEMPTS)]
            self._metrics.pod_scheduling_sli_duration.observe(waited, attempts)
        if queued.was_flushed:
            self._metrics.pod_scheduled_after_flush.inc()

    def unschedulable(self, profile: str, seconds: float) -> None:
        self._ended(UNSCHEDULABLE, profile, seconds)

    def failed(self, profile: str, seconds: float) -> None:
        self._ended(ERROR, profile, seconds)

    def _ended(self, result: str, profile: str, seconds: float) -> None:
        self._metrics.schedule_attempts.inc(result, profile)
        self._metrics.scheduling_attempt_duration.observe(seconds, result, profile)


class QueueMetrics:
    """A `QueueObserver`."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics

    def pod_enqueued(self, queue: SubQueue, event: str) -> None:
        self._metrics.queue_incoming_pods.inc(queue, event)

    def rejections_changed(self, plugin: str, profile: str, change: int) -> None:
        self._metrics.unschedulable_pods.labels(plugin, profile).add(change)

    def hint_asked(self, plugin: str, event: str, result: str, seconds: float) -> None:
        self._metrics.queueing_hint_execution_duration.observe(seconds, plugin, event, result)

    def pre_enqueue_ran(self, profile: str, seconds: float) -> None:
        self._metrics.framework_extension_point_duration.observe(seconds, "PreEnqueue", "Success", profile)


FIRST_POINT: Final = "PreFilter"
AWAITED_POINTS: Final = ("PostFilter", "PreBind", "Bind")
"""Who waits there holds up nobody else."""


class PluginMetrics:
    """A `PluginObserver`. What one sampled attempt shows stands for as many as there are to a sample.

    Except for the durations of plugins, of which kube-scheduler shows the sample as it is.
    """

    def __init__(self, metrics: SchedulerMetrics, budget: TimeBudget) -> None:
        self._metrics = metrics
        self._budget = budget
        metrics.plugin_seconds_per_pod.read_from(lambda: {(name,): mean for name, mean in budget.means().items()})

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        series = self._metrics.framework_extension_point_duration.labels(point, status, profile)
        series.observe(seconds, ATTEMPTS_PER_SAMPLE)
        if point == FIRST_POINT:
            self._budget.next_pod()

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        self._metrics.plugin_execution_duration.observe(seconds, plugin, point, status)
        if point not in AWAITED_POINTS:
            self._budget.took(plugin, seconds)

    def evaluated(self, plugins: Iterable[str], point: str, profile: str) -> None:
        for plugin in plugins:
            self._metrics.plugin_evaluation.add(ATTEMPTS_PER_SAMPLE, plugin, point, profile)

    def permit_wait(self, result: str, seconds: float) -> None:
        self._metrics.permit_wait_duration.observe(seconds, result)


class PodGroupMetrics:
    """A `PodGroupObserver`."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics

    def algorithm_ran(self, seconds: float) -> None:
        self._metrics.podgroup_scheduling_algorithm_duration.observe(seconds)

    def attempted(self, profile: str, result: str, seconds: float) -> None:
        self._metrics.podgroup_schedule_attempts.inc(result, profile)
        self._metrics.podgroup_scheduling_attempt_duration.observe(seconds, result, profile)


class PreemptionMetrics:
    """A `PreemptionObserver`."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics

    def attempted(self) -> None:
        self._metrics.preemption_attempts.inc()

    def attempted_for_group(self, result: str) -> None:
        self._metrics.workload_preemption_attempts.inc(result)

    def evaluated(self, preemptor: str, result: str, seconds: float) -> None:
        self._metrics.preemption_evaluation_duration.observe(seconds, preemptor, result)

    def evicting(self, victims: Victims, preemptor: str) -> None:
        metrics = self._metrics
        of_kind = metrics.preemption_victims if preemptor == "pod" else metrics.workload_preemption_victims
        of_kind.observe(len(victims.pods))
        if victims.group_disruptions:
            metrics.preemption_workload_disruptions.observe(victims.group_disruptions, preemptor)
        for _ in range(victims.pdb_violations):
            metrics.preemption_pdb_violations.inc(preemptor)

    def evicted(self, preemptor: str, result: str, seconds: float, *, in_background: bool) -> None:
        self._metrics.preemption_execution_duration.observe(seconds, preemptor, result)
        if in_background:
            self._metrics.preemption_goroutines_duration.observe(seconds, result)
            self._metrics.preemption_goroutines_execution.inc(result)


class CallMetrics:
    """A `CallObserver`. Durations are noted, and counted when metrics are read or enough have come together."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics
        self._noted: Noted[tuple[tuple[str, str], float]] = Noted(self._count)
        metrics.before_reading(self._noted.count)

    def call_finished(self, call_type: str, *, succeeded: bool, seconds: float) -> None:
        self._noted.add(((call_type, "success" if succeeded else "error"), seconds))

    def read_waiting(self, read: Callable[[], Mapping[str, int]]) -> None:
        self._metrics.pending_async_api_calls.read_from(lambda: {(name,): count for name, count in read().items()})

    def _count(self, noted: Sequence[tuple[tuple[str, str], float]]) -> None:
        durations: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for labels, seconds in noted:
            durations[labels].append(seconds)
        for labels, values in durations.items():
            self._metrics.async_api_call_execution.add(len(values), *labels)
            self._metrics.async_api_call_execution_duration.labels(*labels).observe_all(values)


class VolumeMetrics:
    """A `VolumeObserver`."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics

    def stage_failed(self, operation: str) -> None:
        self._metrics.volume_scheduling_stage_error.inc(operation)


class DeviceMetrics:
    """A `DeviceObserver`."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics

    def claim_created(self, result: str) -> None:
        self._metrics.resourceclaim_creates.inc(result)

    def awaited(self, profile: str, driver: str, result: str, seconds: float, *, has_conditions: bool) -> None:
        self._metrics.dra_bindingconditions_wait_duration.observe(seconds, profile, driver, result)
        if has_conditions:
            self._metrics.dra_bindingconditions_allocations.inc(profile, driver, result)


def show_state(metrics: SchedulerMetrics, assembled: Assembled) -> None:
    """Numbers that are read off the scheduler's state whenever somebody scrapes."""
    queue, cache, scheduler = assembled.queue, assembled.cache, assembled.scheduler
    metrics.pending_pods.read_from(lambda: {(place.value,): count for place, count in queue.counts().items()})
    metrics.inflight_events.read_from(lambda: {(label,): n for label, n in queue.in_flight_counts().items()})
    metrics.goroutines.read_from(lambda: {("binding",): len(scheduler.tasks)})
    evaluators = assembled.evaluators.values()
    metrics.evaluation_reuse.read_from(
        lambda: {
            ("hit",): sum(evaluator.hits for evaluator in evaluators),
            ("miss",): sum(evaluator.misses for evaluator in evaluators),
        }
    )
    metrics.evaluated_rows.read_from(lambda: {(): sum(evaluator.rows_asked for evaluator in evaluators)})
    metrics.cache_size.read_from(
        lambda: {
            ("nodes",): cache.cluster.nodes.node_count,
            ("pods",): cache.pod_count,
            ("assumed_pods",): cache.assumed_count,
        }
    )
