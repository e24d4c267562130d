"""Bindings in the order of their decisions, where a queue's order tells it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched.apps.shadow.decision_order import HOLD_SECONDS, DecisionOrder, Ordered
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Entry


def arrives(time: float, name: str, **spec: Any) -> Change:
    return Change(time=time, type=ChangeType.ADDED, object=_pod(name, **spec))


def bound(time: float, name: str, **spec: Any) -> Change:
    pod = _pod(name, **spec)
    return Change(time=time, type=ChangeType.MODIFIED, object=replace(pod, spec=replace(pod.spec, node_name="n")))


def deleted(time: float, name: str) -> Change:
    return Change(time=time, type=ChangeType.DELETED, object=_pod(name))


def fails(time: float, name: str) -> Decision:
    return Decision(time=time, type=DecisionType.UNSCHEDULABLE, pod=f"default/{name}", uid=name, message="0/1 nodes")


def node(time: float, name: str) -> Change:
    return Change(time=time, type=ChangeType.ADDED, object=make_node(name))


def _pod(name: str, **spec: Any) -> Pod:
    pod = make_pod(name, **spec)
    return replace(pod, metadata=replace(pod.metadata, uid=name))


START = [arrives(0, "first"), arrives(0, "first-of-other", scheduler="other"), bound(0.5, "first")]
START.append(bound(0.5, "first-of-other", scheduler="other"))
"""Both schedulers are seen to run."""

ORDERS = [
    pytest.param([arrives(1, "a"), arrives(1, "b"), bound(2, "a"), bound(2, "b")], "a b", id="as they came"),
    pytest.param([arrives(1, "a"), arrives(1, "b"), bound(2, "b"), bound(2, "a")], "a b", id="the first came last"),
    pytest.param(
        [arrives(1, "a"), arrives(1, "b"), arrives(1, "c"), bound(2, "c"), bound(2, "b"), bound(2, "a")],
        "a b c",
        id="all the other way round",
    ),
    pytest.param(
        [arrives(1, "low"), arrives(1, "high", priority=9), bound(2, "high", priority=9), bound(2, "low")],
        "high low",
        id="more priority may have overtaken",
    ),
    pytest.param(
        [arrives(1, "high", priority=9), arrives(1, "low"), bound(2, "low"), bound(2, "high", priority=9)],
        "high low",
        id="more priority and first",
    ),
    pytest.param(
        [arrives(1, "a", scheduler="other"), arrives(1, "b"), bound(2, "b"), bound(3, "a", scheduler="other")],
        "b a",
        id="another scheduler has another queue",
    ),
    pytest.param([arrives(1, "a"), arrives(1, "b"), bound(2, "b"), fails(2, "a")], "a b", id="a failure is a decision"),
    pytest.param(
        [arrives(1, "a"), fails(2, "a"), arrives(3, "b"), bound(4, "b"), bound(5, "a")],
        "a b a",
        id="a retry has no place",
    ),
    pytest.param([arrives(1, "a"), arrives(1, "b"), bound(2, "b"), deleted(3, "a")], "b", id="the first is withdrawn"),
    pytest.param(
        [arrives(1, "a"), arrives(1, "b"), bound(2, "b"), node(3 + HOLD_SECONDS, "m"), bound(20, "a")],
        "b a",
        id="nobody is waited for too long",
    ),
    pytest.param(
        [arrives(1, "a"), arrives(1, "b"), node(4, "m"), bound(5, "b"), bound(5, "a")], "b a", id="it was not running"
    ),
    pytest.param([arrives(1, "a", gates=["g"]), arrives(1, "b"), bound(2, "b"), bound(2, "a")], "b a", id="a gate"),
    pytest.param([arrives(1, "a"), arrives(1, "b"), bound(2, "b")], "b", id="the end comes first"),
]


@pytest.mark.parametrize(("entries", "expected"), ORDERS)
def test_the_order_of_decisions(entries: list[Entry], expected: str) -> None:
    """Nothing is lost, and what is known to have been decided first comes first."""
    handed_on: list[Ordered] = []
    order = DecisionOrder(handed_on.append)
    for entry in (*START, *entries):
        order.take(entry)
    order.close()
    assert len(handed_on) == len(entries) + len(START)
    assert " ".join(filter(None, map(_decided, handed_on[len(START) :]))) == expected


def test_both_of_two_that_change_places_are_marked() -> None:
    """So a judgement can say that order is what it depends on."""
    handed_on: list[Ordered] = []
    order = DecisionOrder(handed_on.append)
    for entry in (*START, *map(partial(arrives, 1), "abc"), *map(partial(bound, 2), "bac")):
        order.take(entry)
    assert [(_decided(ordered), ordered.is_moved) for ordered in handed_on[len(START) :] if _decided(ordered)] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]


def test_what_follows_a_held_binding_stays_behind_it() -> None:
    """A pod that is bound and deleted while others are waited for is not deleted first."""
    handed_on: list[Ordered] = []
    order = DecisionOrder(handed_on.append)
    pod = _pod("b")
    ending = replace(
        pod,
        metadata=replace(pod.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)),
        spec=replace(pod.spec, node_name="n"),
    )
    gone = Change(time=3, type=ChangeType.DELETED, object=ending)
    entries = [*START, arrives(1, "a"), arrives(1, "b"), bound(2, "b"), gone, bound(4, "a")]
    for entry in entries:
        order.take(entry)
    assert [ordered.entry for ordered in handed_on] == [*entries[:6], entries[8], entries[6], gone]


def _decided(ordered: Ordered) -> str:
    entry = ordered.entry
    if isinstance(entry, Decision):
        return entry.uid
    is_binding = isinstance(entry, Change) and isinstance(entry.object, Pod) and entry.type is ChangeType.MODIFIED
    return str(entry.object.metadata.uid) if is_binding and isinstance(entry, Change) else ""
