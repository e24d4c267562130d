"""What the scheduling cycles write."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from kubesched.client.dispatcher import MOST_IN_FLIGHT, MOST_STATUS_PATCHES
from kubesched.client.pod_writer import PodWriter
from kubesched.client.rest import RestClient
from kubesched.client.transport import Response
from kubesched.clock import VirtualClock
from kubesched.errors import ApiStatusError, TransportError
from kubesched.objects import PersistentVolumeClaim, Pod, ResourceClaim
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import PodCondition, PodStatus
from kubesched.scheduler.framework import ApiWriter, NominatingInfo, NominatingMode
from kubesched.testing.fake_api_server import FakeApiServer, failure

PODS = "/api/v1/pods"
POD = Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1", generation=3), status=PodStatus(phase="Pending"))


def scene() -> tuple[FakeApiServer, VirtualClock, PodWriter]:
    server, clock = FakeApiServer(), VirtualClock()
    server.put(PODS, {"metadata": {"name": "p", "namespace": "d", "uid": "u1"}})
    return server, clock, PodWriter(RestClient(server, clock, random.Random(1)), clock, random.Random(1))


async def test_binds_the_pod_that_we_mean() -> None:
    """The UID goes with the binding; another pod of the same name is a conflict, and so is a second binding."""
    server, _, writer = scene()
    await writer.bind(POD, "n1")
    assert server.calls[0].path == "/api/v1/namespaces/d/pods/p/binding"
    assert server.calls[0].body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "d", "uid": "u1"},
        "target": {"kind": "Node", "name": "n1"},
    }
    with pytest.raises(ApiStatusError, match="already assigned to node n1"):
        await writer.bind(POD, "n2")
    replaced = Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u0"))
    with pytest.raises(ApiStatusError, match="409 Conflict"):
        await writer.bind(replaced, "n1")


class Slow(FakeApiServer):
    """Takes a turn of the loop for every answer, and notes how many requests waited at most."""

    waiting = most_waiting = 0

    async def request(self, method: str, path: str, **options: Any) -> Response:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        return Response(201, b"{}")


def pods(count: int) -> list[Pod]:
    return [Pod(metadata=ObjectMeta(name=f"p{number}", namespace="d", uid=f"u{number}")) for number in range(count)]


async def test_writes_do_not_pile_up_at_the_server() -> None:
    """Of a burst, as many are under way as go over one connection; the others wait here."""
    server, clock, rng = Slow(), VirtualClock(), random.Random(1)
    writer = PodWriter(RestClient(server, clock, rng), clock, rng)
    await asyncio.gather(*(writer.bind(pod, "n1") for pod in pods(MOST_IN_FLIGHT + 100)))
    assert server.most_waiting == MOST_IN_FLIGHT


@pytest.mark.parametrize(("failures", "binds"), [(3, True), (4, False)], ids=["in time", "too late"])
async def test_a_binding_survives_a_server_in_trouble(failures: int, binds: bool) -> None:
    """It is sent four times within a second; what the server refuses for a reason is not sent again."""
    server, clock, writer = scene()
    server.failures = [failure(500, "InternalError", "etcd is away")] * failures
    binding = asyncio.create_task(writer.bind(POD, "n1"))
    await clock.advance(0)
    for _ in range(4):
        await clock.advance(0.3)
    assert binding.done()
    assert (binding.exception() is None) == binds
    assert len(server.calls) == 4


async def test_statuses_leave_room_for_bindings() -> None:
    """However many pods fit nowhere (without backoff: all of them, all the time), few patches are under way."""
    server, clock, rng = Slow(), VirtualClock(), random.Random(1)
    writer = PodWriter(RestClient(server, clock, rng), clock, rng)
    await asyncio.gather(*(writer.patch_pod_status(pod, None, NominatingInfo("n1")) for pod in pods(1000)))
    assert server.most_waiting == MOST_STATUS_PATCHES < MOST_IN_FLIGHT


async def test_an_unchanged_status_needs_no_request() -> None:
    """Nothing is sent."""
    server, _, writer = scene()
    await writer.patch_pod_status(POD, None, NominatingInfo(""))
    await writer.patch_pod_status(POD, None, NominatingInfo("n1", NominatingMode.NOOP))
    await writer.patch_pod_status(POD, None, None)
    assert server.calls == []


async def test_patches_the_status() -> None:
    """Through the status subresource."""
    server, _, writer = scene()
    condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
    await writer.patch_pod_status(POD, condition, NominatingInfo("n1"))
    assert server.calls[0].method == "PATCH"
    assert server.calls[0].path == "/api/v1/namespaces/d/pods/p/status"
    assert server.calls[0].body["status"]["nominatedNodeName"] == "n1"


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        pytest.param(failure(500, "InternalError"), 4, id="an internal error is tried four times"),
        pytest.param(failure(403, "Forbidden"), 1, id="forbidden is final"),
        pytest.param(TransportError("reset"), 1, id="an unknown outcome is final"),
    ],
)
async def test_status_patches_are_retried(error: Response | TransportError, calls: int) -> None:
    """util.Retriable with retry.DefaultBackoff."""
    server, clock, writer = scene()
    server.failures = [error] * 20
    task = asyncio.create_task(writer.patch_pod_status(POD, None, NominatingInfo("n1")))
    await clock.advance(0)
    await clock.advance(10)
    with pytest.raises((ApiStatusError, TransportError)):
        await task
    assert len(server.calls) == calls


async def test_deletes_the_pod_that_we_mean() -> None:
    """Another pod of that name stays, and one that is gone already is no error; other refusals are told."""
    server, _, writer = scene()
    await writer.delete_pod(Pod(metadata=ObjectMeta(name="p", namespace="d", uid="another")))
    assert "d/p" in server.objects[PODS]
    await writer.delete_pod(POD)
    assert server.calls[-1].body["preconditions"] == {"uid": "u1"}
    assert server.objects[PODS] == {}
    await writer.delete_pod(POD)
    server.failures = [failure(403, "Forbidden")]
    with pytest.raises(ApiStatusError, match="403 Forbidden"):
        await writer.delete_pod(POD)


async def test_creates_and_deletes_claims() -> None:
    """What dynamic resources need."""
    server, _, writer = scene()
    created = await writer.create(ResourceClaim(metadata=ObjectMeta(name="c", namespace="d")))
    assert server.calls[0].path == "/apis/resource.k8s.io/v1/namespaces/d/resourceclaims"
    assert created.metadata.resource_version
    await writer.delete(ResourceClaim, "c", namespace="d")
    assert server.objects["/apis/resource.k8s.io/v1/resourceclaims"] == {}


def test_is_what_the_framework_asks_for() -> None:
    """Checked by the type checker: the writer fits the framework's protocol."""
    writer: ApiWriter = scene()[2]
    assert writer is not None


