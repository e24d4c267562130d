from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

import pytest

from kubesched.config import FeatureGates
from kubesched.config.plugin_args import DefaultPreemptionArgs, NodeResourcesFitArgs
from kubesched.config.versions import Version
from kubesched.errors import KubeschedError, TransportError
from kubesched.objects import Pod
from kubesched.scheduler.framework import (
    SUCCESS,
    Code,
    CycleState,
    Diagnosis,
    Extender,
    Hint,
    ListedStatuses,
    PodInfo,
    PostFilterResult,
    Status,
    Victims,
)
from kubesched.scheduler.plugins.default_preemption import DefaultPreemption
from kubesched.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubesched.testing import make_node, make_pod, make_pod_group
from kubesched.testing.handle import FakeHandle

FULL = Status.unschedulable("Insufficient cpu")
PREEMPTOR = make_pod("p", cpu="2", priority=10)


@dataclass
class Voice:
    """An extender that keeps the candidates with these names."""

    keeps: Sequence[str] = ()
    error: Exception | None = None
    is_ignorable: bool = False
    supports_preemption: bool = True
    with_victims: bool = True
    name: str = "voice"
    weight: int = 1
    is_filter: bool = False
    is_prioritizer: bool = False
    is_binder: bool = False
    asked: list[list[str]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def is_interested(self, pod: Pod) -> bool:
        return True

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], pods_on_node: Callable[[str], Sequence[Pod]]
    ) -> Mapping[str, Victims]:
        self.asked.append(list(victims))
        self.meanwhile()
        if self.error is not None:
            raise self.error
        return {name: victims[name] if self.with_victims else Victims(()) for name in self.keeps}


def cluster(nodes: int = 2, *extenders: Extender, gates: FeatureGates | None = None, seed: int = 1) -> FakeHandle:
    """Full nodes with one pod of low priority each, and the preemptor."""
    handle = FakeHandle(extenders=extenders, gates=gates or FeatureGates(), random=Random(seed)).load(PREEMPTOR)
    for k in range(nodes):
        handle.load(make_node(f"n{k}", cpu="2"), make_pod(f"v{k}", node=f"n{k}", cpu="2"))
    handle.filters.append(NodeResourcesFit(NodeResourcesFitArgs(), handle))
    return handle


def post_filter(
    handle: FakeHandle, pod: Pod = PREEMPTOR, statuses: Mapping[str, Status] | None = None, **args: int
) -> tuple[PostFilterResult | None, Status]:
    if statuses is None:
        statuses = {node.metadata.name: FULL for _, node in handle.cluster.nodes.existing()}
    plugin = DefaultPreemption(DefaultPreemptionArgs(**args), handle)
    info = handle.cluster.templates.info(pod)
    state = CycleState(info)
    handle.filters[0].pre_filter(state, info, handle.cluster.view())  # type: ignore[attr-defined]  # the fit filter

    async def run() -> tuple[PostFilterResult | None, Status]:
        answer = await plugin.post_filter(state, info, Diagnosis(ListedStatuses(statuses)))
        await asyncio.gather(*handle.tasks)
        return answer

    return asyncio.run(run())


def nominated(answer: tuple[PostFilterResult | None, Status]) -> str | None:
    result, status = answer
    assert status.is_success, status
    assert result is not None
    assert result.nominating is not None
    return result.nominating.node_name


@pytest.mark.parametrize("when", ["before the search", "while an extender is asked"])
def test_nobody_is_evicted_for_a_pod_that_is_gone(when: str) -> None:
    """It may have been deleted while an extender was asked, whether about nodes or about victims."""
    handle = cluster(2, voice := Voice(["n1"]))

    def pod_is_deleted() -> None:
        handle.objects.of(Pod).remove(PREEMPTOR)

    if when == "before the search":
        pod_is_deleted()
    else:
        voice.meanwhile = pod_is_deleted
    result, status = post_filter(handle)
    assert (result, status.code, status.message) == (None, Code.ERROR, 'preemption: pod "p" not found')
    assert handle.api.deleted == []


