from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from kubesched.clock import VirtualClock
from kubesched.config.plugin_args import VolumeBindingArgs
from kubesched.errors import ApiStatusError
from kubesched.objects import Node, PersistentVolume, PersistentVolumeClaim, Pod, convert
from kubesched.scheduler.framework import Code, CycleState, Status
from kubesched.scheduler.plugins.volume_binding import VolumeBinding
from kubesched.testing import make_node, make_pod, make_pv, make_pvc, make_storage_class
from kubesched.testing.handle import FakeHandle, ask
from kubesched.testing.recording import RecordingApi

T = TypeVar("T")

HOSTNAME = "kubernetes.io/hostname"
ON_N = {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["n"]}]}]}
STATIC = make_storage_class("sc", provisioner="kubernetes.io/no-provisioner", wait_for_first_consumer=True)
DYNAMIC = make_storage_class("dyn", wait_for_first_consumer=True)
SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"


@dataclass
class Failures:
    stages: list[str] = field(default_factory=list)

    def stage_failed(self, operation: str) -> None:
        self.stages.append(operation)


class AnsweringApi(RecordingApi):
    """Every write makes version 2 of an object."""

    async def patch(
        self, kind: type[T], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> T:
        await super().patch(kind, name, body, namespace=namespace, subresource=subresource)
        return convert({"metadata": {"name": name, "namespace": namespace, "resourceVersion": "2"}}, kind)


class Attempt:
    """One pod on its way to the node `n`, with a volume to bind (`c`) and one to provision (`d`)."""

    def __init__(self, claims: tuple[str, ...] = ("c", "d")) -> None:
        self.clock = VirtualClock()
        self.failures = Failures()
        self.pod = make_pod("p", claims=claims)
        self.handle = FakeHandle(clock=self.clock, api=AnsweringApi(), volume_observer=self.failures).load(
            make_node("n"),
            STATIC,
            DYNAMIC,
            versioned(make_pv("v", storage_class="sc", node_affinity=ON_N)),
            versioned(make_pvc("c", storage_class="sc")),
            versioned(make_pvc("d", storage_class="dyn")),
            self.pod,
        )
        self.plugin = VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=60), self.handle)
        self.info = self.handle.cluster.templates.info(self.pod)
        self.state = CycleState(self.info)
        assert self.plugin.pre_filter(self.state, self.info, self.handle.cluster.view()).is_success

    def reserve(self) -> None:
        assert self.plugin.reserve(self.state, self.pod, "n").is_success

    async def start(self) -> asyncio.Task[Status]:
        """Until the first pause."""
        binding = asyncio.ensure_future(self.plugin.pre_bind(self.state, self.pod, "n"))
        await self.clock.advance(0)
        return binding

    def change(self, kind: type[Any], name: str, change: Callable[[Any], Any]) -> None:
        store = self.handle.objects.of(kind)
        obj = store.get(name, "default" if kind is PersistentVolumeClaim else "")
        store.set(versioned(change(obj), "2"))

    def volume_refers_to_claim(self) -> None:
        reference = {"namespace": "default", "name": "c", "uid": "default/c"}
        volume = make_pv("v", storage_class="sc", node_affinity=ON_N, spec={"claimRef": reference})
        self.handle.objects.of(PersistentVolume).set(versioned(volume, "2"))

    def claim_is_bound(self, name: str, volume: str) -> None:
        annotations = {SELECTED: "n", COMPLETED: "yes"}
        claim = make_pvc(name, volume=volume, annotations=annotations, storage_class="sc")
        self.handle.objects.of(PersistentVolumeClaim).set(versioned(claim, "3"))


def versioned(obj: Any, version: str = "1") -> Any:
    return replace(obj, metadata=replace(obj.metadata, resource_version=version))


