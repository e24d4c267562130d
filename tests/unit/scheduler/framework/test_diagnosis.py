"""The message that users know from `kubectl describe` (FitError.Error)."""

from __future__ import annotations

import pytest

from kubesched.scheduler.framework import Diagnosis, ListedStatuses, Status

FULL = Status.unschedulable("Insufficient cpu").by("NodeResourcesFit")
BOTH = Status.unschedulable("Insufficient cpu", "Too many pods").by("NodeResourcesFit")
TAINTED = Status.unresolvable("node(s) had untolerated taint(s)").by("TaintToleration")


@pytest.mark.parametrize(
    ("diagnosis", "message"),
    [
        pytest.param(Diagnosis(node_count=0), "0/0 nodes are available:", id="no node"),
        pytest.param(
            Diagnosis(ListedStatuses({"a": FULL, "b": BOTH, "c": TAINTED}), node_count=3),
            "0/3 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint(s), 2 Insufficient cpu.",
            id="each reason with its number, sorted as text",
        ),
        pytest.param(
            Diagnosis(ListedStatuses({str(k): FULL for k in range(10)} | {"x": TAINTED}), node_count=11),
            "0/11 nodes are available: 1 node(s) had untolerated taint(s), 10 Insufficient cpu.",
            id="sorted with the number in front",
        ),
        pytest.param(
            Diagnosis(ListedStatuses({"a": FULL}, absent=Status.unresolvable("not looked at")), node_count=4),
            "0/4 nodes are available: 1 Insufficient cpu, 3 not looked at.",
            id="nodes that were not looked at",
        ),
        pytest.param(
            Diagnosis(pre_filter_message="no claim", node_count=4),
            "0/4 nodes are available: no claim.",
            id="rejected before any node",
        ),
        pytest.param(
            Diagnosis(ListedStatuses({"a": FULL}), post_filter_message="preemption: not helpful", node_count=1),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not helpful",
            id="with what preemption said",
        ),
    ],
)
def test_messages(diagnosis: Diagnosis, message: str) -> None:
    """Word for word."""
    assert diagnosis.message() == message


@pytest.mark.parametrize(
    ("status", "unschedulable", "pending"),
    [
        pytest.param(FULL, {"NodeResourcesFit"}, set(), id="does not fit"),
        pytest.param(Status.pending("later").by("A"), {"A"}, {"A"}, id="waits for something outside"),
        pytest.param(Status.failed("broken").by("A"), set(), set(), id="an error is no rejection"),
        pytest.param(Status.unschedulable("x"), set(), set(), id="said by nobody"),
    ],
)
def test_who_rejected_the_pod(status: Status, unschedulable: set[str], pending: set[str]) -> None:
    """The queue waits for events that these plugins registered."""
    diagnosis = Diagnosis()
    diagnosis.add(status)
    assert (diagnosis.unschedulable_plugins, diagnosis.pending_plugins) == (unschedulable, pending)
