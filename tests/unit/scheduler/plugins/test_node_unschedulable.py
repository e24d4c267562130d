from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.objects import Node
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

TAINT = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("unschedulable", "tolerations", "fits"),
    [
        pytest.param(False, (), True, id="an open node takes any pod"),
        pytest.param(True, (), False, id="a cordoned node takes no ordinary pod"),
        pytest.param(True, (f"{TAINT}:NoSchedule",), True, id="a pod that tolerates the taint is taken"),
        pytest.param(True, ({"operator": "Exists"},), True, id="a pod that tolerates everything is taken"),
        pytest.param(True, (f"{TAINT}:NoExecute",), False, id="another effect of the taint is not enough"),
        pytest.param(True, ({"key": TAINT, "operator": "Lt", "value": "5"},), False, id="no number to compare with"),
    ],
)
def test_filter(unschedulable: bool, tolerations: tuple[str, ...], fits: bool) -> None:
    """A cordoned node takes only pods that tolerate being there."""
    handle = FakeHandle().load(make_node("n", unschedulable=unschedulable))
    answer = ask(NodeUnschedulable(None, handle), make_pod(tolerations=tolerations), handle.cluster)
    status = answer.statuses["n"]
    assert status.is_success is fits
    if not fits:
        assert (status.code, status.reasons) == (Code.UNRESOLVABLE, ("node(s) were unschedulable",))


OPEN, CLOSED = make_node("n"), make_node("n", unschedulable=True)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, OPEN, Hint.QUEUE, id="an open node is added"),
        pytest.param(None, CLOSED, Hint.SKIP, id="a cordoned node is added"),
        pytest.param(CLOSED, OPEN, Hint.QUEUE, id="a node is uncordoned"),
        pytest.param(OPEN, CLOSED, Hint.SKIP, id="a node is cordoned"),
        pytest.param(OPEN, OPEN, Hint.SKIP, id="a node was open before"),
    ],
)
def test_hint_of_node_events(old: Node | None, new: Node, expected: Hint) -> None:
    """A node that opens is worth another attempt."""
    handle = FakeHandle()
    node_events, _ = NodeUnschedulable(None, handle).events_to_register()
    assert node_events.hint is not None
    assert node_events.hint(handle.cluster.templates.info(make_pod()), old, new) is expected


def test_hint_of_toleration_events() -> None:
    """Only the pod's own new toleration of the taint helps."""
    handle = FakeHandle()
    _, pod_events = NodeUnschedulable(None, handle).events_to_register()
    assert pod_events.hint is not None
    pod = make_pod("p")
    info = handle.cluster.templates.info(pod)
    tolerating = make_pod("p", tolerations=(f"{TAINT}:NoSchedule",))
    assert pod_events.hint(info, pod, tolerating) is Hint.QUEUE
    assert pod_events.hint(info, pod, make_pod("p", tolerations=("other:NoSchedule",))) is Hint.SKIP
    assert pod_events.hint(info, None, make_pod("q", tolerations=(f"{TAINT}:NoSchedule",))) is Hint.SKIP


TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from([TAINT, "other"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": st.sampled_from(["", "1"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
    },
)


def plainly_tolerates(toleration: dict[str, str]) -> bool:
    """Whether a toleration covers the taint of cordoned nodes, whose value is empty."""
    is_about_it = toleration.get("effect") != "NoExecute" and toleration.get("key") != "other"
    return is_about_it and (toleration.get("operator") == "Exists" or not toleration.get("value"))


@settings(max_examples=100)
@given(cordoned=st.lists(st.booleans(), max_size=6), tolerations=st.lists(TOLERATIONS, max_size=3))
def test_agrees_with_the_plain_rule(cordoned: list[bool], tolerations: list[dict[str, str]], worlds: Any) -> None:
    """Over any view, the filter says what the rule says about each node by itself."""
    handle = FakeHandle().load(*(make_node(f"n{k}", unschedulable=each) for k, each in enumerate(cordoned)))
    pod = make_pod(tolerations=tolerations)
    plugin, info = NodeUnschedulable(None, handle), handle.cluster.templates.info(pod)
    is_tolerated = any(map(plainly_tolerates, tolerations))
    for view, infos in worlds(handle.cluster, pod):
        fitting = plugin.filter_nodes(CycleState(info), info.template, view).fitting
        for position, each in infos:
            assert fitting[position] == (is_tolerated or not each.node.spec.unschedulable)
