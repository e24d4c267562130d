"""What the API server has about a pod in the end is what the scheduler meant last.

KUBESCHED_E2E_ROUNDS=100 pytest tests/e2e/test_write_order.py    # 1,000 pods
"""

from __future__ import annotations

import os
import random
import time

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.manifests import condition, node, pod
from tests.e2e.processes import eventually

ROUNDS = int(os.environ.get("KUBESCHED_E2E_ROUNDS", "5"))
PODS = 10
LONGEST_PAUSE = 0.03
"""About as long as it takes from a pod's creation until its status is patched."""


def test_a_pod_that_is_bound_right_after_it_was_rejected_is_scheduled(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Pods fit nowhere, and a moment later, their status is on its way, the node has what they want (upstream's spec
    "validates pod overhead is considered along with resource limits" met this by chance).
    """
    admin, rng = real_cluster.admin, random.Random(1)
    admin.create(node("n1", pods=100_000))
    start_scheduler()
    for number in range(ROUNDS):
        resource = f"example.com/round-{number}"
        wants = {"resources": {"requests": {resource: "1"}, "limits": {resource: "1"}}}
        admin.create_all(pod(f"p{number}-{index}", container=wants) for index in range(PODS))
        time.sleep(rng.random() * LONGEST_PAUSE)
        admin.patch(
            "Node",
            "n1",
            {"status": {"capacity": {resource: "100"}, "allocatable": {resource: "100"}}},
            subresource="status",
        )
    expected = ROUNDS * PODS
    eventually(lambda: len(admin.placements()) == expected, "all pods are bound", every=0.2)
    time.sleep(2.0)  # whatever is still on its way arrives
    wrong = [found["metadata"]["name"] for found in admin.list("Pod") if condition(found).get("status") != "True"]
    assert wrong == []
