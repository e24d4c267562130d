"""What becomes of everything that an informer delivers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched.objects import Namespace, Node, Pod, Service, StorageClass, convert
from kubesched.objects.meta import ObjectMeta
from kubesched.scheduler.framework import Action, Resource
from kubesched.scheduler.scheduling.event_handlers import EVENT_RESOURCES
from kubesched.scheduler.scheduling.node_events import node_events
from kubesched.testing import make_namespace, make_node, make_pod


class Seen:
    """The events that reach the queue, by label."""

    def __init__(self, bench: Any) -> None:
        self.labels: list[str] = []
        move_all = bench.queue.move_all

        def record(event: Any, *args: Any, **more: Any) -> None:
            self.labels.append(event.label)
            move_all(event, *args, **more)

        bench.queue.move_all = record

    def take(self) -> list[str]:
        labels, self.labels = self.labels, []
        return labels


# ---- pods ----------------------------------------------------------------------------------------------------------


async def test_the_way_of_a_pod(new_bench: Any) -> None:
    """Pending: in the queue. Bound: in the cache. Deleted: nowhere."""
    bench = new_bench()
    seen = Seen(bench)
    pending, bound = make_pod("web", cpu="1"), make_pod("web", cpu="1", node="n1")
    bench.handlers.add(pending)
    assert (bench.places(), seen.take()) == ({"web": "active"}, [])
    bench.handlers.update(pending, bound)
    assert (bench.places(), seen.take()) == ({"web": "n1"}, ["AssignedPodAdd"])
    relabelled = replace(bound, metadata=replace(bound.metadata, labels={"a": "b"}))
    bench.handlers.update(bound, relabelled)
    assert seen.take() == ["AssignedPodUpdatePodLabel"]
    bench.handlers.delete(relabelled)
    assert (bench.places(), seen.take()) == ({}, ["AssignedPodDelete"])
    assert bench.cache.pod_count == 0


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_pods_that_have_ended_do_not_count(new_bench: Any, phase: str) -> None:
    """Whether they were so from the start or became so."""
    bench = new_bench()
    seen = Seen(bench)
    bench.handlers.add(make_pod("old", node="n1", phase=phase))
    assert bench.cache.pod_count == 0
    running, ended = make_pod("job", node="n1"), make_pod("job", node="n1", phase=phase)
    bench.handlers.add(running)
    seen.take()
    bench.handlers.update(running, ended)
    assert seen.take() == ["AssignedPodDelete"]
    assert bench.cache.pod_count == 0
    bench.handlers.delete(ended)
    assert bench.cache.pod_count == 0


async def test_a_pod_of_another_scheduler_counts_where_it_runs(new_bench: Any) -> None:
    """But is not queued."""
    bench = new_bench()
    bench.handlers.add(make_pod("theirs", scheduler="theirs"))
    assert bench.places() == {"theirs": ""}
    bench.handlers.update(make_pod("theirs", scheduler="theirs"), make_pod("theirs", scheduler="theirs", node="n1"))
    assert bench.cache.pod_count == 1
    bench.handlers.delete(make_pod("theirs", scheduler="theirs", node="n1"))
    assert bench.cache.pod_count == 0


async def test_a_pod_made_anew_under_its_name(new_bench: Any) -> None:
    """Its old self goes wherever it was."""
    bench = new_bench()
    old = make_pod("web", uid="1", node="n1")
    bench.handlers.add(old)
    bench.handlers.update(old, make_pod("web", uid="2"))
    assert bench.places() == {"web": "active"}
    assert bench.cache.pod_count == 0


@pytest.mark.parametrize(("versions", "requeued"), [(("1", "1"), False), (("1", "2"), True), (("", ""), True)])
async def test_an_update_that_changes_nothing_is_no_update(
    new_bench: Any, versions: tuple[str, str], requeued: bool
) -> None:
    """Equal resource versions: the same object once more."""
    bench = new_bench()
    old, new = (
        replace(pod, metadata=replace(pod.metadata, resource_version=version))
        for pod, version in zip((make_pod("web"), make_pod("web", labels={"new": "yes"})), versions, strict=True)
    )
    bench.handlers.add(old)
    bench.handlers.update(old, new)
    [(_, queued)] = bench.queue.waiting()
    assert bool(queued.info.pod.metadata.labels) is requeued


async def test_the_end_of_a_nomination_wakes_those_that_had_to_yield(new_bench: Any) -> None:
    """Not those of higher priority: they never yielded."""
    bench = new_bench()
    claim = make_pod("claim", cpu="1", priority=5, nominated_node="n1", gates=["wait"])
    bench.add(make_node("n1", cpu="1"), claim)
    bench.queue.nominator.add(bench.cache.cluster.templates.info(claim), None)
    bench.add(make_pod("low", cpu="1", preemption_policy="Never"), make_pod("high", cpu="2", priority=9))
    await bench.schedule()
    assert bench.places() == {"claim": "gated", "low": "unschedulable", "high": "unschedulable"}
    bench.handlers.delete(claim)
    await bench.schedule()
    assert bench.places() == {"low": "n1", "high": "unschedulable"}


async def test_a_bad_event_is_logged_and_the_next_one_handled(new_bench: Any, capsys: Any) -> None:
    """An update or a deletion of what was never there, a node that is added twice or too large for any number."""
    bench = new_bench()
    ghost = make_pod("ghost", node="n1")
    bench.handlers.update(ghost, ghost)
    bench.handlers.delete(make_node("ghost"))
    bench.handlers.delete(ghost)
    bench.handlers.add(make_node("huge", cpu="1e30", memory="1e30"))
    bench.handlers.add(make_pod("web", node="n1"))
    bench.handlers.add(make_pod("web", node="n2"))
    assert bench.cache.node_of(make_pod("web").metadata.uid) == "n1"
    logged = capsys.readouterr().err
    assert "Pod event could not be handled" in logged
    assert "Node event could not be handled" in logged


# ---- nodes ---------------------------------------------------------------------------------------------------------


async def test_what_no_plugin_registered_is_not_kept_for_pods_in_flight(new_bench: Any) -> None:
    """Plugins that only score or bind reject nobody: their silence does not stand for all events."""
    bench = new_bench()
    old, new = make_node("n1"), make_node("n1", annotations={"note": "changed"})
    bench.add(old, make_pod("web"))
    assert bench.queue.try_pop() is not None
    bench.handlers.update(old, new)
    assert bench.queue.in_flight_counts() == {"PodPopped": 1}
    bench.handlers.update(new, make_node("n1", annotations={"note": "changed"}, labels={"disk": "ssd"}))
    assert bench.queue.in_flight_counts() == {"PodPopped": 1, "NodeUpdateNodeLabel": 1}


async def test_the_way_of_a_node(new_bench: Any) -> None:
    """Each change is an event for the pods that wait."""
    bench = new_bench()
    seen = Seen(bench)
    node = make_node("n1", cpu="1")
    bench.handlers.add(node)
    bench.handlers.update(node, make_node("n1", cpu="2", labels={"a": "b"}))
    bench.handlers.delete(make_node("n1"))
    assert seen.take() == ["NodeAdd", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeDelete"]
    assert bench.cache.cluster.nodes.node_count == 0
    assert len(bench.parts.objects.of(Node)) == 0


READY = {"conditions": [{"type": "Ready", "status": "True"}]}
NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        pytest.param(make_node(), make_node(), [], id="a heartbeat"),
        pytest.param(make_node(), make_node(cpu="9"), [Action.UPDATE_NODE_ALLOCATABLE], id="allocatable"),
        pytest.param(make_node(), make_node(labels={"a": "b"}), [Action.UPDATE_NODE_LABEL], id="labels"),
        pytest.param(make_node(), make_node(taints=["a:NoSchedule"]), [Action.UPDATE_NODE_TAINT], id="taints"),
        pytest.param(make_node(unschedulable=True), make_node(), [Action.UPDATE_NODE_TAINT], id="uncordoned"),
        pytest.param(make_node(), make_node(unschedulable=True), [], id="cordoned: helps nobody"),
        pytest.param(
            make_node(status=READY), make_node(status=NOT_READY), [Action.UPDATE_NODE_CONDITION], id="conditions"
        ),
        pytest.param(make_node(), make_node(annotations={"a": "b"}), [Action.UPDATE_NODE_ANNOTATION], id="annotations"),
        pytest.param(make_node(), make_node(features=["F"]), [Action.UPDATE_NODE_DECLARED_FEATURE], id="features"),
    ],
)
def test_what_happened_to_a_node(old: Node, new: Node, actions: list[Action]) -> None:
    """As specific as can be told."""
    assert [event.action for event in node_events(old, new)] == actions


# ---- everything else -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVENT_RESOURCES, ids=lambda kind: kind.__name__)
async def test_kinds_that_plugins_wait_for(new_bench: Any, kind: type[Any]) -> None:
    """Added, changed, deleted: stored, and told to the queue."""
    bench = new_bench()
    seen = Seen(bench)
    obj = (
        convert({"metadata": {"name": "x", "namespace": "default"}}, kind)
        if kind is not StorageClass
        else (StorageClass(metadata=ObjectMeta(name="x", namespace="default")))
    )
    resource = str(EVENT_RESOURCES[kind])
    bench.handlers.add(obj)
    assert bench.parts.objects.of(kind).get("x", "default") is obj
    bench.handlers.update(obj, obj)
    bench.handlers.delete(obj)
    assert seen.take() == [f"{resource}Add", f"{resource}Update", f"{resource}Delete"]
    assert bench.parts.objects.of(kind).get("x", "default") is None


async def test_namespaces_and_services_wake_nobody(new_bench: Any) -> None:
    """But plugins read them."""
    bench = new_bench()
    seen = Seen(bench)
    namespace = make_namespace("team", labels={"team": "x"})
    service = Service(metadata=ObjectMeta(name="s", namespace="default"))
    bench.add(namespace, service)
    assert bench.cache.cluster.namespace_labels["team"]["team"] == "x"
    assert bench.parts.objects.of(Service).get("s", "default") is service
    bench.handlers.update(namespace, Namespace(metadata=ObjectMeta(name="team")))
    assert bench.cache.cluster.namespace_labels["team"] == {}
    bench.handlers.delete(namespace)
    assert "team" not in bench.cache.cluster.namespace_labels
    assert seen.take() == []
    assert Resource.POD not in EVENT_RESOURCES.values()
    assert Pod not in EVENT_RESOURCES
