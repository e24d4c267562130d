"""DynamicResources for pods of a group that are tried together: an allocation on its way is one for all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.scheduler.plugins.store_handlers import StoreHandlers

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.config import FeatureGates
from kubesched.errors import ApiStatusError
from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.meta import ObjectMeta
from kubesched.scheduler.columns import NodeView
from kubesched.scheduler.framework import CycleState, Status, Verdict
from kubesched.scheduler.plugins.dynamic_resources import NAME, DynamicResources
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.testing import make_node, make_pod, make_pod_group
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle

POOL = ("gpu.example.com", "a")


class StrictApi(MemoryApi):
    """Answers after a while, counts versions, and refuses patches of outdated objects, as API servers do."""

    async def patch(self, kind: Any, name: str, body: Any, *, namespace: str = "", subresource: str = "") -> Any:
        await asyncio.sleep(0)
        current = self._current(kind, name, namespace).metadata.resource_version
        if body.get("metadata", {}).get("resourceVersion", current) != current:
            raise ApiStatusError(409, "Conflict", "the object has been modified")
        return await super().patch(kind, name, body, namespace=namespace)

    def _newer(self, metadata: ObjectMeta) -> ObjectMeta:
        self._writes += 1
        return replace(metadata, resource_version=str(self._writes))


class Trial:
    """Pods of one group, tried one after the other on nodes `a` and `b`; the devices are on `a`."""

    def __init__(self, *objects: Any, gates: FeatureGates | None = None) -> None:
        self.api = StrictApi()
        self.handle = FakeHandle(api=self.api, gates=gates or FeatureGates())  # type: ignore[arg-type]
        self.api.connect(self.handle.objects, StoreHandlers(self.handle.objects))
        self.handle.load(make_node("a", cpu="4"), make_node("b", cpu="4"), make_device_class(), *objects)
        self.plugin = DynamicResources(None, self.handle)
        self.placed_group_members: set[str] = set()
        self.states: dict[str, CycleState] = {}

    @property
    def nodes(self) -> NodeView:
        return self.handle.cluster.view()

    def pre_filter(self, pod: Pod) -> Status:
        state = CycleState(self.handle.cluster.templates.info(pod), placed_group_members=self.placed_group_members)
        self.states[pod.metadata.name] = state
        return self.plugin.pre_filter(state, state.pod, self.nodes)

    def filter(self, pod: Pod) -> Verdict:
        assert self.pre_filter(pod).is_success
        state = self.states[pod.metadata.name]
        return self.plugin.filter_nodes(state, state.pod.template, self.nodes)

    def place(self, *pods: Pod) -> None:
        """PreFilter, Filter and Reserve on node a, for each."""
        for pod in pods:
            verdict = self.filter(pod)
            assert verdict.status(0, "").is_success, verdict.status(0, "")
            assert self.plugin.reserve(self.states[pod.metadata.name], pod, "a").is_success
            self.placed_group_members.add(pod.metadata.uid)

    def attempt(self, pod: Pod) -> Attempt:
        return self.states[pod.metadata.name].read(NAME, Attempt)

    def unreserve(self, pod: Pod) -> None:
        self.plugin.unreserve(self.states[pod.metadata.name], pod, "a")

    async def pre_bind(self, pod: Pod) -> Status:
        return await self.plugin.pre_bind(self.states[pod.metadata.name], pod, "a")

    def claim(self, name: str = "claim") -> ResourceClaim:
        found = self.handle.objects.of(ResourceClaim).get(name, "default")
        assert found is not None
        return found

    def owners(self) -> dict[str, int]:
        """The devices of node a that are taken."""
        return dict(ClaimTracker.shared(self.handle.objects, counts_shares=True).usage(POOL).owners)


def member(name: str, *claims: str, spec: Any = None) -> Pod:
    used = [{"name": claim, "resourceClaimName": claim} for claim in claims or ("claim",)]
    return make_pod(name, group="group", spec={"resourceClaims": used, **(spec or {})})


def trial(*objects: Any) -> Trial:
    return Trial(make_resource_slice(node="a", devices=("x", "y", "z")), make_resource_claim(), *objects)


def test_only_companions_share() -> None:
    """A pod that is tried with others gets their devices, and can only be where these are; anybody else waits."""
    made, first, second = trial(), member("p0"), member("p1")
    made.place(first)
    verdict = made.filter(second)
    assert verdict.status(0, "").is_success
    assert verdict.status(1, "").message == "resourceclaim not available on the node"
    assert not made.attempt(second).unavailable, "there is nothing that PostFilter could give up"
    made.placed_group_members = set()
    message = "resource claim default/claim is in the process of being allocated"
    assert made.pre_filter(second) == Status.unresolvable(message)


def test_devices_are_held_until_the_last_lets_go() -> None:
    """Letting go twice is letting go once."""
    made, first, second = trial(), member("p0"), member("p1")
    made.place(first, second)
    assert made.owners() == {"x": 1}
    made.unreserve(first)
    made.unreserve(first)
    assert made.owners() == {"x": 1}
    made.unreserve(second)
    assert made.owners() == {}
    assert made.pre_filter(member("p2")).is_success


def test_a_group_that_is_committed_has_the_devices_of_its_trial() -> None:
    """All is undone after the trial, and reserved once more, without another search."""
    made, pods = trial(), [member("p0"), member("p1")]
    made.place(*pods)
    tried = [made.attempt(pod).decided[0] for pod in pods]
    for pod in pods:
        made.unreserve(pod)
    for pod in pods:
        assert made.plugin.reserve(made.states[pod.metadata.name], pod, "a").is_success
    assert [made.attempt(pod).decided[0] for pod in pods] == tried
    assert tried[0] is tried[1]


@pytest.mark.parametrize("first_to_bind", [0, 1], ids=["the first is bound first", "the second is bound first"])
async def test_whoever_is_bound_first_writes_the_allocation(first_to_bind: int) -> None:
    """The others add their reservations to it, all at once, and nobody fails."""
    made, pods = trial(), [member(f"p{k}") for k in range(12)]
    made.place(*pods)
    pods[0], pods[first_to_bind] = pods[first_to_bind], pods[0]
    statuses = await asyncio.gather(*(made.pre_bind(pod) for pod in pods))
    assert all(status.is_success for status in statuses), statuses
    claim = made.claim()
    assert [consumer.name for consumer in claim.status.reserved_for] == [pod.metadata.name for pod in pods]
    assert claim.status.allocation is not None
    assert made.owners() == {"x": 1}
    made.handle.load(replace(make_resource_claim(), metadata=replace(claim.metadata, resource_version="1000")))
    assert made.owners() == {}, "nobody holds what was written"


@pytest.mark.parametrize("is_allocated", [False, True], ids=["allocated for them", "allocated before"])
async def test_a_claim_of_the_group_is_reserved_once(is_allocated: bool) -> None:
    """By the pod that is bound first; the others find that done."""
    entry = {"name": "claim", "resourceClaimName": "claim"}
    result = {"request": "req", "driver": POOL[0], "pool": POOL[1], "device": "x"}
    made = Trial(
        make_resource_slice(node="a", devices=("x",)),
        make_resource_claim(allocation={"devices": {"results": [result]}} if is_allocated else None),
        make_pod_group(spec={"resourceClaims": [entry]}),
        gates=FeatureGates({"DRAWorkloadResourceClaims": True, "GenericWorkload": True}),
    )
    pods = [member(f"p{k}") for k in range(4)]
    made.place(*pods)
    statuses = await asyncio.gather(*(made.pre_bind(pod) for pod in pods))
    assert all(status.is_success for status in statuses), statuses
    assert [(c.resource, c.name) for c in made.claim().status.reserved_for] == [("podgroups", "group")]


async def test_an_allocation_of_somebody_else_is_refused() -> None:
    """Other devices than those that the group decided on are none of its own."""
    made, pod = trial(), member("p0")
    made.place(pod)
    result = {"request": "req", "driver": POOL[0], "pool": POOL[1], "device": "z"}
    made.handle.load(make_resource_claim(allocation={"devices": {"results": [result]}}))
    status = await made.pre_bind(pod)
    assert status.message == "claim default/claim got allocated elsewhere in the meantime"


async def test_a_failed_write_leaves_the_devices_to_the_others() -> None:
    """They are not free meanwhile."""
    made, first, second = trial(), member("p0"), member("p1")
    made.place(first, second)
    claim = made.claim()
    made.handle.objects.of(ResourceClaim).remove(claim)
    assert not (await made.pre_bind(first)).is_success
    made.unreserve(first)
    assert made.owners() == {"x": 1}
    made.handle.load(claim)
    assert (await made.pre_bind(second)).is_success
    assert [consumer.name for consumer in made.claim().status.reserved_for] == ["p1"]


def test_what_is_shared_counts_in_the_score() -> None:
    """As much as if it were written already: the better alternative of a list is worth 8, the next one 7."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    request = [{"name": "r", "firstAvailable": [{"name": name, **exactly} for name in ("better", "good")]}]
    made = trial(*(make_resource_claim(name, requests=request) for name in ("listed", "own")))
    made.place(member("p0", "listed"))
    second = member("p1", "listed", "own")
    assert made.filter(second).status(0, "").is_success
    state = made.states["p1"]
    assert made.plugin.score_nodes(state, state.pod.template, made.nodes).tolist()[0] == 16


