"""Extenders in the scheduling cycle: they see what the plugins left, and add to the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kubesched.errors import TransportError
from kubesched.objects import Node, Pod
from kubesched.testing import make_node, make_pod


@dataclass
class Verdict:
    fitting: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_unresolvable: Mapping[str, str] = field(default_factory=dict)


@dataclass
class FakeExtender:
    """Takes the nodes in `takes`; answers `error`, if there is one, to everything."""

    name: str = "fake"
    takes: Sequence[str] | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_unresolvable: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, int] | None = None
    weight: int = 1
    is_ignorable: bool = False
    is_binder: bool = False
    supports_preemption: bool = False
    interested: bool = True
    error: Exception | None = None
    meanwhile: Callable[[], None] = lambda: None
    seen: list[list[str]] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)

    @property
    def is_filter(self) -> bool:
        return self.takes is not None

    @property
    def is_prioritizer(self) -> bool:
        return self.scores is not None

    def is_interested(self, pod: Pod) -> bool:
        return self.interested

    def _answer(self) -> None:
        self.meanwhile()
        if self.error is not None:
            raise self.error

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> Verdict:
        self.seen.append([node.metadata.name for node in nodes])
        self._answer()
        return Verdict([n for n in self.takes or () if n in self.seen[-1]], self.failed, self.failed_unresolvable)

    async def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, int]:
        self._answer()
        return self.scores or {}

    async def bind(self, pod: Pod, node_name: str) -> None:
        self._answer()
        self.bound.append(node_name)


async def scheduled(new_bench: Any, *extenders: FakeExtender, **pod: Any) -> Any:
    bench = new_bench(extenders=extenders)
    bench.add(make_node("n1"), make_node("n2"), make_node("n3", unschedulable=True), make_pod("web", **pod))
    await bench.schedule()
    return bench


async def test_each_extender_sees_what_those_before_it_left(new_bench: Any) -> None:
    """The first one sees what the plugins left."""
    first, second = FakeExtender(takes=["n2"]), FakeExtender(takes=["n1", "n2"])
    bench = await scheduled(new_bench, first, second)
    assert (first.seen, second.seen) == ([["n1", "n2"]], [["n2"]])
    assert bench.places() == {"web": "n2"}


async def test_an_extender_s_reasons_reach_the_user(new_bench: Any) -> None:
    """Hopeless ones win over others for the same node."""
    extender = FakeExtender(takes=[], failed={"n1": "busy", "n2": "busy"}, failed_unresolvable={"n2": "never"})
    bench = await scheduled(new_bench, extender)
    assert "1 busy, 1 never, 1 node(s) were unschedulable" in bench.notes("FailedScheduling")[0]
    [(_, queued)] = bench.queue.waiting()
    assert "Extender" in queued.unschedulable_plugins


async def test_an_extender_that_does_not_care_is_not_asked(new_bench: Any) -> None:
    """Nor is any, once no node is left."""
    bored, strict, late = FakeExtender(takes=[], interested=False), FakeExtender(takes=[]), FakeExtender(takes=["n1"])
    bench = await scheduled(new_bench, bored, strict, late)
    assert (bored.seen, len(strict.seen), late.seen) == ([], 1, [])
    assert bench.places()["web"] != ""


@pytest.mark.parametrize("error", [TransportError("refused"), RuntimeError("a bug")], ids=repr)
async def test_an_extender_that_fails_costs_the_attempt(new_bench: Any, error: Exception) -> None:
    """Whatever the failure is."""
    bench = await scheduled(new_bench, FakeExtender(takes=["n1"], error=error))
    assert bench.places() == {"web": "backoff"}
    assert str(error) in bench.notes("FailedScheduling")[0]


async def test_an_ignorable_extender_may_fail(new_bench: Any) -> None:
    """As if it were not there."""
    bench = await scheduled(new_bench, FakeExtender(takes=["n1"], error=TransportError("no"), is_ignorable=True))
    assert bench.places()["web"] in ("n1", "n2")


@pytest.mark.parametrize("best", ["n1", "n2"])
async def test_scores_are_scaled_weighted_and_added(new_bench: Any, best: str) -> None:
    """Ten points of an extender weigh as much as a hundred of a plugin; one that fails gives none."""
    liking = FakeExtender(scores={best: 10, "n3": 10, "unknown": 10}, weight=2)
    broken = FakeExtender(scores={"n1": 10, "n2": 10}, error=TransportError("no"))
    bench = await scheduled(new_bench, liking, broken)
    assert bench.places() == {"web": best}


@pytest.mark.parametrize(
    ("extender", "node"),
    [
        pytest.param(FakeExtender(takes=["n1", "n2"]), "n1", id="accepted"),
        pytest.param(FakeExtender(takes=["n2"]), "n2", id="refused"),
        pytest.param(FakeExtender(takes=["n1"], error=TransportError("no"), is_ignorable=True), "n1", id="ignorable"),
    ],
)
async def test_extenders_must_accept_a_nominated_node(new_bench: Any, extender: FakeExtender, node: str) -> None:
    """Before it is taken without a look at the others."""
    extender.seen = []
    bench = await scheduled(new_bench, extender, nominated_node="n1")
    assert extender.seen[0] == ["n1"]
    assert bench.places() == {"web": node}


async def test_an_extender_may_bind(new_bench: Any) -> None:
    """The default binder does not, then."""
    binder = FakeExtender(is_binder=True)
    bench = await scheduled(new_bench, FakeExtender(is_binder=True, interested=False), binder)
    assert len(binder.bound) == 1
    assert bench.pod("web").spec.node_name == ""
    assert bench.notes("Scheduled")


@pytest.mark.parametrize("error", [TransportError("refused"), RuntimeError("a bug")], ids=repr)
async def test_a_binder_that_fails_undoes_the_placement(new_bench: Any, error: Exception) -> None:
    """Whatever the failure is; an ignorable one leaves the binding to the next."""
    bench = await scheduled(new_bench, FakeExtender(is_binder=True, error=error))
    assert bench.places() == {"web": "backoff"}
    assert bench.cache.pod_count == 0
    ignorable = await scheduled(new_bench, FakeExtender(is_binder=True, error=TransportError("no"), is_ignorable=True))
    assert ignorable.places()["web"] in ("n1", "n2")


def fickle_extender(asks: str) -> FakeExtender:
    """It would like the stranger best."""
    takes = None if asks == "scores" else ["n1", "n2", "stranger"]
    return FakeExtender(takes=takes, scores={"n1": 10, "stranger": 10})


ASKS = pytest.mark.parametrize("asks", ["filter", "scores", "nomination"])


@ASKS
async def test_a_node_that_goes_while_extenders_are_asked_is_not_taken(new_bench: Any, asks: str) -> None:
    """Nor is the node that has its row now, which no filter has looked at; the other one is."""
    extender = fickle_extender(asks)
    bench = new_bench(extenders=[extender])
    bench.add(make_node("n1"), make_node("n2"), make_pod("web", nominated_node="n1" if asks == "nomination" else ""))

    def n1_is_replaced() -> None:
        extender.meanwhile = lambda: None
        bench.handlers.delete(make_node("n1"))
        bench.add(make_node("stranger", unschedulable=True))

    extender.meanwhile = n1_is_replaced
    await bench.schedule()
    assert bench.places() == {"web": "n2"}


async def test_a_refused_nominated_node_leaves_only_nodes_that_were_looked_at(new_bench: Any) -> None:
    """Another node has gone while the extender was asked about the nominated one, and its row is a stranger's."""
    extender = FakeExtender(takes=["n2", "stranger"])
    bench = new_bench(extenders=[extender])
    bench.add(make_node("n1"), make_node("gone"), make_node("n2"), make_pod("web", cpu="1", nominated_node="n1"))

    def another_one_is_replaced() -> None:
        extender.meanwhile = lambda: None
        bench.handlers.delete(make_node("gone"))
        bench.add(make_node("stranger", cpu="0"))

    extender.meanwhile = another_one_is_replaced
    await bench.schedule()
    assert extender.seen == [["n1"], ["n1", "n2"]]
    assert bench.places() == {"web": "n2"}


