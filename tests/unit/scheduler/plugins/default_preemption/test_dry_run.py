from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.plugin_args import NodeResourcesFitArgs
from kubesched.errors import PluginFailedError
from kubesched.objects import Pod, PodDisruptionBudget
from kubesched.scheduler.columns import Booleans, NodeView, PodInfo
from kubesched.scheduler.framework import CycleState, Victims
from kubesched.scheduler.plugins.default_preemption import DefaultPreemption
from kubesched.scheduler.plugins.default_preemption import dry_run as module
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.dry_run import NO_VICTIMS, DryRun, Found
from kubesched.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubesched.testing import EPOCH, make_node, make_pdb, make_pod
from kubesched.testing.handle import FakeHandle

NODE_CPU = 4


def placed(name: str, node: str, *, cpu: int = 1, priority: int = 0, started: int | None = None, app: str = "") -> Pod:
    start_time = None if started is None else EPOCH + timedelta(seconds=started)
    labels = {"app": app} if app else {}
    return make_pod(name, node=node, cpu=str(cpu), priority=priority, start_time=start_time, labels=labels)


def search(handle: FakeHandle, pod: Pod, *, start: int = 0, enough: int = 100) -> Found:
    plugin = NodeResourcesFit(NodeResourcesFitArgs(), handle)
    handle.filters[:] = [plugin]
    info = handle.cluster.templates.info(pod)
    state = CycleState(info)
    plugin.pre_filter(state, info, handle.cluster.view())
    rows = np.flatnonzero(handle.cluster.nodes.exists)
    budgets, rules = Budgets(handle.objects.of(PodDisruptionBudget)), DefaultPreemption(None, handle)
    return DryRun(handle, budgets, rules, state, info).search(rows, start=start, enough=enough)


def named(candidates: dict[str, Victims]) -> dict[str, list[str]]:
    return {node: [pod.metadata.name for pod in victims.pods] for node, victims in candidates.items()}


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [placed("old", "n", cpu=2, started=1), placed("young", "n", cpu=2, started=2)],
            ["young"],
            id="the pod that started last goes first",
        ),
        pytest.param(
            [placed("low", "n", cpu=2, started=1), placed("high", "n", cpu=2, priority=5, started=2)],
            ["low"],
            id="the pod of the lowest priority goes first",
        ),
        pytest.param(
            [placed("waiting", "n", cpu=2), placed("running", "n", cpu=2, started=2)],
            ["waiting"],
            id="a pod that has not started is the youngest",
        ),
        pytest.param(
            [placed("big", "n", cpu=3, started=1), placed("small", "n", cpu=1, started=2)],
            ["big"],
            id="a less important pod is spared where sparing a larger one would not do",
        ),
        pytest.param(
            [placed("equal", "n", cpu=2, priority=10), placed("low", "n", cpu=2)],
            ["low"],
            id="a pod of the same priority is no victim",
        ),
    ],
)
def test_victims(pods: Sequence[Pod], expected: list[str]) -> None:
    """As few as possible go, the least important ones."""
    handle = FakeHandle().load(make_node("n", cpu=str(NODE_CPU)), *pods)
    assert named(search(handle, make_pod("p", cpu="2", priority=10)).candidates) == {"n": expected}


def test_pods_with_a_budget_are_spared_first() -> None:
    """Breaking a budget is worse than evicting a more important pod."""
    handle = FakeHandle().load(make_node("n", cpu=str(NODE_CPU)), make_pdb(selector={"matchLabels": {"app": "a"}}))
    handle.load(placed("high", "n", cpu=2, priority=5), placed("protected", "n", cpu=2, app="a"))
    candidates = search(handle, make_pod("p", cpu="2", priority=10)).candidates
    assert named(candidates) == {"n": ["high"]}
    assert candidates["n"].pdb_violations == 0


def test_reasons_of_nodes_that_are_no_candidates() -> None:
    """Without any candidate, each node has the reason that is left once its victims are gone."""
    handle = FakeHandle().load(*(make_node(f"n{k}", cpu=str(NODE_CPU)) for k in range(3)))
    handle.load(
        placed("vital", "n0", cpu=4, priority=99), placed("low", "n0", cpu=1), placed("equal", "n1", priority=10)
    )
    found = search(handle, make_pod("p", cpu="4", priority=10))
    assert not found.candidates
    assert found.reasons == {"Insufficient cpu": 1, NO_VICTIMS: 2}


