"""A filter's answers for many nodes at once."""

from __future__ import annotations

import numpy as np
import pytest

from kubesched.scheduler.columns import Booleans, ClusterTables, NodeView
from kubesched.scheduler.framework import Code, Reason, Status, Verdict
from kubesched.testing import make_node

CPU, PODS = Reason.unschedulable("cpu"), Reason.unschedulable("pods")
NEVER = Reason.unresolvable("never")


@pytest.fixture
def nodes() -> NodeView:
    cluster = ClusterTables()
    for name in "abcd":
        cluster.set_node(make_node(name))
    return cluster.view()


def where(*positions: int) -> Booleans:
    mask = np.zeros(4, dtype=np.bool_)
    mask[list(positions)] = True
    return mask


def reasons(verdict: Verdict) -> list[tuple[str, ...]]:
    return [verdict.status(k, "P").reasons for k in range(4)]


def test_all_reasons_or_the_first_one(nodes: NodeView) -> None:
    """As the check that is told goes on or stops."""
    given = [(where(0, 1), CPU), (where(1, 2), NEVER)]
    assert reasons(Verdict.all_of(nodes, *given)) == [("cpu",), ("cpu", "never"), ("never",), ()]
    assert reasons(Verdict.first_of(nodes, *given)) == [("cpu",), ("cpu",), ("never",), ()]
    assert Verdict.all_of(nodes, *given).unresolvable().tolist() == [False, True, True, False]
    assert Verdict.first_of(nodes, *given).unresolvable().tolist() == [False, False, True, False]


def test_statuses_of_single_nodes(nodes: NodeView) -> None:
    """A per-node plugin's own words; success is as good as nothing."""
    words = {0: Status.unresolvable("a"), 1: Status(), 3: Status.pending("b").by("Other")}
    verdict = Verdict.of_statuses(nodes, words)
    assert verdict.fitting.tolist() == [False, True, True, False]
    assert verdict.unresolvable().tolist() == [True, False, False, False]
    assert verdict.status(0, "P") == Status(Code.UNRESOLVABLE, ("a",), "P")
    assert verdict.status(3, "P").plugin == "Other"
    assert verdict.is_pending()
    some = verdict.at(np.array([3, 1]))
    assert [some.status(k, "P").reasons for k in range(2)] == [("b",), ()]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        pytest.param([CPU, PODS], Code.UNSCHEDULABLE, id="preemption may help"),
        pytest.param([CPU, NEVER], Code.UNRESOLVABLE, id="one reason is hopeless"),
        pytest.param([Reason("wait", Code.PENDING)], Code.PENDING, id="something outside must happen"),
        pytest.param([Reason("wait", Code.PENDING), CPU], Code.UNSCHEDULABLE, id="that, and no room"),
    ],
)
def test_the_code_of_several_reasons(nodes: NodeView, given: list[Reason], code: Code) -> None:
    """The most hopeless one wins."""
    verdict = Verdict.all_of(nodes, *((where(0), reason) for reason in given))
    assert verdict.status(0, "P").code is code
    assert verdict.is_pending() is (code is Code.PENDING)
    assert dict(verdict.histogram()) == {reason.message: 1 for reason in given}
