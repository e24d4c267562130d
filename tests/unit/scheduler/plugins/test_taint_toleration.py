from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.feature_gates import FeatureGates
from kubesched.objects import Node
from kubesched.objects.tolerations import tolerates_taint
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.taint_toleration import TaintToleration
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        pytest.param((), (), True, id="no taint"),
        pytest.param(("a=1:NoSchedule",), (), False, id="a taint, no toleration"),
        pytest.param(("a=1:NoExecute",), (), False, id="NoExecute keeps new pods away too"),
        pytest.param(("a=1:PreferNoSchedule",), (), True, id="a preference rejects nobody"),
        pytest.param(("a=1:NoSchedule",), ("a=1:NoSchedule",), True, id="the taint is tolerated"),
        pytest.param(("a=1:NoSchedule",), ("a=2:NoSchedule",), False, id="another value is tolerated"),
        pytest.param(("a=1:NoSchedule", "b:NoExecute"), ("a",), False, id="one of two taints is not tolerated"),
    ],
)
def test_filter(taints: tuple[str, ...], tolerations: tuple[str, ...], fits: bool) -> None:
    """Every strict taint must be tolerated."""
    handle = FakeHandle().load(make_node("n", taints=taints))
    status = ask(TaintToleration(None, handle), make_pod(tolerations=tolerations), handle.cluster).statuses["n"]
    assert status.is_success is fits
    if not fits:
        assert (status.code, status.reasons) == (Code.UNRESOLVABLE, ("node(s) had untolerated taint(s)",))


def test_numbers_are_compared_only_behind_their_gate() -> None:
    """Lt and Gt tolerate nothing unless TaintTolerationComparisonOperators is on."""
    node = make_node("n", taints=("sla=95:NoSchedule",))
    pod = make_pod(tolerations=({"key": "sla", "operator": "Gt", "value": "90"},))
    for enabled in (False, True):
        gates = FeatureGates({"TaintTolerationComparisonOperators": enabled})
        handle = FakeHandle(gates=gates).load(node)
        assert ask(TaintToleration(None, handle), pod, handle.cluster).statuses["n"].is_success is enabled


def test_fewer_preferences_against_the_pod_score_higher() -> None:
    """Scores fall with the number of untolerated PreferNoSchedule taints, in proportion to the most."""
    handle = FakeHandle().load(
        make_node("none"),
        make_node("one", taints=("a:PreferNoSchedule", "x:PreferNoSchedule")),
        make_node("three", taints=("a:PreferNoSchedule", "b:PreferNoSchedule", "c:PreferNoSchedule")),
    )
    answer = ask(TaintToleration(None, handle), make_pod(tolerations=("x",)), handle.cluster)
    assert answer.scores == {"none": 100, "one": 67, "three": 0}


TAINTED, FREE = make_node("n", taints=("a:NoSchedule",)), make_node("n")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, FREE, Hint.QUEUE, id="a node without taints is added"),
        pytest.param(None, TAINTED, Hint.SKIP, id="a tainted node is added"),
        pytest.param(TAINTED, FREE, Hint.QUEUE, id="a taint is removed"),
        pytest.param(FREE, FREE, Hint.SKIP, id="the node was welcome before"),
        pytest.param(FREE, TAINTED, Hint.SKIP, id="a taint is added"),
    ],
)
def test_hint_of_node_events(old: Node | None, new: Node, expected: Hint) -> None:
    """A node helps when its taints no longer keep the pod away."""
    handle = FakeHandle()
    node_events, _ = TaintToleration(None, handle).events_to_register()
    assert node_events.hint is not None
    assert node_events.hint(handle.cluster.templates.info(make_pod()), old, new) is expected


def test_hint_of_toleration_events() -> None:
    """Only the pod's own tolerations matter."""
    handle = FakeHandle()
    _, pod_events = TaintToleration(None, handle).events_to_register()
    assert pod_events.hint is not None
    info = handle.cluster.templates.info(make_pod("p"))
    assert pod_events.hint(info, None, make_pod("p")) is Hint.QUEUE
    assert pod_events.hint(info, None, make_pod("q")) is Hint.SKIP


TAINTS = st.builds(
    "{}={}:{}".format,
    st.sampled_from("ab"),
    st.sampled_from("12"),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from("ab"),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": st.sampled_from("12"),
        "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"]),
    },
)


@settings(max_examples=60)
@given(nodes=st.lists(st.lists(TAINTS, max_size=3), max_size=6), tolerations=st.lists(TOLERATIONS, max_size=3))
def test_agrees_with_the_plain_rule(nodes: list[list[str]], tolerations: list[Any], worlds: Any) -> None:
    """Over any view, filter and score say what the rule says about each node by itself."""
    handle = FakeHandle(cluster=ClusterTables())
    handle.load(*(make_node(f"n{k}", taints=taints) for k, taints in enumerate(nodes)))
    pod = make_pod(tolerations=tolerations)
    plugin, info = TaintToleration(None, handle), handle.cluster.templates.info(pod)
    for view, infos in worlds(handle.cluster, pod):
        fitting = plugin.filter_nodes(CycleState(info), info.template, view).fitting
        scores = plugin.score_nodes(CycleState(info), info.template, view)
        assert scores.dtype == np.int64
        for position, node in infos:
            untolerated = [
                taint.effect
                for taint in node.node.spec.taints
                if not any(tolerates_taint(toleration, taint) for toleration in pod.spec.tolerations)
            ]
            assert fitting[position] == (set(untolerated) <= {"PreferNoSchedule"})
            assert scores[position] == untolerated.count("PreferNoSchedule")