def test_a_node_that_takes_the_pod_as_it_is() -> None:
    """Such a node should not have been asked; it is not a candidate."""
    handle = FakeHandle().load(make_node("n", cpu=str(NODE_CPU)), placed("low", "n"))
    found = search(handle, make_pod("p", cpu="1", priority=10))
    assert found.candidates == {}
    assert found.errors == ['expected at least one victim pod on node "n"']


class FailsOn(FakeHandle):
    """Filters fail on one node."""

    node = ""

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        if self.node in [nodes.name(position) for position in range(len(nodes))]:
            raise PluginFailedError("Picky", "Filter", f"failed on {self.node}")
        return super().fits_with_nominated(state, pod, nodes, passed_before=passed_before)


@pytest.mark.parametrize(
    ("start", "enough", "expected"),
    [
        pytest.param(0, 100, ["n2", "n0"], id="candidates that break no budget come first"),
        pytest.param(2, 1, ["n2"], id="the search begins where it should, and ends when there are enough"),
    ],
)
def test_filters_that_fail_on_a_node(start: int, enough: int, expected: list[str]) -> None:
    """The other nodes are tried all the same."""
    handle = FailsOn()
    handle.load(*(make_node(f"n{k}", cpu=str(NODE_CPU)) for k in range(3)))
    handle.load(*(placed(f"low-{k}", f"n{k}", cpu=4, app=f"a{k}") for k in range(3)))
    handle.load(make_pdb(selector={"matchLabels": {"app": "a0"}}))
    handle.node = "n1"
    found = search(handle, make_pod("p", cpu="4", priority=10), start=start, enough=enough)
    assert list(found.candidates) == expected
    assert found.errors == ["failed on n1"] * (enough > 1)


@pytest.mark.parametrize(
    ("start", "enough", "expected"),
    [
        pytest.param(0, 2, ["n0", "n1"], id="from the first on"),
        pytest.param(3, 2, ["n3", "n4"], id="from the middle"),
        pytest.param(4, 2, ["n4", "n0"], id="around the end"),
        pytest.param(1, 9, ["n1", "n2", "n3", "n4", "n0"], id="all"),
    ],
)
def test_enough_candidates(start: int, enough: int, expected: list[str]) -> None:
    """The search ends when it has enough; where it starts decides which."""
    handle = FakeHandle()
    for k in range(5):
        handle.load(make_node(f"n{k}", cpu=str(NODE_CPU)), placed(f"p{k}", f"n{k}", cpu=4))
    found = search(handle, make_pod("p", cpu="2", priority=10), start=start, enough=enough)
    assert list(found.candidates) == expected


class Asked(FakeHandle):
    """Remembers which nodes the filters were asked about."""

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        self.names = getattr(self, "names", set()) | {nodes.name(position) for position in range(len(nodes))}
        return super().fits_with_nominated(state, pod, nodes, passed_before=passed_before)


def test_where_the_first_nodes_suffice_the_others_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many as are wanted, from where the search starts."""
    monkeypatch.setattr(module, "_FEWEST_ROWS", 1)
    handle = Asked()
    for k in range(9):
        handle.load(make_node(f"n{k}", cpu=str(NODE_CPU)), placed(f"p{k}", f"n{k}", cpu=4))
    found = search(handle, make_pod("p", cpu="2", priority=10), start=7, enough=2)
    assert list(found.candidates) == ["n7", "n8"]
    assert handle.names == {"n7", "n8", "n0", "n1"}


def test_candidates_far_from_the_start_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many nodes before them are none."""
    monkeypatch.setattr(module, "_FEWEST_ROWS", 1)
    handle = FakeHandle().load(*(make_node(f"n{k}", cpu=str(NODE_CPU)) for k in range(30)))
    handle.load(placed("low", "n29", cpu=4))
    assert list(search(handle, make_pod("p", cpu="2", priority=10), enough=1).candidates) == ["n29"]
    found = search(handle, make_pod("p", cpu="5", priority=10), enough=1)
    assert not found.candidates
    assert found.reasons == {"Insufficient cpu": 1, NO_VICTIMS: 29}