async def test_changes_objects_that_nobody_else_changed() -> None:
    """A claim that was updated since we read it is a conflict, not overwritten."""
    server, clock, writer = scene()
    path = "/api/v1/persistentvolumeclaims"
    server.put(path, {"metadata": {"name": "c", "namespace": "d", "uid": "x", "annotations": {"kept": "yes"}}})
    claim = await RestClient(server, clock, random.Random(1)).get(PersistentVolumeClaim, "c", "d")
    version = {"resourceVersion": claim.metadata.resource_version}
    patch = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}, **version}}
    changed = await writer.patch(PersistentVolumeClaim, "c", patch, namespace="d")
    assert changed.metadata.annotations == {"kept": "yes", "volume.kubernetes.io/selected-node": "n1"}
    with pytest.raises(ApiStatusError, match="409 Conflict"):
        await writer.patch(PersistentVolumeClaim, "c", patch, namespace="d")


async def test_a_binding_waits_for_a_patch_under_way_and_replaces_one_that_waits() -> None:
    """A pod was found unschedulable, and bound at once: the API server must not hear of it in the other order."""
    server, _, writer = scene()
    gate = asyncio.Event()
    answer = server.request

    async def slowly(method: str, path: str, **options: Any) -> Response:
        if method == "PATCH":
            await gate.wait()
        return await answer(method, path, **options)

    server.request = slowly  # type: ignore[method-assign]
    reasons = [PodCondition(type="PodScheduled", status="False", message=text) for text in ("one", "two")]
    writes = [asyncio.create_task(writer.patch_pod_status(POD, reason, None)) for reason in reasons]
    await asyncio.sleep(0)
    writes.append(asyncio.create_task(writer.bind(POD, "n1")))
    await asyncio.sleep(0)
    assert server.calls == []
    gate.set()
    await asyncio.gather(*writes)
    assert [call.path.rpartition("/")[2] for call in server.calls] == ["status", "binding"]
    assert server.calls[0].body["status"]["conditions"][0]["message"] == "one"