async def test_writes_and_waits_until_everything_is_bound() -> None:
    """The volume gets its claim, the claim its node; then the controllers do the rest, and the pod goes on."""
    attempt = Attempt()
    attempt.reserve()
    assert attempt.plugin.pre_bind_preflight(attempt.state, attempt.pod, "n").is_success
    binding = await attempt.start()
    await attempt.clock.advance(5)
    assert not binding.done()
    (kind, name, body, _), (claim_kind, claim_name, claim_body, _) = attempt.handle.api.patches
    assert (kind, name, claim_kind, claim_name) == ("PersistentVolume", "v", "PersistentVolumeClaim", "default/d")
    assert body["metadata"] == {"resourceVersion": "1", "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
    assert body["spec"]["claimRef"]["uid"] == "default/c"
    assert claim_body == {"metadata": {"resourceVersion": "1", "annotations": {SELECTED: "n"}}}
    attempt.volume_refers_to_claim()
    attempt.claim_is_bound("c", "v")
    attempt.change(PersistentVolumeClaim, "d", lambda c: with_annotations(c, {SELECTED: "n"}))
    await attempt.clock.advance(2)
    assert not binding.done()
    attempt.handle.load(make_pv("made", claim="default/d"))
    attempt.claim_is_bound("d", "made")
    await attempt.clock.advance(2)
    assert (await binding).is_success
    assert attempt.failures.stages == []


def with_annotations(obj: Any, annotations: dict[str, str]) -> Any:
    return replace(obj, metadata=replace(obj.metadata, annotations=annotations))


def _pod_is_gone(attempt: Attempt) -> None:
    attempt.handle.objects.of(Pod).remove(attempt.pod)


def _node_is_gone(attempt: Attempt) -> None:
    attempt.handle.cluster.remove_node("n")


def _node_has_other_labels(attempt: Attempt) -> None:
    attempt.volume_refers_to_claim()
    node: Node = make_node("n", labels={HOSTNAME: "other"})
    attempt.handle.cluster.set_node(node)


def _volume_is_gone(attempt: Attempt) -> None:
    attempt.handle.objects.of(PersistentVolume).remove(make_pv("v"))


def _claim_is_gone(attempt: Attempt) -> None:
    attempt.handle.objects.of(PersistentVolumeClaim).remove(make_pvc("c"))


def _reference_was_reset(attempt: Attempt) -> None:
    attempt.change(PersistentVolume, "v", lambda v: v)


def _provisioning_failed(attempt: Attempt) -> None:
    attempt.volume_refers_to_claim()
    attempt.claim_is_bound("c", "v")
    attempt.change(PersistentVolumeClaim, "d", lambda c: with_annotations(c, {"other": "x"}))


def _annotations_are_gone(attempt: Attempt) -> None:
    attempt.volume_refers_to_claim()
    attempt.claim_is_bound("c", "v")
    attempt.change(PersistentVolumeClaim, "d", lambda c: with_annotations(c, {}))


def _provisioned_claim_is_gone(attempt: Attempt) -> None:
    attempt.volume_refers_to_claim()
    attempt.claim_is_bound("c", "v")
    attempt.handle.objects.of(PersistentVolumeClaim).remove(make_pvc("d"))


def _provisioned_elsewhere(attempt: Attempt) -> None:
    attempt.volume_refers_to_claim()
    attempt.claim_is_bound("c", "v")
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]}
    attempt.handle.load(make_pv("made", claim="default/d", node_affinity=affinity))
    attempt.claim_is_bound("d", "made")


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        pytest.param(_pod_is_gone, 'pod does not exist any more: pod "p" not found', id="the pod is deleted"),
        pytest.param(_node_is_gone, 'failed to get node "n": node "n" not found', id="the node is gone"),
        pytest.param(
            _node_has_other_labels,
            'pv "v" node affinity doesn\'t match node "n": no matching NodeSelectorTerms',
            id="the node no longer reaches the volume",
        ),
        pytest.param(
            _volume_is_gone, 'failed to check binding: persistentvolumes "v" not found', id="the volume is gone"
        ),
        pytest.param(
            _claim_is_gone,
            'failed to check binding: persistentvolumeclaims "default/c" not found',
            id="the claim is gone",
        ),
        pytest.param(_reference_was_reset, 'ClaimRef got reset for pv "v"', id="the binding was undone"),
        pytest.param(_provisioning_failed, 'provisioning failed for PVC "d"', id="the provisioner gave up"),
        pytest.param(_annotations_are_gone, 'selectedNode annotation reset for PVC "d"', id="all annotations are gone"),
        pytest.param(
            _provisioned_claim_is_gone,
            'failed to check provisioning pvc: persistentvolumeclaims "default/d" not found',
            id="the claim to provision is gone",
        ),
        pytest.param(
            _provisioned_elsewhere,
            'pv "made" node affinity doesn\'t match node "n": no matching NodeSelectorTerms',
            id="the volume was made out of reach",
        ),
    ],
)
async def test_gives_up_when_waiting_is_pointless(happens: Callable[[Attempt], None], message: str) -> None:
    """The pod is tried again from the start; the message says why."""
    attempt = Attempt()
    attempt.reserve()
    binding = await attempt.start()
    happens(attempt)
    await attempt.clock.advance(2)
    status = await binding
    assert (status.code, status.message) == (Code.ERROR, f"binding volumes: {message}")
    assert attempt.failures.stages == ["bind"]