def test_the_search_goes_on_while_every_candidate_breaks_a_budget() -> None:
    """One that breaks none comes first, and those found before it stay, up to the number wanted."""
    handle = FakeHandle().load(make_pdb(selector={"matchLabels": {"app": "a"}}))
    for k in range(5):
        handle.load(make_node(f"n{k}", cpu=str(NODE_CPU)))
        handle.load(placed(f"p{k}", f"n{k}", cpu=4, app="a" if k != 3 else ""))
    found = search(handle, make_pod("p", cpu="2", priority=10), enough=2)
    assert list(found.candidates) == ["n3", "n0", "n1"]


PODS = st.lists(
    st.tuples(
        st.integers(0, 2),  # node
        st.integers(0, 3),  # cpu
        st.sampled_from([-5, 0, 5, 10]),  # priority
        st.sampled_from(["", "a", "b"]),  # app
    ),
    max_size=14,
)
BUDGETS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2), st.booleans()), max_size=3)


@settings(max_examples=120)
@given(pods=PODS, budgets=BUDGETS, cpu=st.integers(1, 4), enough=st.integers(1, 3))
def test_agrees_with_the_plain_rule(pods: list[Any], budgets: list[Any], cpu: int, enough: int) -> None:
    """All nodes together find the same victims as one node after the other."""
    handle = FakeHandle().load(*(make_node(f"n{k}", cpu=str(NODE_CPU)) for k in range(3)))
    on_node: dict[str, list[Pod]] = {f"n{k}": [] for k in range(3)}
    for k, (node, amount, priority, app) in enumerate(pods):
        pod = placed(f"p{k}", f"n{node}", cpu=amount, priority=priority, app=app, started=(7 * k) % 11)
        on_node[f"n{node}"].append(pod)
        handle.load(pod)
    pdbs = [
        make_pdb(
            f"b{k}",
            selector={"matchLabels": {"app": app}},
            disruptions_allowed=allowed,
            disrupted_pods=["p0", "p1"] if disrupts else [],
        )
        for k, (app, allowed, disrupts) in enumerate(budgets)
    ]
    handle.load(*pdbs)
    expected = {}
    for node, there in on_node.items():
        victims = plain_victims(there, pdbs, cpu)
        if victims[0]:
            expected[node] = victims
    found = search(handle, make_pod("p", cpu=str(cpu), priority=10), enough=3).candidates
    assert {n: ([pod.metadata.name for pod in v.pods], v.pdb_violations) for n, v in found.items()} == expected
    # However few rows are looked at in one go, the victims of a node are the same.
    for node, few in search(handle, make_pod("p", cpu=str(cpu), priority=10), enough=enough).candidates.items():
        assert few == found[node]


def plain_victims(there: list[Pod], pdbs: list[PodDisruptionBudget], cpu: int) -> tuple[list[str], int]:
    """SelectVictimsOnNode for pods that ask for CPU only."""

    def fits(left: list[Pod]) -> bool:
        return sum(int(str(pod.spec.containers[0].resources.requests["cpu"])) for pod in left) + cpu <= NODE_CPU

    potential = [pod for pod in there if pod.priority < 10]
    left = [pod for pod in there if pod.priority >= 10]
    if not potential or not fits(left):
        return [], 0
    potential.sort(key=lambda pod: (-pod.priority, pod.status.start_time))
    allowed = [pdb.status.disruptions_allowed for pdb in pdbs]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in potential:
        violates = False
        for k, pdb in enumerate(pdbs):
            assert pdb.spec.selector is not None
            is_meant = pdb.spec.selector.match_labels["app"] == pod.metadata.labels.get("app", "-")
            if is_meant and pod.metadata.name not in pdb.status.disrupted_pods:
                allowed[k] -= 1
                violates |= allowed[k] < 0
        (violating if violates else others).append(pod)
    victims = []
    for pod in violating + others:
        if fits([*left, pod]):
            left.append(pod)
        else:
            victims.append(pod)
    violations = sum(pod in violating for pod in victims)
    return [pod.metadata.name for pod in potential if pod in victims], violations
