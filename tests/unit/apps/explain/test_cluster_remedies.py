"""What would help a pod besides changes of what it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.explain.text import NOTHING_HELPS
from kubesched.testing import make_node, make_pod, make_pvc

SELF_APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


CASES = [
    pytest.param(
        [make_node("a", unschedulable=True), make_node("b", cpu="1")],
        make_pod("p", cpu="2"),
        ["uncordon a", "add a node like a"],
        id="a cordoned node",
    ),
    pytest.param(
        [make_node("a", cpu="1"), make_node("b"), make_pod("full", cpu="4", node="b", priority=7)],
        make_pod("p", cpu="2", priority=5),
        ["add a node like b", "give it a priority above 7: it would preempt default/full on b"],
        id="the smallest node that there is would not do; a higher priority would",
    ),
    pytest.param(
        [make_node("a"), make_pod("low", cpu="4", node="a"), make_pod("high", cpu="0", node="a", priority=9)],
        make_pod("p", cpu="2", priority=5, preemption_policy="Never"),
        ["add a node like a", "give it preemptionPolicy PreemptLowerPriority: it would preempt default/low on a"],
        id="it may not preempt",
    ),
    pytest.param(
        [
            make_node("a"),
            *(make_pod(f"p{level}", cpu="1", node="a", priority=level) for level in (1, 3, 5, 7)),
        ],
        make_pod("p", cpu="3"),
        ["add a node like a", "give it a priority above 5: it would preempt default/p5, default/p3, default/p1 on a"],
        id="the lowest priority that is enough",
    ),
    pytest.param(
        [make_node("a"), make_pod("web", cpu="1", node="a", labels={"app": "web"})],
        make_pod("p", cpu="1", labels={"app": "web"}, affinity=SELF_APART),
        ["add a node like a", "give it a priority above 0: it would preempt default/web on a"],
        id="one per node",
    ),
    pytest.param(
        [make_node("a")],
        make_pod("p", cpu="1", claims=["data"]),
        ["create the PersistentVolumeClaim default/data: it does not exist"],
        id="a missing claim",
    ),
    pytest.param([], make_pod("p"), ["add a node: there is none"], id="no nodes"),
    pytest.param(
        [make_node("a", taints=["node.kubernetes.io/not-ready:NoSchedule"])],
        make_pod("p"),
        ["get a well again: it is not-ready", "add a node like a"],
        id="a node that is not ready",
    ),
    pytest.param(
        [make_node("a")],
        make_pod("p", node_selector={"disk": "ssd"}),
        ["label node a disk=ssd"],
        id="a label that no node has",
    ),
    pytest.param(
        [make_node("a"), make_pvc("data", storage_class="nope")],
        make_pod("p", claims=["data"]),
        ["create the StorageClass nope, which the PersistentVolumeClaim default/data names: it does not exist"],
        id="a missing storage class",
    ),
    pytest.param(
        [make_node("a"), make_pvc("data", volume="gone")],
        make_pod("p", claims=["data"]),
        ["restore the PersistentVolume gone, which the claim default/data is bound to: it does not exist"],
        id="a missing volume",
    ),
    pytest.param(
        [make_node("a")],
        make_pod("p", gates=["example.com/quota"]),
        [
            "remove its scheduling gate example.com/quota, as whoever set it does when the pod may be scheduled",
        ],
        id="a scheduling gate",
    ),
    pytest.param([make_node("a", cpu="1")], make_pod("p", cpu="2"), [], id="a node like those would not do"),
]


@pytest.mark.parametrize(("there", "pod", "expected"), CASES)
def test_what_would_help(there: list[Any], pod: Any, expected: list[str]) -> None:
    """Each was tried; and the cluster is as it was."""
    with Simulation() as simulation:
        simulation.add(*there)
        before = simulation.explain(pod, seek_remedies=False)
        assert [remedy.says for remedy in simulation.explain(pod).cluster_remedies] == expected
        assert simulation.explain(pod, seek_remedies=False) == before


@pytest.mark.parametrize(("there", "pod", "expected"), CASES)
def test_what_would_help_a_pod_of_the_cluster(there: list[Any], pod: Any, expected: list[str]) -> None:
    """The same as for one that is only asked about."""
    with Simulation() as simulation:
        simulation.add(*there, pod)
        found = simulation.explain(f"{pod.metadata.namespace}/{pod.metadata.name}")
        assert [remedy.says for remedy in found.cluster_remedies] == expected


def test_pods_that_every_node_has_take_room_on_a_new_one() -> None:
    """With the DaemonSet's pod on it, a fresh node has not enough left."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    with Simulation() as simulation:
        simulation.add(make_node("a"))
        agent = make_pod("agent", cpu="1", node="a", owner=owner, priority=2_000_001_000)
        simulation.add(agent)
        assert simulation.explain(make_pod("p", cpu="4")).cluster_remedies == []


def test_replicas_do_not_make_room_for_each_other() -> None:
    """If one preempted the other, that one would wait instead."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    with Simulation() as simulation:
        simulation.add(make_node("a"), make_pod("one", cpu="3", node="a", owner=owner))
        remedies = simulation.explain(make_pod("two", cpu="3", owner=owner)).cluster_remedies
        assert [remedy.says for remedy in remedies] == ["add a node like a"]


def test_that_nothing_helps_is_said() -> None:
    """A pod that wants what no node could have, in two ways more than can be changed at once."""
    with Simulation() as simulation:
        simulation.add(make_node("a"))
        pod = make_pod("p", cpu="99", memory="9999Gi", node_selector={"disk": "nvme"})
        simulation.add(pod)
        simulation.schedule()
        assert simulation.why("default/p").splitlines()[-1] == f"  {NOTHING_HELPS}"
