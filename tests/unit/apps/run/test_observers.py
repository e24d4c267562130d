"""What is told to observers shows in the metrics."""

from __future__ import annotations

from random import Random

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from kubesched.apps.run.observers import (
    AttemptMetrics,
    PluginMetrics,
    PodGroupMetrics,
    PreemptionMetrics,
    QueueMetrics,
    VolumeMetrics,
    show_state,
)
from kubesched.apps.run.plugin_budgets import TimeBudget
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.telemetry.metrics import SchedulerMetrics
from kubesched.testing import make_node, make_pod


class Silence:
    def event(self, *args: object, **kwargs: object) -> None: ...


class Scene:
    """A scheduler over memory, watched by metrics."""

    def __init__(self) -> None:
        self.clock, gates, api = VirtualClock(), FeatureGates(), MemoryApi()
        self.registry = CollectorRegistry()
        self.metrics = metrics = SchedulerMetrics(self.registry)
        dependencies = Dependencies(
            api=api,
            recorder=Silence(),
            clock=self.clock,
            random=Random(1),
            attempt_observer=AttemptMetrics(metrics, self.clock),
            queue_observer=QueueMetrics(metrics),
            plugin_observer=PluginMetrics(metrics, TimeBudget(VirtualClock(), 0.0, tuple)),
            preemption_observer=PreemptionMetrics(metrics),
            volume_observer=VolumeMetrics(metrics),
            pod_group_observer=PodGroupMetrics(metrics),
        )
        self.assembled: Assembled = build_scheduler(default_config(gates), gates, dependencies)
        api.connect(self.assembled.objects, self.assembled.handlers)
        show_state(metrics, self.assembled)

    def page(self) -> str:
        return generate_latest(self.registry).decode()


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_attempts_and_queues_are_counted(scene: Scene) -> None:
    """One pod is placed at its first attempt, another one waits because of a plugin."""
    for obj in (make_node("n1", cpu="2"), make_pod("fits", cpu="1"), make_pod("large", cpu="9")):
        scene.assembled.handlers.add(obj)
    await scene.assembled.scheduler.schedule_pending()
    profile = 'profile="default-scheduler"'
    page = scene.page()
    for line in (
        f'scheduler_schedule_attempts_total{{{profile},result="scheduled"}} 1.0',
        f'scheduler_schedule_attempts_total{{{profile},result="unschedulable"}} 1.0',
        f'scheduler_scheduling_attempt_duration_seconds_count{{{profile},result="scheduled"}} 1.0',
        "scheduler_pod_scheduling_attempts_count 1.0",
        'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 1.0',
        "scheduler_scheduling_algorithm_duration_seconds_count 2.0",
        'scheduler_pending_pods{queue="unschedulable"} 1.0',
        'scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"} 2.0',
        f'scheduler_unschedulable_pods{{plugin="NodeResourcesFit",{profile}}} 1.0',
        "scheduler_preemption_attempts_total 1.0",
        'scheduler_cache_size{type="nodes"} 1.0',
        'scheduler_cache_size{type="pods"} 1.0',
        'scheduler_cache_size{type="assumed_pods"} 0.0',
        'kubesched_evaluation_reuse_total{result="miss"} 2.0',
    ):
        assert line in page.splitlines()


async def test_one_attempt_in_ten_is_timed(scene: Scene) -> None:
    """Its plugins show; what it says about extension points and evaluations stands for ten."""
    scene.assembled.handlers.add(make_node("n1", cpu="32"))
    scene.assembled.handlers.add(make_node("n2", cpu="32"))
    for number in range(20):
        scene.assembled.handlers.add(make_pod(f"p{number}", cpu="100m"))
    await scene.assembled.scheduler.schedule_pending()
    points = scene.metrics.framework_extension_point_duration
    for point in ("PreFilter", "Filter", "Score", "Reserve", "Permit", "Bind"):
        assert points.count(point, "Success", "default-scheduler") == 20, point
    assert scene.metrics.plugin_execution_duration.count("DefaultBinder", "Bind", "Success") == 2
    assert scene.metrics.plugin_evaluation.value("NodeResourcesFit", "Filter", "default-scheduler") == 20
    assert scene.metrics.plugin_evaluation.value("NodePorts", "Filter", "default-scheduler") == 0


@pytest.mark.parametrize(
    ("attempts", "label"),
    [
        pytest.param(3, "3", id="few attempts have their own label"),
        pytest.param(15, "15+", id="many attempts share one"),
        pytest.param(400, "15+", id="very many, too"),
    ],
)
def test_the_attempts_label_is_bounded(scene: Scene, attempts: int, label: str) -> None:
    """Else a pod that never fits would make a new series every time."""
    info = scene.assembled.cache.cluster.templates.info(make_pod("p"))
    scene.assembled.queue.add(info)
    queued = scene.assembled.queue.try_pop()
    assert queued is not None
    queued.attempts = attempts
    AttemptMetrics(scene.metrics, scene.clock).scheduled("default-scheduler", queued, 0.1)
    assert scene.metrics.pod_scheduling_sli_duration.count(label) == 1
