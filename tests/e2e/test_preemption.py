"""Pods that make room for more important ones."""

from __future__ import annotations

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually


def test_victims_are_taken_where_no_budget_protects_them(
    cluster: ControlPlane, start_scheduler: StartScheduler
) -> None:
    """Of two full nodes the one whose pods may be disrupted loses its pod, and the important pod gets its place."""
    admin = cluster.admin
    admin.delete("PriorityClass", "important")
    admin.create({"kind": "PriorityClass", "metadata": {"name": "important"}, "value": 1000})
    admin.create_all([node("guarded", cpu="2"), node("open", cpu="2")])
    admin.create_all(pod(f"on-{name}", cpu="2", labels={"app": name}, nodeName=name) for name in ("guarded", "open"))
    budget = {"selector": {"matchLabels": {"app": "guarded"}}, "minAvailable": 1}
    admin.create({"kind": "PodDisruptionBudget", "metadata": {"name": "guarded"}, "spec": budget})
    # The disruption controller's part.
    status = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    admin.patch("PodDisruptionBudget", "guarded", {"status": {**status, "observedGeneration": 1}}, subresource="status")
    start_scheduler()  # not before: the budget, on a watch of its own, might come to it later than the pod

    admin.create(pod("vip", cpu="2", priorityClassName="important"))
    eventually(lambda: admin.node_of("vip") == "open", "the important pod is placed")
    assert set(admin.placements()) == {"on-guarded", "vip"}
    (note,) = eventually(
        lambda: [event["note"] for event in admin.list("Event") if event["reason"] == "Preempted"], "it is told"
    )
    assert note.startswith("Preempted by pod ")
    assert note.endswith(" on node open")
