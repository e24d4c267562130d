"""What would make a pod fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched import Simulation
from kubesched.framework import CycleState, FilterPlugin, NodeInfo, PodChange, Status
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod

NODES = """
apiVersion: v1
kind: Node
metadata: {name: ssd, labels: {disk: ssd, kubernetes.io/hostname: ssd}}
spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}
status: {allocatable: {cpu: "4", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: plain, labels: {kubernetes.io/hostname: plain}}
status: {allocatable: {cpu: "4", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: away}
spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]}
status: {allocatable: {cpu: "64", memory: 64Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: there, labels: {app: web}}
spec:
  nodeName: plain
  containers: [{name: c, ports: [{hostPort: 80}], resources: {requests: {cpu: 500m}}}]
"""
NOT_BESIDE_WEB = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}
ON_NVME = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["nvme"]}]}


def asking(**requests: str) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            asking(cpu="8"), {("requested at most 3500m CPU (now 8)",): ("plain",)}, id="less of what is too much"
        ),
        pytest.param(
            asking(cpu="8", memory="8Gi"),
            {("requested at most 3500m CPU (now 8)", "requested at most 4Gi memory (now 8Gi)"): ("plain",)},
            id="two changes where none is enough",
        ),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}},
            {("tolerated gpu=yes:NoSchedule",): ("ssd",), ("had no node selector",): ("plain",)},
            id="a choice",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ON_NVME]}}
                }
            },
            {("had no required node affinity",): ("plain",)},
            id="node affinity",
        ),
        pytest.param(
            {"affinity": NOT_BESIDE_WEB},
            {("tolerated gpu=yes:NoSchedule",): ("ssd",), ("had no required pod anti-affinity",): ("plain",)},
            id="pod anti-affinity",
        ),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]},
            {("tolerated gpu=yes:NoSchedule",): ("ssd",), ("had no host ports",): ("plain",)},
            id="host ports",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
                ]
            },
            {("were not spread over rack",): ("plain",)},
            id="topology spread",
        ),
        pytest.param(
            {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "nosuch"}}]},
            {("had no volume data",): ("plain",)},
            id="a claim that is not there",
        ),
        pytest.param({"nodeSelector": {"disk": "nvme"}, **asking(cpu="99", memory="99Gi")}, {}, id="too far away"),
    ],
)
def test_small_changes_that_help(spec: dict[str, Any], expected: dict[tuple[str, ...], tuple[str, ...]]) -> None:
    """The fewest that do, each with the nodes that would take the pod; a node's bad state is not the pod's business."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {**asking(), **spec}}
    with Simulation() as simulation:
        simulation.load(NODES)
        simulation.load(str(pod))
        explanation = simulation.explain("default/pod")
        assert {remedy.changes: remedy.nodes for remedy in explanation.remedies} == expected
        assert simulation.placements() == {"default/there": "plain", "default/pod": None}


def test_a_pod_that_fits_needs_none() -> None:
    """Nothing is sought for it."""
    with Simulation() as simulation:
        simulation.load(NODES)
        assert simulation.explain("default/there").remedies == ()


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Humble}]}}}]
"""


class Humble(FilterPlugin):
    """Rejects pods with a priority, and says what would help."""

    name = "Humble"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable("the pod is too important") if pod.spec.priority else None

    def pod_changes(self, pod: Pod) -> Sequence[PodChange]:
        return (PodChange("had no priority", lambda spec: replace(spec, priority=0)),)


class Broken(Humble):
    name = "Humble"

    def pod_changes(self, pod: Pod) -> Sequence[PodChange]:
        raise ValueError("no idea")


class Misguided(Humble):
    name = "Humble"

    def pod_changes(self, pod: Pod) -> Sequence[PodChange]:
        return (PodChange("had a field of its own", lambda spec: replace(spec, nosuch=1)),)


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param(Humble, [("had no priority",)], id="a proposal that helps"),
        pytest.param(Broken, [], id="a plugin that fails to propose"),
        pytest.param(Misguided, [], id="a proposal that cannot be made"),
    ],
)
def test_a_plugin_of_ones_own_may_say_what_would_help(
    plugin: type[FilterPlugin], expected: list[tuple[str, ...]]
) -> None:
    """Its proposals are tried like those of in-tree plugins; without them the explanation stands all the same."""
    with Simulation(CONFIG, plugins={"Humble": plugin}) as simulation:
        simulation.add(make_node("n"), make_pod("p", priority=5))
        simulation.schedule()
        explanation = simulation.explain("default/p")
    assert explanation.fit_error.startswith("0/1 nodes are available: 1 the pod is too important.")
    assert [remedy.changes for remedy in explanation.remedies] == expected
