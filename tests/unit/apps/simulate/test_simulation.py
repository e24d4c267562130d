"""The library's front door, as its users use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubesched.apps.explain.text import as_data
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import ConfigurationError, InvalidObjectError, KubeschedError
from kubesched.objects import Node, Pod, convert
from kubesched.scheduler.columns import Integers, NodeView, PodTemplate
from kubesched.scheduler.framework import (
    WAIT,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    NodeInfo,
    PermitPlugin,
    ScorePlugin,
    Status,
)
from kubesched.testing import make_node, make_pod, make_pod_group


class PreferGreen(ScorePlugin):
    """Per node."""

    name = "PreferGreen"

    def __init__(self, args: Any, handle: Any) -> None: ...

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.labels.get("colour") == "green" else 0


class PreferGreenFast(PreferGreen):
    """The same, over all rows at once and kept."""

    depends_on = DependsOn.NODE

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return np.where(nodes.domains("colour") == nodes.label("colour").id_of("green"), 100, 0)


class OnePerNode(FilterPlugin):
    name = "OnePerNode"

    def __init__(self, args: Any, handle: Any) -> None: ...

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable(f"{len(node.pods)} pod(s) already") if node.pods else None


class Patience(PermitPlugin):
    """Every pod waits a minute, and is then rejected."""

    name = "Patience"

    def __init__(self, args: Any, handle: Any) -> None: ...

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return WAIT, 60.0

    def events_to_register(self) -> Sequence[EventHint]:
        return ()


def with_plugin(name: str) -> str:
    return f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {{multiPoint: {{enabled: [{{name: {name}, weight: 50}}]}}}}
"""


def test_objects_in_placements_out() -> None:
    """Pods that fit nowhere have no node, and their user reads why."""
    with Simulation() as simulation:
        simulation.add(make_node("n1", cpu="2"), make_pod("web", cpu="500m"), make_pod("huge", cpu="64"))
        assert simulation.schedule() == {"default/web": "n1", "default/huge": None}
        assert ("default/web", "Scheduled", "Successfully assigned default/web to n1") in simulation.events
        assert any(pod == "default/huge" and "1 Insufficient cpu" in note for pod, reason, note in simulation.events)


def test_manifests_are_completed_as_an_api_server_does(tmp_path: Path) -> None:
    """From a text or from a file: namespace, scheduler's name, uid, requests for limits."""
    text = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, resourceVersion: "7"}