@pytest.mark.parametrize("is_async", [True, False], ids=["beside the cycle", "in the cycle"])
def test_preemption(is_async: bool) -> None:
    """A node is nominated and its victims are evicted, nobody else."""
    handle = cluster(gates=FeatureGates({"SchedulerAsyncPreemption": is_async}))
    node = nominated(post_filter(handle))
    assert handle.api.deleted == [f"default/v{(node or '')[1:]}"]


def test_equally_good_nodes_are_chosen_at_random() -> None:
    """Not always the first one."""
    chosen = set()
    for seed in range(12):
        chosen.add(nominated(post_filter(cluster(3, seed=seed))))
    assert chosen == {"n0", "n1", "n2"}


@pytest.mark.parametrize(
    ("pod", "statuses", "message"),
    [
        pytest.param(
            make_pod("p", priority=10, preemption_policy="Never"),
            None,
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="a pod that may not preempt",
        ),
        pytest.param(
            make_pod("p", cpu="2"),
            None,
            "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
            id="nobody of lower priority",
        ),
        pytest.param(
            make_pod("p", cpu="3", priority=10),
            None,
            "preemption: 0/2 nodes are available: 2 Insufficient cpu.",
            id="not enough even without them",
        ),
        pytest.param(
            PREEMPTOR,
            {"n0": Status.unresolvable("taint"), "n1": Status.unresolvable("taint")},
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            id="nodes where preemption cannot help",
        ),
    ],
)
def test_messages(pod: Pod, statuses: Mapping[str, Status] | None, message: str) -> None:
    """The words that users know from kube-scheduler."""
    handle = cluster().load(pod)
    result, status = post_filter(handle, pod, statuses)
    assert (status.code, status.message) == (Code.UNSCHEDULABLE, message)
    is_eligible = "not eligible" not in message
    assert (result is not None) is is_eligible  # an old claim is given up only if there is no hope
    assert handle.api.deleted == []


def test_a_node_that_needs_no_victims_is_an_error() -> None:
    """Something other than the filters refused it (an extender): evicting nobody would not help."""
    handle = cluster()
    result, status = post_filter(handle, make_pod("p", cpu="0", priority=10))
    problem = ", ".join(f'expected at least one victim pod on node "n{k}"' for k in range(2))
    assert (result, status.code) == (None, Code.ERROR)
    assert sorted(status.message.removeprefix("preemption: ").strip("[]").split(", ")) == problem.split(", ")


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "expected"),
    [
        pytest.param(40, 10, 1, 4, id="a part of the nodes"),
        pytest.param(40, 10, 7, 7, id="at least so many"),
        pytest.param(4, 100, 7, 4, id="never more than there are"),
    ],
)
def test_number_of_candidates(nodes: int, percentage: int, absolute: int, expected: int) -> None:
    """Enough candidates end the search."""
    handle = cluster(nodes, voice := Voice(keeps=("n0",), is_ignorable=True, error=KubeschedError("no")))
    post_filter(handle, min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)
    assert [len(names) for names in voice.asked] == [expected]


@pytest.mark.parametrize(
    ("voice", "code", "message"),
    [
        pytest.param(Voice(keeps=("n1",)), Code.SUCCESS, "", id="it strikes a candidate"),
        pytest.param(Voice(supports_preemption=False), Code.SUCCESS, "", id="it is not asked"),
        pytest.param(Voice(error=KubeschedError("down"), is_ignorable=True), Code.SUCCESS, "", id="it may fail"),
        pytest.param(Voice(error=KubeschedError("down")), Code.ERROR, "preemption: down", id="it must not fail"),
        pytest.param(
            Voice(), Code.UNSCHEDULABLE, "preemption: no candidate node for preemption", id="it strikes all candidates"
        ),
        pytest.param(
            Voice(keeps=("n1",), with_victims=False),
            Code.ERROR,
            'preemption: expected at least one victim pod on node "n1"',
            id="it spares all victims",
        ),
        pytest.param(
            Voice(keeps=("n1",), with_victims=False, is_ignorable=True),
            Code.UNSCHEDULABLE,
            "preemption: no candidate node for preemption",
            id="it spares all victims, which may be ignored",
        ),
    ],
)
def test_extenders(voice: Voice, code: Code, message: str) -> None:
    """Extenders that support preemption have a say."""
    handle = cluster(2, voice)
    result, status = post_filter(handle)
    assert (status.code, "" if status.is_success else status.message) == (code, message)
    if voice.keeps and status.is_success:
        assert nominated((result, status)) == "n1"


