"""Pods that have to wait, and what ends their waiting."""

from __future__ import annotations

import time

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import condition, node, pod
from tests.e2e.processes import eventually


def test_a_pod_that_fits_nowhere_is_placed_when_a_node_comes(
    cluster: ControlPlane, start_scheduler: StartScheduler
) -> None:
    """It says why it waits, and the new node wakes it. Without the node's event it would be left over for five minutes,
    which is longer than we wait.
    """
    cluster.admin.create(node("small", cpu="1"))
    start_scheduler()
    cluster.admin.create(pod("large", cpu="2"))
    reason = eventually(lambda: condition(cluster.admin.get("Pod", "large")), "the pod says why it waits")
    assert (reason["status"], reason["reason"]) == ("False", "Unschedulable")
    assert reason["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")

    cluster.admin.create(node("roomy", cpu="4"))
    eventually(lambda: cluster.admin.node_of("large") == "roomy", "the pod is placed")


def test_a_gated_pod_waits_for_its_gates(cluster: ControlPlane, start_scheduler: StartScheduler) -> None:
    """While one gate is left the pod is not tried; the last one's removal lets it go."""
    cluster.admin.create(node("n1"))
    start_scheduler()
    gates = [{"name": "example.com/quota"}, {"name": "example.com/image"}]
    cluster.admin.create(pod("gated", cpu="1", schedulingGates=gates))
    cluster.admin.create(pod("free", cpu="1"))
    eventually(lambda: cluster.admin.node_of("free"), "the pod without gates is placed")
    assert condition(cluster.admin.get("Pod", "gated"))["reason"] == "SchedulingGated"

    cluster.admin.patch("Pod", "gated", {"spec": {"schedulingGates": gates[:1]}})
    time.sleep(0.3)
    assert not cluster.admin.node_of("gated")
    cluster.admin.patch("Pod", "gated", {"spec": {"schedulingGates": []}})
    eventually(lambda: cluster.admin.node_of("gated") == "n1", "the pod is placed")