spec: {containers: [{name: c, resources: {limits: {cpu: "1"}}}]}
"""
    (tmp_path / "more.yaml").write_text(text.replace("n1", "n2").replace("web", "db"))
    with Simulation() as simulation:
        simulation.load(text)
        simulation.load(tmp_path / "more.yaml")
        assert sorted(filter(None, simulation.schedule().values())) == ["n1", "n2"]


@pytest.mark.parametrize("plugin", [PreferGreen, PreferGreenFast])
def test_plugins_of_your_own_in_both_forms(plugin: type[PreferGreen]) -> None:
    """Per node, and over rows: the same placements."""
    with Simulation(with_plugin("PreferGreen"), plugins={"PreferGreen": plugin}) as simulation:
        simulation.add(*(make_node(f"n{k}", labels={"colour": "green"} if k == 3 else {}) for k in range(5)))
        simulation.add(*(make_pod(f"p{k}", cpu="100m") for k in range(4)))
        assert set(simulation.schedule().values()) == {"n3"}


def test_room_that_is_made_is_used() -> None:
    """A pod that was removed leaves its room to one that waits; by name, whatever the object in hand says."""
    with Simulation(with_plugin("OnePerNode"), plugins={"OnePerNode": OnePerNode}) as simulation:
        simulation.add(make_node("n1"), make_pod("first"))
        simulation.schedule()
        simulation.add(make_pod("second"))
        assert simulation.schedule()["default/second"] is None
        simulation.remove(convert({"metadata": {"name": "first"}}, Pod))
        assert simulation.advance(10) == {"default/second": "n1"}
        with pytest.raises(InvalidObjectError, match="Pod default/first: there is no such object"):
            simulation.remove(make_pod("first"))
        simulation.remove(convert({"metadata": {"name": "n1"}}, Node))
        simulation.add(make_pod("third"))
        assert simulation.schedule()["default/third"] is None


def test_an_object_that_is_added_again_is_changed() -> None:
    """Also if it claims to be of the same version."""
    with Simulation() as simulation:
        pod = {"metadata": {"name": "web", "resourceVersion": "7"}, "spec": {"nodeSelector": {"disk": "ssd"}}}
        simulation.add(make_node("n1"), convert(pod, Pod))
        assert simulation.schedule() == {"default/web": None}
        simulation.add(make_node("n1", labels={"disk": "ssd"}))
        assert simulation.advance(10) == {"default/web": "n1"}
    with Simulation() as simulation:
        pod = {"metadata": {"name": "web", "resourceVersion": "7"}, "spec": {"schedulingGates": [{"name": "g"}]}}
        simulation.add(make_node("n1"), convert(pod, Pod))
        assert simulation.schedule() == {"default/web": None}
        simulation.add(convert({"metadata": pod["metadata"]}, Pod))
        assert simulation.schedule() == {"default/web": "n1"}


def test_a_pod_that_waits_on_permit_does_not_stop_the_world() -> None:
    """Time that passes decides it."""
    with Simulation(with_plugin("Patience"), plugins={"Patience": Patience}) as simulation:
        simulation.add(make_node("n1"), make_pod("web"))
        assert simulation.schedule() == {"default/web": None}
        assert simulation.events == []
        simulation.advance(61)
        assert "rejected due to timeout after waiting 1m0s at plugin Patience" in simulation.events[0][2]


def test_finished_pods_take_no_room() -> None:
    """A dump of a cluster has them, too."""
    with Simulation() as simulation:
        simulation.add(make_node("n1", cpu="1"), make_pod("done", cpu="1", node="n1", phase="Succeeded"))
        simulation.add(make_pod("web", cpu="1"))
        assert simulation.schedule()["default/web"] == "n1"


def test_preemption_makes_room() -> None:
    """A pod of higher priority takes the place of a lower one."""
    with Simulation() as simulation:
        simulation.add(make_node("n1", cpu="1"), make_pod("low", cpu="1"))
        simulation.schedule()
        simulation.add(make_pod("high", cpu="1", priority=10))
        simulation.schedule()
        assert simulation.advance(10) == {"default/high": "n1"}


def test_the_same_seed_gives_the_same_placements() -> None:
    """And another seed others, where there is a choice."""

    def placements(seed: int) -> dict[str, str | None]:
        with Simulation(seed=seed) as simulation:
            simulation.add(*(make_node(f"n{k}") for k in range(20)), *(make_pod(f"p{k}") for k in range(10)))
            return simulation.schedule()

    assert placements(1) == placements(1) != placements(2)


@pytest.mark.parametrize(("members", "placed"), [(1, 0), (2, 2)], ids=["half a gang waits", "a whole gang is placed"])
def test_feature_gates(members: int, placed: int) -> None:
    """What is off by default can be tried."""
    with Simulation(feature_gates="GenericWorkload=true") as simulation:
        simulation.add(make_node("a"), make_pod_group("gang", min_count=2))
        simulation.add(*(make_pod(f"p{number}", group="gang") for number in range(members)))
        assert sum(node == "a" for node in simulation.schedule().values()) == placed
    with pytest.raises(ConfigurationError, match="unrecognized feature gate: Nope"):
        Simulation(feature_gates="Nope=true")


def test_explanations_follow_the_pod() -> None:
    """As data and as text; for pods that are there and for pods that are not."""
    with Simulation() as simulation:
        simulation.add(make_node("n1", cpu="1"), make_node("n2", cpu="4", unschedulable=True), make_pod("web", cpu="2"))
        explained = simulation.explain("default/web")
        assert explained.best_nodes == ()
        assert {name: status.plugin for name, status in explained.filters.items()} == {
            "n1": "NodeResourcesFit",
            "n2": "NodeUnschedulable",
        }
        text = simulation.why("web")
        assert text.startswith("default/web fits nowhere: 0/2 nodes are available: 1 Insufficient cpu,")
        assert "  n1: no, Insufficient cpu (NodeResourcesFit)" in text.splitlines()
        assert simulation.why(make_pod("tiny", cpu="100m")).startswith("default/tiny would go to n1")
        assert "waits outside the queue" in simulation.why(make_pod("gated", gates=["g"]))
        assert simulation.placements() == {"default/web": None}
        with pytest.raises(InvalidObjectError, match="no such pod"):
            simulation.explain("nobody")
        with pytest.raises(ConfigurationError, match="profile not found"):
            simulation.explain(make_pod(scheduler="another"))
    with Simulation() as empty:
        assert "no nodes available to schedule pods" in empty.why(make_pod())


def test_pods_that_are_over_are_not_decided() -> None:
    """No scheduler looks at them."""
    with Simulation() as simulation:
        simulation.add(make_node("n"), make_pod("going", deleting=True), make_pod("done", phase="Failed"))
        assert simulation.schedule() == {"default/going": None}
        assert simulation.why("going") == "default/going cannot be decided: it is being deleted"
        assert simulation.why(make_pod("done", phase="Failed")).endswith("cannot be decided: it has ended (Failed)")
        with pytest.raises(InvalidObjectError, match="there is no such pod, or it has ended"):
            simulation.why("done")


class Fickle(PermitPlugin):
    """Lets a pod wait, and rejects it at once; any event may wake it, even that of its own status."""

    name = "Fickle"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._handle = handle

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        self._handle.start_task(self._reject(pod))
        return WAIT, 60.0

    async def _reject(self, pod: Pod) -> None:
        waiting = self._handle.waiting_pod(pod.metadata.uid)
        assert waiting is not None
        waiting.reject(self.name, "on second thoughts, no")


def test_scheduling_that_never_comes_to_rest_is_told() -> None:
    """Rather than waited for without end."""
    with Simulation(with_plugin("Fickle"), plugins={"Fickle": Fickle}) as simulation:
        simulation.add(make_node("n"), make_pod("p"))
        with pytest.raises(KubeschedError, match="does not come to rest: default/p is tried again and again"):
            simulation.schedule()


def test_an_explanation_says_where_the_pod_is() -> None:
    """Which may be elsewhere than where it would go, or on a node that is gone."""
    with Simulation() as simulation:
        simulation.add(make_node("n"), make_pod("lost", node="ghost"))
        assert simulation.why("lost").startswith("default/lost is on ghost; if scheduled now, it would go to n\n")
        assert as_data(simulation.explain("lost"))["node"] == "ghost"


async def test_inside_a_running_loop() -> None:
    """As in the cells of a notebook, where no second loop can run."""
    with Simulation() as simulation:
        simulation.add(make_node("n", cpu="1"), make_pod("p", cpu="500m"))
        assert simulation.schedule() == {"default/p": "n"}
        simulation.advance(5)
        assert simulation.why("default/p").startswith("default/p is on n; if scheduled now, it would go to n\n")


def test_an_explanation_of_many_nodes_is_short() -> None:
    """Reasons are summed up, and of the nodes that fit the best are shown."""
    with Simulation() as simulation:
        simulation.add(*(make_node(f"n{number}", cpu="4") for number in range(30)))
        simulation.add(*(make_node(f"small-{number}", cpu="1") for number in range(40)), make_pod("p", cpu="2"))
        lines = simulation.why("default/p").splitlines()
        assert lines[0] == "default/p would go to one of n0, n1, n10, n11, n12 and 25 more"
        assert lines[-2] == "  and 10 nodes more, none of them better"
        assert lines[-1] == (
            "  small-0, small-1, small-10, small-11, small-12 and 35 more: no, Insufficient cpu (NodeResourcesFit)"
        )
        assert len(lines) == 23