@ASKS
async def test_nodes_that_come_while_extenders_are_asked_are_filtered_too(new_bench: Any, asks: str) -> None:
    """So many that the table grows: the reasons of all nodes are told."""
    extender = fickle_extender(asks)
    bench = new_bench(extenders=[extender])
    bench.add(make_node("n1"), make_node("n2"), make_pod("web", nominated_node="n1" if asks == "nomination" else ""))

    def many_come_and_the_others_go() -> None:
        extender.meanwhile = lambda: None
        for number in range(100):
            bench.add(make_node(f"new-{number}", unschedulable=True))
        for name in ("n1", "n2"):
            bench.handlers.update(make_node(name), make_node(name, unschedulable=True))

    extender.meanwhile = many_come_and_the_others_go
    await bench.scheduler.schedule_one(bench.queue.try_pop())
    assert bench.notes("FailedScheduling")[0].startswith("0/102 nodes are available: 102 node(s) were unschedulable.")


async def test_what_extenders_said_is_kept_when_the_nodes_change(new_bench: Any) -> None:
    """Their refusals hold after the nodes were filtered again, and a node that they have not seen must wait."""
    extender = FakeExtender(takes=[], failed={"n1": "busy"})
    bench = new_bench(extenders=[extender])
    bench.add(make_node("n1"), make_pod("web"))
    extender.meanwhile = lambda: bench.add(make_node("new"))
    await bench.scheduler.schedule_one(bench.queue.try_pop())
    assert bench.notes("FailedScheduling")[0].startswith("0/2 nodes are available: 1 busy.")
    assert bench.places() == {"web": "backoff"}
