from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.feature_gates import FeatureGates
from kubesched.config.versions import Version
from kubesched.objects import Node, Pod
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.node_declared_features import NodeDeclaredFeatures, required_features
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

RESTART = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
RESTARTING = {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
GATE_OFF = FeatureGates(version=Version(1, 35))  # as this version emulates it
NAMESPACED = {"hostNetwork": True, "hostUsers": False}


@pytest.mark.parametrize(
    ("pod", "features"),
    [
        pytest.param(make_pod(), set(), id="an ordinary pod"),
        pytest.param(make_pod(containers=[RESTARTING]), {RESTART}, id="a container that restarts all"),
        pytest.param(make_pod(init_containers=[RESTARTING]), {RESTART}, id="an init container that restarts all"),
        pytest.param(
            make_pod(containers=[{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]),
            set(),
            id="a container that restarts itself",
        ),
        pytest.param(make_pod(spec=NAMESPACED), {USER_NAMESPACES}, id="a user namespace on the host's network"),
        pytest.param(make_pod(spec={"hostNetwork": True}), set(), id="the host's network alone"),
        pytest.param(make_pod(spec={"hostUsers": False}), set(), id="a user namespace alone"),
    ],
)
def test_required_features(pod: Pod, features: set[str]) -> None:
    """What a spec makes use of decides which features its node must declare."""
    assert required_features(pod.spec) == features


def test_filter() -> None:
    """All required features must be declared; others do not matter."""
    handle = FakeHandle().load(
        make_node("both", features=(RESTART, USER_NAMESPACES)),
        make_node("one", features=("Other", RESTART)),
        make_node("none"),
    )
    pod = make_pod(containers=[RESTARTING], spec=NAMESPACED)
    answer = ask(NodeDeclaredFeatures(None, handle), pod, handle.cluster)
    assert answer.statuses["both"].is_success
    for name in ("one", "none"):
        status = answer.statuses[name]
        assert (status.code, status.reasons) == (
            Code.UNRESOLVABLE,
            ("node(s) didn't match Pod's required features",),
        )


@pytest.mark.parametrize(
    ("gates", "pod"),
    [
        pytest.param(FeatureGates(), make_pod(), id="a pod that needs no feature"),
        pytest.param(GATE_OFF, make_pod(containers=[RESTARTING]), id="the gate is off"),
    ],
)
def test_has_nothing_to_do(gates: FeatureGates, pod: Pod) -> None:
    """PreFilter says Skip."""
    handle = FakeHandle(gates=gates).load(make_node("n"))
    answer = ask(NodeDeclaredFeatures(None, handle), pod, handle.cluster)
    assert answer.pre_filter is not None
    assert answer.pre_filter.is_skip


PLAIN, DECLARING = make_node("n"), make_node("n", features=(RESTART,))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, PLAIN, Hint.QUEUE, id="a node is added"),
        pytest.param(PLAIN, DECLARING, Hint.QUEUE, id="a node declares something new"),
        pytest.param(DECLARING, DECLARING, Hint.SKIP, id="a node declares the same as before"),
    ],
)
def test_hint_of_node_events(old: Node | None, new: Node, expected: Hint) -> None:
    """A node's declaration must have changed."""
    handle = FakeHandle()
    node_events, _ = NodeDeclaredFeatures(None, handle).events_to_register()
    assert node_events.hint is not None
    assert node_events.hint(handle.cluster.templates.info(make_pod()), old, new) is expected


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        pytest.param("p", {}, Hint.QUEUE, id="the pod no longer needs the feature"),
        pytest.param("p", NAMESPACED, Hint.SKIP, id="it needs the same as before"),
        pytest.param("q", {}, Hint.SKIP, id="another pod"),
    ],
)
def test_hint_of_pod_events(name: str, spec: dict[str, Any], expected: Hint) -> None:
    """The pod itself must need something else than before."""
    handle = FakeHandle()
    _, pod_events = NodeDeclaredFeatures(None, handle).events_to_register()
    assert pod_events.hint is not None
    info = handle.cluster.templates.info(make_pod("p", spec=NAMESPACED))
    assert pod_events.hint(info, make_pod(name, spec=NAMESPACED), make_pod(name, spec=spec)) is expected


def test_registers_nothing_behind_a_closed_gate() -> None:
    """The plugin is in the profile but does nothing."""
    handle = FakeHandle(gates=GATE_OFF)
    assert NodeDeclaredFeatures(None, handle).events_to_register() == ()


@settings(max_examples=60)
@given(
    nodes=st.lists(st.sets(st.sampled_from([RESTART, USER_NAMESPACES, "Other"])), max_size=6),
    restarts=st.booleans(),
    is_namespaced=st.booleans(),
)
def test_agrees_with_the_plain_rule(nodes: list[set[str]], restarts: bool, is_namespaced: bool, worlds: Any) -> None:
    """Over any view, the filter says what the rule says about each node by itself."""
    handle = FakeHandle().load(*(make_node(f"n{k}", features=tuple(each)) for k, each in enumerate(nodes)))
    pod = make_pod(containers=[RESTARTING] if restarts else None, spec=NAMESPACED if is_namespaced else {})
    plugin, info = NodeDeclaredFeatures(None, handle), handle.cluster.templates.info(pod)
    for view, infos in worlds(handle.cluster, pod):
        fitting = plugin.filter_nodes(CycleState(info), info.template, view).fitting
        for position, each in infos:
            declared = each.node.status.declared_features
            has_restart = not restarts or RESTART in declared
            assert fitting[position] == (has_restart and (not is_namespaced or USER_NAMESPACES in declared))
