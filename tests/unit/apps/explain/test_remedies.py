"""What would make a pod fit."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched import Simulation

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
            asking(cpu="8"), {("asked for 3500m cpu or less, not 8",): ("plain",)}, id="less of what is too much"
        ),
        pytest.param(
            asking(cpu="8", memory="8Gi"),
            {("asked for 3500m cpu or less, not 8", "asked for 4Gi memory or less, not 8Gi"): ("plain",)},
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
