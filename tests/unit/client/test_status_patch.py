"""The smallest patch of a pod's status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubesched.client.status_patch import pod_status_patch
from kubesched.objects.pod import PodCondition, PodStatus

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
BEFORE = datetime(2026, 1, 1, tzinfo=UTC)

READY = PodCondition(type="Ready", status="False", last_transition_time=BEFORE)
PENDING = PodCondition(
    type="PodScheduled", status="False", reason="Unschedulable", message="0/1 nodes", last_transition_time=BEFORE
)


def wanted(status: str = "False", message: str = "0/1 nodes", reason: str = "Unschedulable") -> PodCondition:
    return PodCondition(type="PodScheduled", status=status, reason=reason, message=message, observed_generation=1)


@pytest.mark.parametrize(
    ("status", "condition", "nominated", "expected"),
    [
        pytest.param(
            PodStatus(conditions=(READY,)),
            wanted(),
            None,
            {
                "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/1 nodes",
                        "observedGeneration": 1,
                        "lastTransitionTime": "2026-01-02T03:04:05Z",
                    }
                ],
            },
            id="a new condition comes whole, at the end, with the time of now",
        ),
        pytest.param(
            PodStatus(conditions=(PENDING, READY)),
            wanted(message="0/2 nodes"),
            None,
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "Ready"}],
                "conditions": [{"type": "PodScheduled", "message": "0/2 nodes", "observedGeneration": 1}],
            },
            id="of a changed condition only what changed; its time stays with its status",
        ),
        pytest.param(
            PodStatus(conditions=(PENDING,)),
            PodCondition(type="PodScheduled", status="True"),
            None,
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}],
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "True",
                        "reason": None,
                        "message": None,
                        "lastTransitionTime": "2026-01-02T03:04:05Z",
                    }
                ],
            },
            id="a changed status has a new time, and fields that are gone are cleared",
        ),
        pytest.param(PodStatus(conditions=(PENDING,)), wanted(), None, None, id="nothing new, nothing to do"),
        pytest.param(PodStatus(), None, "n1", {"nominatedNodeName": "n1"}, id="a nomination alone"),
        pytest.param(
            PodStatus(nominated_node_name="n1"), None, "", {"nominatedNodeName": None}, id="a nomination is cleared"
        ),
        pytest.param(PodStatus(nominated_node_name="n1"), None, "n1", None, id="nominated there already"),
        pytest.param(
            PodStatus(conditions=(PENDING,)),
            wanted(),
            "n1",
            {"nominatedNodeName": "n1"},
            id="a nomination with an unchanged condition",
        ),
    ],
)
def test_patch(
    status: PodStatus, condition: PodCondition | None, nominated: str | None, expected: dict[str, Any] | None
) -> None:
    """As strategicpatch.CreateTwoWayMergePatch would have it."""
    patch = pod_status_patch(status, NOW, conditions=[condition] if condition else [], nominated_node=nominated)
    assert patch == (None if expected is None else {"status": expected})