def test_dry_run_changes_nothing() -> None:
    """It names all candidates and those that are equally good."""
    handle = cluster(2).load(make_node("n2", cpu="2"), make_pod("v2", node="n2", cpu="2", priority=5))
    info = handle.cluster.templates.info(PREEMPTOR)
    state = CycleState(info)
    handle.filters[0].pre_filter(state, info, handle.cluster.view())  # type: ignore[attr-defined]  # the fit filter
    diagnosis = Diagnosis(ListedStatuses({f"n{k}": FULL for k in range(3)}))
    candidates, acceptable = DefaultPreemption(None, handle).dry_run(state, info, diagnosis)
    assert (set(candidates), set(acceptable)) == ({"n0", "n1", "n2"}, {"n0", "n1"})
    assert (handle.api.deleted, handle.tasks) == ([], [])


def test_a_pod_waits_while_its_victims_are_deleted() -> None:
    """PreEnqueue holds it back; the plugins that rejected it know when it is worth another try."""
    handle = cluster()
    plugin, info = DefaultPreemption(None, handle), handle.cluster.templates.info(PREEMPTOR)
    assert plugin.pre_enqueue(info).is_success
    state = CycleState(info)
    handle.filters[0].pre_filter(state, info, handle.cluster.view())  # type: ignore[attr-defined]  # the fit filter

    async def run() -> Status:
        await plugin.post_filter(state, info, Diagnosis(ListedStatuses({"n0": FULL})))
        status = plugin.pre_enqueue(info)
        await asyncio.gather(*handle.tasks)
        return status

    waiting = asyncio.run(run())
    message = "waiting for the preemption for this pod to be finished"
    assert (waiting.code, waiting.message) == (Code.UNRESOLVABLE, message)
    assert plugin.pre_enqueue(info).is_success
    (event,) = plugin.events_to_register()
    assert event.hint is not None
    assert event.hint(info, make_pod("v", node="n"), None) is Hint.SKIP
    synchronous = cluster(gates=FeatureGates({"SchedulerAsyncPreemption": False}))
    assert DefaultPreemption(None, synchronous).events_to_register() == ()


FOR_GROUPS = {"GenericWorkload": True, "GangScheduling": True, "WorkloadAwarePreemption": True}
IN_PLACEMENTS = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
RACKS = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


@pytest.mark.parametrize(
    ("gates", "spec", "message"),
    [
        pytest.param(FOR_GROUPS, {}, "not eligible due to workload aware preemption enabled", id="the group does"),
        pytest.param(
            FOR_GROUPS | IN_PLACEMENTS, {}, "not eligible due to workload aware preemption enabled", id="both gates"
        ),
        pytest.param(
            FOR_GROUPS | IN_PLACEMENTS,
            RACKS,
            "not eligible due to placement-based pod group scheduling limitation",
            id="both gates, and it has constraints",
        ),
        pytest.param(IN_PLACEMENTS, {}, "", id="placed as a group, without constraints"),
        pytest.param({}, {}, "", id="no gate"),
    ],
)
def test_a_pod_of_a_group(gates: dict[str, bool], spec: dict[str, object], message: str) -> None:
    """Whether it preempts by itself."""
    member = make_pod("p", cpu="2", priority=10, group="group")
    handle = cluster(gates=FeatureGates(gates, version=Version(1, 36))).load(member, make_pod_group(spec=spec))
    _, status = post_filter(handle, member)
    assert status.message == (f"preemption: {message}" if message else "")
    assert bool(handle.api.deleted) is not bool(message)


@pytest.mark.parametrize(
    ("version", "message"),
    [("1.36", ""), ("1.37", "preemption: found a potential placement for pod on node n0, preempting 1 victims")],
)
def test_the_message_of_success(version: str, message: str) -> None:
    """PreemptionNamesItsChoice: until v1.36 a pod that preempts others said nothing about it."""
    _, status = post_filter(cluster(gates=FeatureGates(version=Version.parse(version))))
    assert (status.is_success, status.message) == (True, message)


