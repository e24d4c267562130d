"""Who preempted whom is read from nominations around the preemption."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched.testing import make_pod
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Entry, preemptions


def pod(name: str, priority: int) -> Change:
    made = make_pod(name, priority=priority)
    made = replace(made, metadata=replace(made.metadata, uid=name))
    return Change(time=0.0, type=ChangeType.ADDED, object=made)


def decision(time: float, kind: DecisionType, name: str, node: str = "n") -> Decision:
    return Decision(time=time, type=kind, pod=f"default/{name}", uid=name, node=node)


PODS: list[Entry] = [pod("victim", 1), pod("high", 10), pod("other", 5), pod("low", 0)]
NOMINATED, PREEMPTED = DecisionType.NOMINATED, DecisionType.PREEMPTED


@pytest.mark.parametrize(
    ("entries", "by"),
    [
        pytest.param([decision(1, NOMINATED, "high"), decision(2, PREEMPTED, "victim")], "high", id="nominated first"),
        pytest.param([decision(1, PREEMPTED, "victim"), decision(1.5, NOMINATED, "high")], "high", id="or after it"),
        pytest.param([decision(1, PREEMPTED, "victim")], "", id="no nomination is seen"),
        pytest.param(
            [decision(1, NOMINATED, "high", node="m"), decision(2, PREEMPTED, "victim")], "", id="to another node"
        ),
        pytest.param([decision(1, NOMINATED, "low"), decision(2, PREEMPTED, "victim")], "", id="with less priority"),
        pytest.param([decision(1, NOMINATED, "high"), decision(60, PREEMPTED, "victim")], "", id="long before"),
        pytest.param(
            [decision(1, NOMINATED, "high"), decision(3, NOMINATED, "other"), decision(3.1, PREEMPTED, "victim")],
            "other",
            id="the nearest of two",
        ),
    ],
)
def test_the_preemptor(entries: list[Entry], by: str) -> None:
    """The pod with more priority that was nominated to the victim's node at about that time."""
    [found] = preemptions([*PODS, *entries])
    assert (found.victim, found.node, found.priority) == ("default/victim", "n", 1)
    assert found.by == (f"default/{by}" if by else "")
