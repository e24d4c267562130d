from __future__ import annotations

import pytest

from kubesched.objects import Pod
from kubesched.scheduler.framework import ListedStatuses, Status
from kubesched.scheduler.plugins.default_preemption.eligibility import POLICY_NEVER, VICTIM_TERMINATING, obstacle
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle

BY_SCHEDULER = {
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": ""}]
}
BY_TAINT = {
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": ""}]
}
VICTIM = make_pod("v", node="n", deleting=True, status=BY_SCHEDULER)
UNSCHEDULABLE = {"n": Status.unschedulable("Insufficient cpu")}
PREEMPTOR = make_pod("p", priority=10, nominated_node="n")


@pytest.mark.parametrize(
    ("pod", "there", "statuses", "expected"),
    [
        pytest.param(make_pod("p", priority=10), VICTIM, UNSCHEDULABLE, "", id="a pod that has preempted nobody yet"),
        pytest.param(
            make_pod("p", priority=10, preemption_policy="Never"), VICTIM, {}, POLICY_NEVER, id="a pod that never does"
        ),
        pytest.param(PREEMPTOR, VICTIM, UNSCHEDULABLE, VICTIM_TERMINATING, id="its victim is on its way out"),
        pytest.param(PREEMPTOR, VICTIM, {"n": Status.unresolvable("taint")}, "", id="its node is of no use any more"),
        pytest.param(PREEMPTOR, VICTIM, {}, "", id="its node was not even looked at"),
        pytest.param(
            PREEMPTOR,
            make_pod("v", node="n", deleting=True, status=BY_SCHEDULER, priority=10),
            UNSCHEDULABLE,
            "",
            id="a pod of the same priority is nobody's victim",
        ),
        pytest.param(
            PREEMPTOR,
            make_pod("v", node="n", deleting=True, status=BY_TAINT),
            UNSCHEDULABLE,
            "",
            id="a pod that leaves for another reason",
        ),
        pytest.param(
            PREEMPTOR, make_pod("v", node="n", status=BY_SCHEDULER), UNSCHEDULABLE, "", id="a pod that is to stay"
        ),
        pytest.param(
            make_pod("p", priority=10, nominated_node="gone"),
            VICTIM,
            {"gone": Status.unschedulable("?")},
            "",
            id="its node is gone",
        ),
    ],
)
def test_obstacle(pod: Pod, there: Pod, statuses: dict[str, Status], expected: str) -> None:
    """A pod waits for its victims to leave before it looks for others."""
    handle = FakeHandle().load(make_node("n"), there)
    assert obstacle(pod, ListedStatuses(statuses), handle.cluster) == expected
