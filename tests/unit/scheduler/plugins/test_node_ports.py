from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.objects import Pod
from kubesched.scheduler.columns import NodeView, WhatIf
from kubesched.scheduler.columns.pod_template import HostPort
from kubesched.scheduler.framework import Code, CycleState, Hint, NodeInfo
from kubesched.scheduler.plugins.node_ports import NodePorts
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask


def pod_with(name: str, *ports: tuple[str, str, int], node: str = "", **pod: Any) -> Pod:
    container = {
        "name": "c",
        "ports": [
            {"containerPort": port, "hostPort": port, "hostIP": address, "protocol": protocol}
            for address, protocol, port in ports
        ],
    }
    return make_pod(name, containers=[container], node=node, **pod)


@pytest.mark.parametrize(
    ("held", "wanted", "fits"),
    [
        pytest.param(("", "TCP", 80), ("", "TCP", 80), False, id="the same port"),
        pytest.param(("", "TCP", 80), ("", "TCP", 81), True, id="another port"),
        pytest.param(("", "TCP", 80), ("", "UDP", 80), True, id="another protocol"),
        pytest.param(("", "", 80), ("", "TCP", 80), False, id="TCP is the protocol that is meant"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), True, id="another address"),
        pytest.param(("0.0.0.0", "TCP", 80), ("10.0.0.2", "TCP", 80), False, id="all addresses are held"),
        pytest.param(("10.0.0.1", "TCP", 80), ("", "TCP", 80), False, id="all addresses are wanted"),
        pytest.param(("", "TCP", 0), ("", "TCP", 80), True, id="a container port is no host port"),
    ],
)
def test_filter(held: tuple[str, str, int], wanted: tuple[str, str, int], fits: bool) -> None:
    """A host port can be taken once per node."""
    handle = FakeHandle().load(make_node("n"), pod_with("there", held, node="n"))
    status = ask(NodePorts(None, handle), pod_with("p", wanted), handle.cluster).statuses["n"]
    assert status.is_success is fits
    if not fits:
        reason = "node(s) didn't have free ports for the requested pod ports"
        assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, (reason,))


@pytest.mark.parametrize(
    ("restart_policy", "is_skipped"),
    [
        pytest.param("Always", False, id="a sidecar runs beside the containers"),
        pytest.param("", True, id="an init container is gone when they run"),
    ],
)
def test_ports_of_init_containers(restart_policy: str, is_skipped: bool) -> None:
    """A pod without host ports that last is of no interest to this plugin."""
    init = {"name": "i", "restartPolicy": restart_policy, "ports": [{"containerPort": 80, "hostPort": 80}]}
    handle = FakeHandle().load(make_node("n"))
    answer = ask(NodePorts(None, handle), make_pod(init_containers=[init]), handle.cluster)
    assert answer.pre_filter is not None
    assert answer.pre_filter.is_skip is is_skipped


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(pod_with("q", ("", "TCP", 80), node="n"), Hint.QUEUE, id="the port's holder is gone"),
        pytest.param(
            pod_with("q", ("", "TCP", 80), nominated_node="n"), Hint.QUEUE, id="a pod with a reserved node is gone"
        ),
        pytest.param(pod_with("q", ("", "TCP", 80)), Hint.SKIP, id="a pending pod is gone"),
        pytest.param(pod_with("q", ("", "TCP", 81), node="n"), Hint.SKIP, id="the holder of another port is gone"),
        pytest.param(pod_with("q", node="n"), Hint.SKIP, id="a pod without ports is gone"),
    ],
)
def test_hint_of_deleted_pods(deleted: Pod, expected: Hint) -> None:
    """A pod helps when it gives back a port that is wanted."""
    handle = FakeHandle()
    pod_events, node_events = NodePorts(None, handle).events_to_register()
    assert pod_events.hint is not None
    assert node_events.hint is None
    info = handle.cluster.templates.info(pod_with("p", ("", "TCP", 80)))
    assert pod_events.hint(info, deleted, None) is expected


PORTS = st.tuples(
    st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]), st.sampled_from(["TCP", "UDP"]), st.sampled_from([80, 81])
)


@settings(max_examples=60)
@given(
    placed=st.lists(st.tuples(st.lists(PORTS, max_size=2), st.integers(0, 3), st.sampled_from([0, 9])), max_size=6),
    wanted=st.lists(PORTS, min_size=1, max_size=2),
)
def test_agrees_with_the_plain_rule(placed: list[Any], wanted: list[Any], worlds: Any) -> None:
    """Over any view, with pods added or gone, the filter says what the rule says about each node."""
    handle = FakeHandle().load(*(make_node(f"n{k}") for k in range(4)))
    for k, (ports, n, priority) in enumerate(placed):
        is_first = n not in [other for _, other, _ in placed[:k]]  # the one that some of the views suppose gone
        handle.load(pod_with(f"p{k}", *ports, node=f"n{n}", priority=0 if is_first else priority))
    pod = pod_with("p", *wanted, priority=5)
    plugin, info = NodePorts(None, handle), handle.cluster.templates.info(pod)
    for view, infos in worlds(handle.cluster, pod_with("added", *wanted, priority=5)):
        fitting = plugin.filter_nodes(CycleState(info), info.template, view).fitting
        for position, node in infos:
            gone = _freed(handle, view, position, node)
            conflicts = [
                (mine, theirs)
                for mine in info.template.host_ports
                for other in node.pod_infos
                for theirs in (other.template.host_ports - gone if other.priority > 5 else other.template.host_ports)
                if mine[1:] == theirs[1:] and (mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0]))
            ]
            assert fitting[position] == (not conflicts)


def _freed(handle: FakeHandle, view: NodeView, position: int, node: NodeInfo) -> set[HostPort]:
    """The ports of pods that are supposed to be gone: free, even if a pod that cannot be evicted holds them too."""
    left = {info.uid for info in node.pod_infos}
    placed = handle.cluster.pods.on_node(int(view.row_ids()[position]))
    return {port for info in placed if info.uid not in left for port in info.template.host_ports}


def test_two_pods_with_the_same_port() -> None:
    """Evicting one of two pods that hold the same port frees it, as kube-scheduler sees it; sparing it does not."""
    handle = FakeHandle().load(make_node("n"))
    handle.load(pod_with("kept", ("", "TCP", 80), node="n", priority=10))
    handle.load(pod_with("evicted", ("", "TCP", 80), node="n"), pod_with("spared", ("", "TCP", 80), node="n"))
    cluster, plugin = handle.cluster, NodePorts(None, handle)
    info = cluster.templates.info(pod_with("p", ("", "TCP", 80), priority=5))
    fitting = []
    for gone in ([1, 2], [1], []):
        what_if = WhatIf.removed(cluster.pods, np.array(gone, dtype=np.intp), np.zeros(len(gone), dtype=np.intp))
        fitting += plugin.filter_nodes(
            CycleState(info), info.template, cluster.view().supposing(what_if)
        ).fitting.tolist()
    assert fitting == [True, False, False]
