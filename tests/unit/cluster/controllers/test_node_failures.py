"""What happens to pods of nodes that fail, are tainted or vanish, and what budgets say about it."""

from __future__ import annotations

from typing import Any

from kubesched.cluster.apiserver.options import DeleteOptions

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: x}}
spec: {nodeName: node-1, tolerations: [%s], containers: [{name: c, image: nginx}]}
"""
BRIEFLY = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {%s, selector: {matchLabels: {app: web}}}
"""


def taints(rig: Any, node: str) -> set[tuple[str, str]]:
    return {(item["key"], item["effect"]) for item in rig.get("nodes", node)["spec"].get("taints") or ()}


async def test_cordon_and_uncordon_become_a_taint(rig: Any) -> None:
    """The scheduler sees a cordoned node by its taint, too."""
    rig.change("nodes", "node-1", lambda value: value["spec"].update(unschedulable=True))
    await rig.advance(0.2)
    assert taints(rig, "node-1") == {("node.kubernetes.io/unschedulable", "NoSchedule")}
    rig.change("nodes", "node-1", lambda value: value["spec"].pop("unschedulable"))
    await rig.advance(0.2)
    assert taints(rig, "node-1") == set()


async def test_a_failed_node_loses_its_pods_when_their_patience_ends(rig: Any) -> None:
    """Five seconds for one pod, five minutes for the other, which says nothing."""
    rig.apply(POD % ("brief", BRIEFLY))
    rig.apply(POD % ("usual", ""))
    await rig.advance(2)
    rig.change("nodes", "node-1", lambda value: value["metadata"].update(annotations={"kubesched.io/down": "true"}))
    await rig.advance(1)
    assert taints(rig, "node-1") == {
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
    }
    await rig.advance(5.5)
    leaving = [pod["metadata"]["name"] for pod in rig.items("pods") if pod["metadata"].get("deletionTimestamp")]
    assert leaving == ["brief"]
    rig.change("nodes", "node-1", lambda value: value["metadata"].pop("annotations"))
    await rig.advance(2)
    assert taints(rig, "node-1") == set()
    assert rig.names("pods") == ["usual"]


async def test_a_no_execute_taint_evicts_at_once(rig: Any) -> None:
    """Pods that do not tolerate it go, with a condition that says why."""
    rig.apply(POD % ("p", ""))
    await rig.advance(2)
    taint = [{"key": "maintenance", "effect": "NoExecute"}]
    rig.change("nodes", "node-1", lambda value: value["spec"].update(taints=taint))
    await rig.advance(0.2)
    conditions = {item["type"]: item.get("reason") for item in rig.get("pods", "p")["status"]["conditions"]}
    assert conditions["DisruptionTarget"] == "DeletionByTaintManager"
    assert "TaintManagerEviction" in rig.reasons("p")
    await rig.advance(2)
    assert rig.names("pods") == []


async def test_pods_of_a_vanished_node_are_removed(rig: Any) -> None:
    """Nobody else would end them; their controller makes new ones elsewhere."""
    rig.apply(DEPLOYMENT % "minAvailable: 1")
    await rig.advance(2)
    rig.api.delete(rig.api.catalog.named("nodes"), "node-1")
    await rig.advance(8)
    pods = rig.items("pods")
    assert len(pods) == 4
    assert {pod["spec"]["nodeName"] for pod in pods} <= {"node-2", "node-3"}


async def test_a_budget_counts(rig: Any) -> None:
    """A percentage is one of what the controllers ask for."""
    rig.apply(DEPLOYMENT % "maxUnavailable: 50%")
    await rig.advance(2)
    status = rig.get("poddisruptionbudgets.policy", "web")["status"]
    assert {key: status[key] for key in ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")} == {
        "expectedPods": 4,
        "desiredHealthy": 2,
        "currentHealthy": 4,
        "disruptionsAllowed": 2,
    }
    assert status["conditions"][0]["reason"] == "SufficientPods"


async def test_evictions_use_up_a_budget_until_others_are_ready(rig: Any) -> None:
    """One eviction is allowed, the next is not, and after a while it is again."""
    rig.apply(DEPLOYMENT % "minAvailable: 3")
    await rig.advance(2)
    first = rig.names("pods")[0]
    rig.api.evict({"metadata": {"name": first}}, first, "default")
    await rig.advance(0.3)
    assert rig.get("poddisruptionbudgets.policy", "web")["status"]["disruptionsAllowed"] == 0
    await rig.advance(3)
    assert rig.get("poddisruptionbudgets.policy", "web")["status"]["disruptionsAllowed"] == 1


async def test_a_node_can_be_removed_by_force(rig: Any) -> None:
    """Its lease goes with it, its pods too."""
    rig.apply(POD % ("p", ""))
    await rig.advance(1)
    rig.api.delete(rig.api.catalog.named("nodes"), "node-1", "", DeleteOptions(grace_period=0))
    await rig.advance(7)
    assert rig.names("pods") == []
    assert "node-1" not in rig.names("leases.coordination.k8s.io", "kube-node-lease")
