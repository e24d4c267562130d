"""What informers deliver reaches the event handlers, and is timed."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.apps.run.heard import Heard

from kubesched.apps.run.informer_feed import feed_of
from kubesched.clock import VirtualClock
from kubesched.objects import Service
from kubesched.telemetry.metrics import SchedulerMetrics
from kubesched.testing import make_node, make_pod, make_service, make_storage_class


def durations_of_update(old: Any, new: Any) -> list[str]:
    durations = SchedulerMetrics(CollectorRegistry()).event_handling_duration
    heard: Any = Heard()
    feed_of(type(new), heard, VirtualClock(), durations).on_update(old, new)
    samples = [sample for sample in durations.family().samples if sample.name.endswith("_count")]
    return [sample.labels["event"] for sample in samples]


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        pytest.param(make_pod(), make_pod(node="n"), ["AssignedPodAdd"], id="a pod is bound: it comes to a node"),
        pytest.param(
            make_pod(cpu="2", labels={"a": "b"}),
            make_pod(cpu="1", labels={"a": "c"}, tolerations=[{"operator": "Exists"}]),
            [
                "UnschedulablePodUpdate",
                "UnschedulablePodUpdatePodLabel",
                "UnschedulablePodUpdatePodScaleDown",
                "UnschedulablePodUpdatePodToleration",
            ],
            id="a pod is relabelled, wants less, and tolerates more",
        ),
        pytest.param(
            make_pod(node="n"),
            make_pod(node="n", labels={"a": "b"}),
            ["AssignedPodUpdate", "AssignedPodUpdatePodLabel"],
            id="a pod on a node is relabelled",
        ),
        pytest.param(make_pod(node="n"), make_pod(node="n"), ["AssignedPodUpdate"], id="a pod reports its status"),
        pytest.param(make_node(), make_node(annotations={"a": "b"}), ["NodeUpdateNodeAnnotation"], id="a note"),
        pytest.param(
            make_node(),
            make_node(labels={"a": "b"}, taints=["a:NoSchedule"]),
            ["NodeUpdateNodeLabel", "NodeUpdateNodeTaint"],
            id="two changes at once",
        ),
        pytest.param(make_node(), make_node(), [], id="a heartbeat"),
    ],
)
def test_changes_are_timed_under_the_names_that_the_queue_hears(old: Any, new: Any, labels: list[str]) -> None:
    """As kube-scheduler names them."""
    assert durations_of_update(old, new) == labels


@pytest.mark.parametrize(
    ("obj", "labels"),
    [
        pytest.param(make_pod("p"), "UnschedulablePod", id="a pod without a node"),
        pytest.param(make_pod("p", node="n1"), "AssignedPod", id="a pod on a node"),
        pytest.param(make_storage_class("s"), "storage.k8s.io/StorageClass", id="another kind that may wake pods"),
        pytest.param(make_service("s", selector={"app": "a"}), "", id="a kind that wakes nobody is not measured"),
    ],
)
def test_the_handlers_are_told_and_timed(obj: Any, labels: str) -> None:
    """Each of the three verbs goes through, and its time is counted under the event's name."""
    heard: Any = Heard()
    durations = SchedulerMetrics(CollectorRegistry()).event_handling_duration
    feed = feed_of(type(obj), heard, VirtualClock(), durations)
    feed.on_add(obj, True)
    feed.on_update(obj, obj)
    feed.on_delete(obj, False)
    name = obj.metadata.name
    assert heard.calls == [f"+{name}", f"~{name}", f"-{name}"]
    for verb in ("Add", "Update", "Delete") if labels else ():
        assert durations.count(f"{labels}{verb}") == 1
    if type(obj) is Service:
        assert not [sample for sample in durations.family().samples if sample.name.endswith("_count")]