@pytest.mark.parametrize(
    ("cpu", "message"),
    [
        pytest.param("1", "", id="it fits"),
        pytest.param("2500m", "Insufficient cpu", id="the node has too little for pod and claim"),
    ],
)
def test_what_is_shared_takes_resources_from_the_node(cpu: str, message: str) -> None:
    """A pod that gets devices which stand for the node's cpus counts with them, whoever found them."""
    mapped = {"name": "x", "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}
    gates = FeatureGates({"DRANodeAllocatableResources": True})
    made = Trial(make_resource_slice(node="a", devices=(mapped,)), make_resource_claim(), gates=gates)
    users = [_user("p0", "1"), _user("p1", cpu)]
    made.place(users[0])
    assert made.filter(users[1]).status(0, "").message == message
    assert [status.resource_claim_name for status in made.attempt(users[1]).taken_from_node[0]] == ["claim"]


async def test_only_what_was_told_is_taken_back() -> None:
    """The end of a trial writes nothing: that could come after what the binding writes."""
    mapped = {"name": "x", "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}
    gates = FeatureGates({"DRANodeAllocatableResources": True})
    made = Trial(make_resource_slice(node="a", devices=(mapped,)), make_resource_claim(), gates=gates)
    user = _user("p0", "1")
    made.handle.load(user)
    made.place(user)
    made.unreserve(user)
    assert made.handle.tasks == []
    assert made.plugin.reserve(made.states["p0"], user, "a").is_success
    assert (await made.pre_bind(user)).is_success
    told = made.handle.objects.of(Pod).get("p0", "default")
    assert told is not None
    assert [status.resource_claim_name for status in told.status.node_allocatable_resource_claim_statuses] == ["claim"]
    made.unreserve(user)
    await asyncio.gather(*made.handle.tasks)
    told = made.handle.objects.of(Pod).get("p0", "default")
    assert told is not None
    assert told.status.node_allocatable_resource_claim_statuses == ()


def _user(name: str, cpu: str) -> Pod:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}, "claims": [{"name": "claim"}]}}
    return member(name, spec={"containers": [container]})