class Alone:
    """A dry_run of a group that wants the whole cluster for itself."""

    def __init__(self, handle: FakeHandle) -> None:
        self._placed = [info for info in handle.cluster.pods.infos if info is not None]
        self._there = {info.uid for info in self._placed}

    def placed(self) -> Iterator[PodInfo]:
        return iter(self._placed)

    def remove(self, pods: Iterable[PodInfo]) -> None:
        self._there -= {info.uid for info in pods}

    def put_back(self, pods: Iterable[PodInfo]) -> None:
        self._there |= {info.uid for info in pods}

    async def run(self) -> Status:
        return Status.unschedulable("somebody is there") if self._there else SUCCESS

    async def keeps_nodes(self) -> bool:
        return not self._there

    nodes: Mapping[str, str] = MappingProxyType({})
    attempts: Mapping[str, CycleState] = MappingProxyType({})


def group_preempts(
    plugin: DefaultPreemption, handle: FakeHandle, *, meanwhile: Callable[[], None], known: int = 2
) -> Status:
    group, pods = make_pod_group(spec={"priority": 10}), [make_pod(f"p{k}", group="group") for k in range(2)]
    handle.load(group, *pods[:known])
    members = [handle.cluster.templates.info(pod) for pod in pods]

    async def run() -> Status:
        _, status = await plugin.pod_group_post_filter(group, members, Alone(handle))
        meanwhile()
        await asyncio.gather(*handle.tasks)
        return status

    return asyncio.run(run())


def test_the_pods_of_a_group_wait_while_its_victims_are_deleted() -> None:
    """PreEnqueue holds all of them back, and nobody else."""
    handle = cluster(gates=FeatureGates(FOR_GROUPS, version=Version(1, 36))).load(make_pod_group("other"))
    plugin, seen = DefaultPreemption(None, handle), list[tuple[Code, str]]()

    def look() -> None:
        for name in ("group", "other", "missing", ""):
            status = plugin.pre_enqueue(handle.cluster.templates.info(make_pod("q", group=name)))
            seen.append((status.code, status.message))

    assert group_preempts(plugin, handle, meanwhile=look).is_success
    message = "waiting for the preemption for this pod group to be finished"
    assert seen == [(Code.UNRESOLVABLE, message), *[(Code.SUCCESS, "")] * 3]
    assert sorted(handle.api.deleted) == ["default/v0", "default/v1"]
    seen.clear()
    look()
    assert seen == [(Code.SUCCESS, "")] * 4


@pytest.mark.parametrize("error", [None, TransportError("no answer")], ids=["all goes well", "a call fails"])
def test_a_group_preempts_in_its_cycle(error: Exception | None) -> None:
    """Without asynchronous preemption the victims are deleted when the answer comes."""
    handle = cluster(gates=FeatureGates({**FOR_GROUPS, "SchedulerAsyncPreemption": False}, version=Version(1, 36)))
    handle.api.error = error
    status = group_preempts(DefaultPreemption(None, handle), handle, meanwhile=lambda: None)
    assert (status.code, status.message) == ((Code.ERROR, "no answer") if error else (Code.SUCCESS, ""))
    assert handle.tasks == []


@pytest.mark.parametrize(("known", "is_evicting"), [(1, True), (0, False)], ids=["one is left", "nobody is left"])
def test_nobody_is_evicted_for_a_group_that_is_gone(known: int, is_evicting: bool) -> None:
    """Its pods may have been deleted while it was rehearsed."""
    handle = cluster(gates=FeatureGates(FOR_GROUPS, version=Version(1, 36)))
    status = group_preempts(DefaultPreemption(None, handle), handle, meanwhile=lambda: None, known=known)
    assert status.message == ("" if is_evicting else "no pod of pod group default/group is left")
    assert bool(handle.api.deleted) is is_evicting


def test_a_group_that_finds_nobody() -> None:
    """Nothing happens, and the answer says so."""
    handle = FakeHandle(gates=FeatureGates(FOR_GROUPS, version=Version(1, 36)))
    status = group_preempts(DefaultPreemption(None, handle), handle, meanwhile=lambda: None)
    assert (status.code, status.message) == (
        Code.UNRESOLVABLE,
        "No preemption victims found for incoming preemptor",
    )