async def test_gives_up_after_the_timeout() -> None:
    """Nobody binds the volumes."""
    attempt = Attempt()
    attempt.reserve()
    binding = await attempt.start()
    await attempt.clock.advance(59)
    assert not binding.done()
    await attempt.clock.advance(1.001)
    assert (await binding).message == "binding volumes: context deadline exceeded"


async def test_a_write_that_fails_ends_the_attempt() -> None:
    """Somebody else was faster: the whole pod is tried again, and what was set aside is free."""
    attempt = Attempt()
    attempt.handle.api.error = ApiStatusError(409, "Conflict", "the object has been modified")
    attempt.reserve()
    status = await attempt.plugin.pre_bind(attempt.state, attempt.pod, "n")
    assert (status.code, status.message) == (Code.ERROR, "409 Conflict: the object has been modified")
    attempt.plugin.unreserve(attempt.state, attempt.pod, "n")
    other = ask(attempt.plugin, make_pod("other", claims=["c"]), attempt.handle.cluster)
    assert other.statuses["n"].is_success


async def test_bound_claims_need_no_binding() -> None:
    """PreBind is skipped, and does nothing if it is called all the same."""
    handle = FakeHandle().load(make_node("n"), make_pvc("c", volume="v"), make_pv("v"))
    plugin = VolumeBinding(VolumeBindingArgs(), handle)
    for pod in (make_pod(claims=["c"]), make_pod()):
        info = handle.cluster.templates.info(pod)
        state = CycleState(info)
        plugin.pre_filter(state, info, handle.cluster.view())
        assert plugin.reserve(state, pod, "n").is_success
        assert plugin.pre_bind_preflight(state, pod, "n").is_skip
        assert (await plugin.pre_bind(state, pod, "n")).is_success
        assert plugin.pre_bind_preflight(state, pod, "m").code is Code.ERROR
    assert handle.api.patches == []


def test_reserved_volumes_are_taken_until_they_are_given_back() -> None:
    """Later pods see what earlier ones were promised; unreserve may be called twice, or for nothing."""
    attempt = Attempt(claims=("c",))
    rival = make_pod("rival", claims=["e"])
    attempt.handle.load(make_pvc("e", storage_class="sc"))

    def rival_fits() -> bool:
        return ask(attempt.plugin, rival, attempt.handle.cluster).statuses["n"].is_success

    attempt.plugin.unreserve(attempt.state, attempt.pod, "n")
    assert rival_fits()
    before = attempt.plugin.external_version(attempt.info.template)
    attempt.reserve()
    assert attempt.plugin.external_version(attempt.info.template) != before
    assert not rival_fits()
    attempt.plugin.unreserve(attempt.state, attempt.pod, "n")
    attempt.plugin.unreserve(attempt.state, attempt.pod, "n")
    assert rival_fits()


def test_a_selected_node_binds_later_pods_of_the_claim() -> None:
    """A claim whose provisioning was decided for one node is not provisioned on another."""
    attempt = Attempt(claims=("d",))
    attempt.handle.load(make_node("m"))
    attempt.reserve()
    statuses = ask(attempt.plugin, make_pod("other", claims=["d"]), attempt.handle.cluster).statuses
    assert {name: status.is_success for name, status in statuses.items()} == {"n": True, "m": False}


def test_an_assumption_ends_when_a_newer_version_is_seen() -> None:
    """The API server has the last word."""
    attempt = Attempt(claims=("c",))
    attempt.reserve()
    attempt.handle.load(make_pvc("e", storage_class="sc"))
    attempt.change(PersistentVolume, "v", lambda volume: volume)
    status = ask(attempt.plugin, make_pod("rival", claims=["e"]), attempt.handle.cluster).statuses["n"]
    assert status.is_success
