from __future__ import annotations

import numpy as np
import pytest

from kubesched.objects import PodDisruptionBudget
from kubesched.plugins.default_preemption.budgets import Budgets
from kubesched.testing import make_node, make_pdb, make_pod
from kubesched.testing.handle import FakeHandle

APP = {"matchLabels": {"app": "a"}}


def broken(*found: PodDisruptionBudget) -> list[bool]:
    """For three pods on one node, two of app a and one without labels, and then one of app a on another node."""
    handle = FakeHandle().load(make_node("n"), make_node("m"), *found)
    handle.load(make_pod("first", node="n", labels={"app": "a"}), make_pod("second", node="n", labels={"app": "a"}))
    handle.load(make_pod("plain", node="n"), make_pod("elsewhere", node="m", labels={"app": "a"}))
    pods, positions = np.arange(4), np.array([0, 0, 0, 1])
    budgets = Budgets(handle.objects.of(PodDisruptionBudget))
    return [bool(is_broken) for is_broken in budgets.broken_by(handle.cluster.pods, pods, positions)]


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        pytest.param([], [False, False, False, False], id="no budget"),
        pytest.param([make_pdb(selector=APP)], [True, True, False, True], id="nothing is allowed"),
        pytest.param(
            [make_pdb(selector=APP, disruptions_allowed=1)],
            [False, True, False, False],
            id="each node has the whole budget",
        ),
        pytest.param([make_pdb(selector=APP, namespace="other")], [False] * 4, id="a budget of another namespace"),
        pytest.param([make_pdb(selector={})], [False] * 4, id="an empty selector means nobody"),
        pytest.param([make_pdb(selector=None)], [False] * 4, id="no selector means nobody"),
        pytest.param(
            [make_pdb(selector={"matchExpressions": [{"key": "app", "operator": "Bogus"}]})],
            [False] * 4,
            id="a selector that does not compile means nobody",
        ),
        pytest.param(
            [make_pdb(selector={"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]})],
            [True, True, False, True],
            id="a pod without labels has no budget",
        ),
        pytest.param(
            [make_pdb(selector=APP, disruptions_allowed=1, disrupted_pods=["first"])],
            [False, False, False, False],
            id="a disruption that is counted already does not count again",
        ),
        pytest.param(
            [
                make_pdb("one", selector=APP, disruptions_allowed=5),
                make_pdb("two", selector=APP, disruptions_allowed=1),
            ],
            [False, True, False, False],
            id="the tightest of several budgets decides",
        ),
    ],
)
def test_broken_by(budgets: list[PodDisruptionBudget], expected: list[bool]) -> None:
    """A budget counts down pod by pod on each node."""
    assert broken(*budgets) == expected


def test_changed_budgets_are_seen() -> None:
    """The index follows the store."""
    handle = FakeHandle().load(make_node("n"), make_pod("p", node="n", labels={"app": "a"}))
    budgets = Budgets(handle.objects.of(PodDisruptionBudget))
    one = np.zeros(1, dtype=np.intp)
    assert not budgets.broken_by(handle.cluster.pods, one, one).any()
    handle.load(make_pdb(selector=APP))
    assert budgets.broken_by(handle.cluster.pods, one, one).all()
    handle.load(make_pdb(selector=APP, disruptions_allowed=1))
    assert not budgets.broken_by(handle.cluster.pods, one, one).any()
