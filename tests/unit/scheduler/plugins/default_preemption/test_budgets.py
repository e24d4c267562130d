from __future__ import annotations

import numpy as np
import pytest

from kubesched.objects import Pod, PodDisruptionBudget
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
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


FOO = [make_pod(f"foo{k}", labels={"app": "foo"}) for k in range(3)]
PLAIN = make_pod("plain")
ON_FOO = {"matchLabels": {"app": "foo"}}


@pytest.mark.parametrize(
    ("units", "budgets", "expected"),
    [
        pytest.param([], [], [], id="nobody"),
        pytest.param([[FOO[0]]], [], [False], id="no budget"),
        pytest.param([[PLAIN]], [make_pdb(selector=ON_FOO)], [False], id="a budget of others"),
        pytest.param([[FOO[0]]], [make_pdb(selector=ON_FOO, disruptions_allowed=1)], [False], id="one is allowed"),
        pytest.param([[FOO[0]]], [make_pdb(selector=ON_FOO)], [True], id="none is allowed"),
        pytest.param([[PLAIN, FOO[0]]], [make_pdb(selector=ON_FOO)], [True], id="one pod of two"),
        pytest.param(
            [[FOO[0], FOO[1]]], [make_pdb(selector=ON_FOO, disruptions_allowed=2)], [False], id="two of a unit"
        ),
        pytest.param(
            [[FOO[0]], [FOO[1]]],
            [make_pdb(selector=ON_FOO, disruptions_allowed=1)],
            [False, True],
            id="the first unit uses the budget up, wherever it is",
        ),
        pytest.param(
            [[FOO[0]]], [make_pdb(selector=ON_FOO, disrupted_pods=["foo0"])], [False], id="counted by the server"
        ),
        pytest.param(
            [[FOO[0], make_pod("bar", labels={"app": "bar"})], [make_pod("bar2", labels={"app": "bar"})]],
            [
                make_pdb("foo", selector=ON_FOO),
                make_pdb("bar", selector={"matchLabels": {"app": "bar"}}, disruptions_allowed=1),
            ],
            [True, False],
            id="the first broken budget spares the others",
        ),
    ],
)
def test_budgets_that_units_break(
    units: list[list[Pod]], budgets: list[PodDisruptionBudget], expected: list[bool]
) -> None:
    """The cases of upstream's filterVictimsWithPDBViolation, and some more."""
    handle = FakeHandle().load(*budgets)
    infos = [[handle.cluster.templates.info(pod) for pod in unit] for unit in units]
    assert Budgets(handle.objects.of(PodDisruptionBudget)).broken_by_units(infos) == expected
