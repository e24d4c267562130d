"""DaemonSets."""

from __future__ import annotations

from typing import Any

DAEMON = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {topology.kubernetes.io/region: local}
      containers: [{name: c, image: 'agent:1'}]
"""


def on_nodes(rig: Any) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in rig.items("pods"))


async def test_every_node_gets_one_pod(rig: Any) -> None:
    """Also a node that comes later, and one that is cordoned."""
    rig.change("nodes", "node-2", lambda value: value["spec"].update(unschedulable=True))
    rig.apply(DAEMON)
    await rig.advance(2)
    assert on_nodes(rig) == ["node-1", "node-2", "node-3"]
    rig.add_nodes(4)
    await rig.advance(2)
    assert on_nodes(rig) == ["node-1", "node-2", "node-3", "node-4"]
    status = rig.get("daemonsets.apps", "agent")["status"]
    assert status["desiredNumberScheduled"] == status["numberAvailable"] == status["updatedNumberScheduled"] == 4


async def test_nodes_that_do_not_suit_are_left_out(rig: Any) -> None:
    """A taint keeps new pods away, a label that is gone removes them."""
    taint = [{"key": "gpu", "effect": "NoSchedule"}]
    rig.change("nodes", "node-3", lambda value: value["spec"].update(taints=taint))
    rig.apply(DAEMON)
    await rig.advance(2)
    assert on_nodes(rig) == ["node-1", "node-2"]
    rig.change("nodes", "node-2", lambda value: value["metadata"]["labels"].pop("topology.kubernetes.io/region"))
    await rig.advance(3)
    assert on_nodes(rig) == ["node-1"]


async def test_a_new_template_replaces_pods_one_after_the_other(rig: Any) -> None:
    """With the default of one node that may be without, and a revision for each template."""
    rig.apply(DAEMON)
    await rig.advance(2)
    rig.change(
        "daemonsets.apps",
        "agent",
        lambda value: value["spec"]["template"]["spec"]["containers"][0].update(image="agent:2"),
    )
    for _ in range(200):
        await rig.advance(0.05)
        assert sum(pod["status"]["phase"] == "Running" for pod in rig.items("pods")) >= 2
    assert {pod["spec"]["containers"][0]["image"] for pod in rig.items("pods")} == {"agent:2"}
    assert [item["revision"] for item in rig.items("controllerrevisions.apps")].count(2) == 1
