from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.scheduler.framework import Action, Code, CycleState, Resource
from kubesched.scheduler.plugins.node_name import NodeName
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        pytest.param("", {"a", "b"}, id="no node requested"),
        pytest.param("a", {"a"}, id="one node requested"),
        pytest.param("c", set(), id="a node requested that does not exist"),
    ],
)
def test_filter(wanted: str, fitting: set[str]) -> None:
    """A pod that names a node goes nowhere else."""
    handle = FakeHandle().load(make_node("a"), make_node("b"), make_node("c"))
    handle.cluster.remove_node("c")
    answer = ask(NodeName(None, handle), make_pod(), handle.cluster, wanted_node=wanted)
    assert {name for name, status in answer.statuses.items() if status.is_success} == fitting
    for name in answer.statuses.keys() - fitting:
        status = answer.statuses[name]
        assert (status.code, status.reasons) == (
            Code.UNRESOLVABLE,
            ("node(s) didn't match the requested node name",),
        )


def test_any_new_node_is_worth_an_attempt() -> None:
    """The requested node may be the one that was added."""
    (registered,) = NodeName(None, FakeHandle()).events_to_register()
    assert (registered.event.resource, registered.event.action) == (Resource.NODE, Action.ADD)
    assert registered.hint is None


NAMES = ["a", "b", "c", "d"]


@settings(max_examples=60)
@given(
    nodes=st.sets(st.sampled_from(NAMES)), gone=st.sets(st.sampled_from(NAMES)), wanted=st.sampled_from(["", *NAMES])
)
def test_agrees_with_the_plain_rule(nodes: set[str], gone: set[str], wanted: str, worlds: Any) -> None:
    """Over any view, the filter says what the rule says about each node by itself."""
    handle = FakeHandle().load(*(make_node(name) for name in sorted(nodes)))
    for name in nodes & gone:
        handle.cluster.remove_node(name)
    pod = make_pod()
    plugin, info = NodeName(None, handle), handle.cluster.templates.info(pod, wanted_node=wanted)
    for view, infos in worlds(handle.cluster, pod):
        fitting = plugin.filter_nodes(CycleState(info), info.template, view).fitting
        for position, each in infos:
            assert fitting[position] == (wanted in ("", each.node.metadata.name))