async def test_a_pod_that_others_changed_is_read_before_its_status_is_patched() -> None:
    """The patch is guarded, so that it cannot arrive after a binding; a conflict for another reason is no matter."""
    server, clock, writer = scene()
    seen = Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1", resource_version="1"))
    server.put(PODS, {"metadata": {"name": "p", "namespace": "d", "uid": "u1", "labels": {"a": "b"}}})
    task = asyncio.create_task(writer.patch_pod_status(seen, None, NominatingInfo("n1")))
    await clock.advance(0)
    await clock.advance(1)
    await task
    assert [call.method for call in server.calls] == ["PATCH", "GET", "PATCH"]
    assert server.objects[PODS]["d/p"]["status"]["nominatedNodeName"] == "n1"


async def test_a_pod_that_was_bound_meanwhile_keeps_its_status() -> None:
    """The patch comes too late, and there is nothing to say any more."""
    server, clock, writer = scene()
    seen = Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1", resource_version="1"))
    await writer.bind(seen, "n1")
    task = asyncio.create_task(writer.patch_pod_status(seen, None, NominatingInfo("n1")))
    await clock.advance(0)
    await clock.advance(1)
    await task
    assert "status" not in server.objects[PODS]["d/p"]


async def test_what_we_wrote_last_counts_even_if_it_was_not_seen_yet() -> None:
    """The pod is known with the first message, has the second, and shall have the first again."""
    server, _, writer = scene()
    first, second = (PodCondition(type="PodScheduled", status="False", message=text) for text in ("one", "two"))
    seen = Pod(
        metadata=ObjectMeta(name="p", namespace="d", uid="u1", resource_version="1"),
        status=PodStatus(conditions=(first,)),
    )
    await writer.patch_pod_status(seen, second, None)
    await writer.patch_pod_status(seen, first, None)
    assert [condition["message"] for condition in server.objects[PODS]["d/p"]["status"]["conditions"]] == ["one"]


async def test_a_cancelled_write_lets_the_next_one_go() -> None:
    """Whether it waited or was under way."""
    server, _, writer = scene()
    gate = asyncio.Event()
    answer = server.request

    async def slowly(method: str, path: str, **options: Any) -> Response:
        await gate.wait()
        return await answer(method, path, **options)

    server.request = slowly  # type: ignore[method-assign]
    patching, waiting, binding = (
        asyncio.create_task(writer.patch_pod_status(POD, None, NominatingInfo("n1"))),
        asyncio.create_task(writer.delete_pod(POD)),
        asyncio.create_task(writer.bind(POD, "n1")),
    )
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    patching.cancel()
    gate.set()
    await binding
    assert [call.path.rpartition("/")[2] for call in server.calls] == ["binding"]
    assert patching.cancelled()
    assert waiting.cancelled()
