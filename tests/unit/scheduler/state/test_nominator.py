"""Nominations."""

from __future__ import annotations

import pytest

from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables, PodInfo
from kubesched.scheduler.framework import NominatingInfo, NominatingMode, ObjectStore
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing.builders import make_pod

TEMPLATES = ClusterTables().templates


def info(name: str = "p", nominated: str = "") -> PodInfo:
    return TEMPLATES.info(make_pod(name, nominated_node=nominated))


def nodes_of(nominator: PodNominator) -> dict[str, list[str]]:
    return {name: [pod.pod.metadata.name for pod in nominator.on_node(name)] for name in nominator.node_names()}


@pytest.mark.parametrize(
    ("in_status", "nominating", "expected"),
    [
        pytest.param("", None, {}, id="no nomination"),
        pytest.param("n1", None, {"n1": ["p"]}, id="as the status says"),
        pytest.param("n1", NominatingInfo(mode=NominatingMode.NOOP), {"n1": ["p"]}, id="told to leave it"),
        pytest.param("n1", NominatingInfo("n2"), {"n2": ["p"]}, id="told otherwise"),
        pytest.param("n1", NominatingInfo(""), {}, id="told to clear it"),
    ],
)
def test_nominations(in_status: str, nominating: NominatingInfo | None, expected: dict[str, list[str]]) -> None:
    """What the cycle says goes before what the status says."""
    nominator = PodNominator()
    nominator.add(info(nominated=in_status), nominating)
    assert nodes_of(nominator) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", {"n1": ["p"]}, id="an update that does not know of the nomination yet"),
        pytest.param("", "n2", {"n2": ["p"]}, id="a nomination was added"),
        pytest.param("n1", "n2", {"n2": ["p"]}, id="a nomination was changed"),
        pytest.param("n1", "", {}, id="a nomination was removed"),
    ],
)
def test_updates(old: str, new: str, expected: dict[str, list[str]]) -> None:
    """The pod is nominated to n1 here, whatever its status said before."""
    nominator = PodNominator()
    nominator.add(info(), NominatingInfo("n1"))
    updated = info(nominated=new)
    nominator.update(make_pod("p", nominated_node=old), updated)
    assert nodes_of(nominator) == expected
    assert all(pod is updated for name in expected for pod in nominator.on_node(name))


def test_a_pod_claims_one_node() -> None:
    """A new nomination replaces the old; nodes without any are not listed."""
    nominator = PodNominator()
    nominator.add(info("a"), NominatingInfo("n1"))
    nominator.add(info("b"), NominatingInfo("n1"))
    nominator.add(info("a"), NominatingInfo("n2"))
    assert nodes_of(nominator) == {"n1": ["b"], "n2": ["a"]}
    nominator.remove(make_pod("b"))
    nominator.remove(make_pod("b"))
    assert nodes_of(nominator) == {"n2": ["a"]}
    assert nominator.on_node("n1") == ()


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(make_pod("p"), {"n1": ["p"]}, id="pending"),
        pytest.param(make_pod("p", node="n3"), {}, id="bound already"),
        pytest.param(None, {}, id="gone"),
    ],
)
def test_only_pending_pods_are_nominated(known: Pod | None, expected: dict[str, list[str]]) -> None:
    """What the informer knows may be newer than the pod in the cycle."""
    store: ObjectStore[Pod] = ObjectStore()
    if known is not None:
        store.set(known)
    nominator = PodNominator(store)
    nominator.add(info(), NominatingInfo("n1"))
    assert nodes_of(nominator) == expected
