"""DynamicResources with claims of pod groups (gate DRAWorkloadResourceClaims): for whom, and when given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.scheduler.plugins.store_handlers import StoreHandlers

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.config import FeatureGates
from kubesched.errors import ApiStatusError
from kubesched.objects import Pod, PodGroup, ResourceClaim, convert
from kubesched.objects.scheduling import PodGroupStatus
from kubesched.scheduler.framework import CycleState, Diagnosis, Hint, Resource, Status
from kubesched.scheduler.framework.diagnosis import ListedStatuses
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.testing import make_node, make_pod, make_pod_group
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle

GATES = FeatureGates({"DRAWorkloadResourceClaims": True, "GenericWorkload": True})
OF_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": "default/group"}
GROUP_OWNER = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "group", "uid": "default/group"}
NAMED = {"name": "c", "resourceClaimName": "claim"}
TEMPLATE = {"name": "c", "resourceClaimTemplateName": "template"}
GENERATED = [{"name": "c", "resourceClaimName": "claim"}]


def member(entry: Any = NAMED, group: str = "group", statuses: Sequence[Any] = (), **pod: Any) -> Pod:
    spec = {"resourceClaims": [entry] if entry else []}
    return make_pod("p", group=group, spec=spec, status={"resourceClaimStatuses": list(statuses)}, **pod)


def group_with(*entries: Any, statuses: Sequence[Any] = ()) -> PodGroup:
    group = make_pod_group(spec={"resourceClaims": list(entries)})
    return replace(group, status=convert({"resourceClaimStatuses": list(statuses)}, PodGroupStatus))


def claim(name: str = "claim", *reserved_for: Any, node: str | None = None, owner: Any = None) -> ResourceClaim:
    """A claim; with a node it has a device there."""
    if node is None:
        return make_resource_claim(name, owner=owner)
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    result = {"request": "req", "driver": "gpu.example.com", "pool": node, "device": "x"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    return make_resource_claim(name, owner=owner, allocation=allocation, reserved_for=reserved_for)


class World:
    """A node with a device, and a pod on its way."""

    def __init__(self, pod: Pod, *objects: Any, gates: FeatureGates = GATES) -> None:
        self.pod, self.api = pod, MemoryApi()
        self.handle = FakeHandle(api=self.api, gates=gates)  # type: ignore[arg-type]  # another ApiWriter
        self.api.connect(self.handle.objects, StoreHandlers(self.handle.objects))
        self.handle.load(make_node("a"), make_device_class(), make_resource_slice(node="a", devices=("x",)), *objects)
        self.plugin = DynamicResources(None, self.handle)
        self.info = self.handle.cluster.templates.info(pod)
        self.state = CycleState(self.info)
        self.handle.pod_groups.add(self.info)

    def pre_filter(self) -> Status:
        return self.plugin.pre_filter(self.state, self.info, self.handle.cluster.view())

    def filter(self) -> Status:
        assert self.pre_filter().is_success
        verdict = self.plugin.filter_nodes(self.state, self.info.template, self.handle.cluster.view())
        return verdict.status(0, "")

    async def bind(self) -> Status:
        assert self.filter().is_success
        assert self.plugin.reserve(self.state, self.pod, "a").is_success
        return await self.plugin.pre_bind(self.state, self.pod, "a")

    async def post_filter(self) -> Status:
        _, status = await self.plugin.post_filter(self.state, self.info, Diagnosis(ListedStatuses({}), node_count=1))
        return status

    def consumers(self, name: str = "claim") -> list[tuple[str, str, str, str]]:
        found = self.handle.objects.of(ResourceClaim).get(name, "default")
        assert found is not None
        return [(c.api_group, c.resource, c.name, c.uid) for c in found.status.reserved_for]


POD = ("", "pods", "p", "default/p")
GROUP = ("scheduling.k8s.io", "podgroups", "group", "default/group")


@pytest.mark.parametrize("allocated_on", [None, "a"], ids=["not allocated yet", "allocated"])
@pytest.mark.parametrize(
    ("entry", "of_group", "gates", "consumer"),
    [
        pytest.param(NAMED, [NAMED], GATES, GROUP, id="the group names the same claim"),
        pytest.param(TEMPLATE, [TEMPLATE], GATES, GROUP, id="the group names the same template"),
        pytest.param(NAMED, [{**NAMED, "name": "d"}, NAMED], GATES, GROUP, id="one of several"),
        pytest.param(NAMED, [], GATES, POD, id="the group has no claims"),
        pytest.param(NAMED, [{**NAMED, "name": "d"}], GATES, POD, id="under another name"),
        pytest.param(NAMED, [{**NAMED, "resourceClaimName": "d"}], GATES, POD, id="another claim"),
        pytest.param(NAMED, [TEMPLATE], GATES, POD, id="a template instead of a claim"),
        pytest.param(NAMED, [NAMED], FeatureGates(), POD, id="the gate is off"),
    ],
)
async def test_for_whom_a_claim_is_reserved(
    entry: Any, of_group: Sequence[Any], gates: FeatureGates, consumer: Any, allocated_on: str | None
) -> None:
    """For the group, if it names the claim just as the pod does; else for the pod."""
    pod = member(entry, statuses=GENERATED)
    used = claim(node=allocated_on, owner=GROUP_OWNER)
    w = World(pod, used, group_with(*of_group, statuses=GENERATED), gates=gates)
    assert (await w.bind()).is_success
    assert w.consumers() == [consumer]


async def test_a_pod_without_a_group_reserves_for_itself() -> None:
    w = World(member(group=""), claim())
    assert (await w.bind()).is_success
    assert w.consumers() == [POD]


async def test_an_entry_that_needs_no_claim_does_not_shift_the_others() -> None:
    """Each claim is reserved for whom its own entry says."""
    spec = {"resourceClaims": [TEMPLATE, {"name": "d", "resourceClaimName": "claim"}]}
    pod = make_pod("p", group="group", spec=spec, status={"resourceClaimStatuses": [{"name": "c"}]})
    w = World(pod, claim(), group_with(TEMPLATE))
    assert (await w.bind()).is_success
    assert w.consumers() == [POD]


@pytest.mark.parametrize(
    ("gates", "consumers"),
    [
        pytest.param(GATES, [GROUP], id="the group's reservation suffices"),
        pytest.param(FeatureGates(), [GROUP, POD], id="the gate is off"),
    ],
)
async def test_a_claim_that_is_reserved_for_the_group(gates: FeatureGates, consumers: Any) -> None:
    """Nothing is written, even for a pod that names the claim in its own way."""
    w = World(member(), claim("claim", OF_GROUP, node="a"), group_with(), gates=gates)
    assert (await w.bind()).is_success
    assert w.consumers() == consumers


@pytest.mark.parametrize(
    ("owner", "group", "gates", "reason"),
    [
        pytest.param(GROUP_OWNER, "group", GATES, "", id="made for the group"),
        pytest.param({**GROUP_OWNER, "apiVersion": "scheduling.k8s.io/v1"}, "group", GATES, "", id="another version"),
        pytest.param({"uid": "default/p"}, "group", GATES, "", id="made for the pod"),
        pytest.param(
            {**GROUP_OWNER, "name": "other"},
            "group",
            GATES,
            "neither Pod nor PodGroup group is the owner",
            id="made for another group",
        ),
        pytest.param(
            {**GROUP_OWNER, "kind": "Workload"},
            "group",
            GATES,
            "neither Pod nor PodGroup group is the owner",
            id="made for another kind",
        ),
        pytest.param(
            {**GROUP_OWNER, "apiVersion": "example.com/v1"},
            "group",
            GATES,
            "neither Pod nor PodGroup group is the owner",
            id="made for a group of another API",
        ),
        pytest.param(None, "group", GATES, "neither Pod nor PodGroup group is the owner", id="made for nobody"),
        pytest.param(GROUP_OWNER, "", GATES, "Pod is not owner", id="a pod without a group"),
        pytest.param(GROUP_OWNER, "group", FeatureGates(), "Pod is not owner", id="the gate is off"),
    ],
)
def test_claims_made_from_a_template(owner: Any, group: str, gates: FeatureGates, reason: str) -> None:
    """They must have been made for the pod or its group: PreEnqueue and PreFilter say so, and hints know it."""
    pod, used = member(TEMPLATE, group=group, statuses=GENERATED), claim(owner=owner)
    w = World(pod, used, group_with(TEMPLATE), gates=gates)
    message = f"ResourceClaim default/claim was not created for Pod default/p ({reason})"
    expected = Status.unresolvable(message) if reason else Status()
    assert w.plugin.pre_enqueue(w.info) == expected
    assert w.pre_filter() == expected
    hints: dict[Any, Any] = {event.event.resource: event.hint for event in w.plugin.events_to_register()}
    expected_hint = Hint.SKIP if reason else Hint.QUEUE
    assert hints[Resource.RESOURCE_CLAIM](w.info, None, used) is expected_hint
    assert hints[Resource.POD](w.info, None, pod) is expected_hint


@pytest.mark.parametrize(
    ("pod", "objects", "message"),
    [
        pytest.param(member(), [claim()], 'podgroup.scheduling.k8s.io "group" not found', id="the group is gone"),
        pytest.param(
            member(None), [], 'podgroup.scheduling.k8s.io "group" not found', id="the same for a pod without claims"
        ),
        pytest.param(
            member(),
            [claim(), group_with({"name": "d"})],
            "PodGroup default/group claim d: none of the supported fields are set",
            id="a claim of the group that is named in no known way",
        ),
    ],
)
def test_pods_wait_for_their_group(pod: Pod, objects: Sequence[Any], message: str) -> None:
    w = World(pod, *objects)
    assert w.plugin.concerns(w.info.template)
    assert w.pre_filter() == Status.unresolvable(message)


async def test_a_pod_that_is_not_bound_leaves_the_groups_reservation() -> None:
    """Others of the group may need it."""
    w = World(member(), claim(), group_with(NAMED))
    assert (await w.bind()).is_success
    w.plugin.unreserve(w.state, w.pod, "a")
    assert w.handle.tasks == []
    assert w.consumers() == [GROUP]


ELSEWHERE = claim("claim", OF_GROUP, node="b")
UNRESERVED = Status.unresolvable("ResourceClaim unreserved for PodGroup")
STUCK = Status.unschedulable()


@pytest.mark.parametrize(
    ("used", "group", "gates", "status", "consumers"),
    [
        pytest.param(ELSEWHERE, group_with(NAMED), GATES, UNRESERVED, [], id="reserved for the group"),
        pytest.param(ELSEWHERE, group_with(NAMED), FeatureGates(), STUCK, [GROUP], id="the gate is off"),
        pytest.param(ELSEWHERE, group_with(), GATES, STUCK, [GROUP], id="it is none of the group's claims"),
        pytest.param(
            claim("claim", OF_GROUP, {"resource": "pods", "name": "q", "uid": "default/q"}, node="b"),
            group_with(NAMED),
            GATES,
            UNRESERVED,
            [("", "pods", "q", "default/q")],
            id="others use it, too",
        ),
        pytest.param(
            ELSEWHERE,
            group_with({"name": "d", "resourceClaimTemplateName": "t"}),
            GATES,
            Status.failed("PodGroup default/group: ResourceClaim not created yet"),
            [GROUP],
            id="another claim of the group was not made yet",
        ),
        pytest.param(
            ELSEWHERE,
            group_with({"name": "d", "resourceClaimName": "missing"}),
            GATES,
            Status.failed('could not find ResourceClaim "default/missing"'),
            [GROUP],
            id="another claim of the group is gone",
        ),
        pytest.param(
            ELSEWHERE,
            group_with(TEMPLATE, statuses=GENERATED),
            GATES,
            STUCK,
            [GROUP],
            id="a claim under the name of the group's own that was made for somebody else",
        ),
        pytest.param(
            claim("claim", OF_GROUP, node="b", owner=GROUP_OWNER),
            group_with(TEMPLATE, statuses=GENERATED),
            GATES,
            UNRESERVED,
            [],
            id="made from a template for the group",
        ),
        pytest.param(
            ELSEWHERE,
            group_with({"name": "d", "resourceClaimTemplateName": "t"}, NAMED, statuses=[{"name": "d"}]),
            GATES,
            UNRESERVED,
            [],
            id="beside one that needed not be made",
        ),
    ],
)
async def test_a_group_that_fits_nowhere_gives_up_a_claim(
    used: ResourceClaim, group: PodGroup, gates: FeatureGates, status: Status, consumers: Any
) -> None:
    """Its reservation first; then nobody uses it, and the next attempt gives up the devices."""
    w = World(member(), used, group, gates=gates)
    assert w.filter().message == "resourceclaim not available on the node"
    assert (await w.post_filter()).message == status.message
    assert w.consumers() == consumers


@pytest.mark.parametrize(
    ("placed_group_members", "status"),
    [
        pytest.param(set(), STUCK, id="a pod of the group has a node"),
        pytest.param({"default/q"}, UNRESERVED, id="hypothetically only"),
    ],
)
async def test_a_claim_that_pods_of_the_group_use_is_kept(placed_group_members: set[str], status: Status) -> None:
    """Whoever is bound, or on the way there, may use it already."""
    w = World(member(), ELSEWHERE, group_with(NAMED))
    other = w.handle.cluster.templates.info(make_pod("q", group="group"))
    w.handle.pod_groups.add(other)
    w.handle.pod_groups.assume(other)
    w.state.placed_group_members = placed_group_members
    assert not w.filter().is_success
    assert await w.post_filter() == status


async def test_the_devices_of_a_claim_that_nobody_uses_are_given_up() -> None:
    """As for any other claim."""
    w = World(member(), claim(node="b"), group_with(NAMED))
    assert not w.filter().is_success
    assert await w.post_filter() == Status.unschedulable("deallocation of ResourceClaim completed")
    found = w.handle.objects.of(ResourceClaim).get("claim", "default")
    assert found is not None
    assert found.status.allocation is None


async def test_a_claim_that_cannot_be_written_is_left() -> None:
    """The next one of the group is tried."""
    second = claim("second", OF_GROUP, node="b")
    w = World(member(), ELSEWHERE, second, group_with(NAMED, {"name": "d", "resourceClaimName": "second"}))
    patch = w.api.patch

    async def refuse(kind: Any, name: str, *rest: Any, **options: Any) -> Any:
        if name == "claim":
            raise ApiStatusError(403, "Forbidden", "not allowed")
        return await patch(kind, name, *rest, **options)

    w.api.patch = refuse  # type: ignore[method-assign]  # an API server that refuses one write
    assert not w.filter().is_success
    assert await w.post_filter() == UNRESERVED
    assert (w.consumers("claim"), w.consumers("second")) == ([GROUP], [])
