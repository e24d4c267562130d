"""What the scheduling cycles write: bindings, pod status, evictions of victims, changes of volumes and claims."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from kubesched.client.backoff import jittered
from kubesched.client.paths import object_path
from kubesched.client.rest import STRATEGIC_MERGE, RestClient
from kubesched.client.slots import Slots
from kubesched.client.status_patch import pod_status_patch
from kubesched.clock import Clock, utc
from kubesched.errors import ApiStatusError, ClientError, TransportError
from kubesched.objects import KIND_OF, Pod, encode
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo, NominatingMode
from kubesched.telemetry.logging import log

# retry.DefaultBackoff: four tries, 10 ms, 50 ms, 250 ms apart, up to 10 % more each.
_TRIES: Final = 4
_FIRST_DELAY: Final = 0.01
_FACTOR: Final = 5.0
_JITTER: Final = 0.1

# An API server works on so many writes at a time (--max-mutating-requests-inflight). More of them under way would only
# wait there, each with its buffers: 40 MiB for a burst of 5,000.
MOST_BINDINGS: Final = 200

T = TypeVar("T")


class _BindingMeta(msgspec.Struct):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct):
    name: str
    kind: str = "Node"


class _Binding(msgspec.Struct):
    metadata: _BindingMeta
    target: _Target
    kind: str = "Binding"
    apiVersion: str = "v1"  # noqa: N815 - the name on the wire


_BINDING: Final = msgspec.json.Encoder()
_POD: Final = KIND_OF[Pod]


class PodWriter:
    """The framework's `ApiWriter` over REST: writes as kube-scheduler makes them. Errors are ClientErrors."""

    def __init__(self, rest: RestClient, clock: Clock, rng: random.Random) -> None:
        self._rest = rest
        self._clock = clock
        self._rng = rng
        self._binding_slots = Slots(MOST_BINDINGS)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod to the node; 409 if the name belongs to another pod by now (UID), or it is bound already."""
        metadata = pod.metadata
        binding = _Binding(_BindingMeta(metadata.name, metadata.namespace, metadata.uid), _Target(node_name))
        path = object_path(_POD, metadata.name, metadata.namespace, "binding")
        slots = self._binding_slots
        if not slots.take():
            await slots.wait()
        try:
            await self._rest.call("POST", path, body=_BINDING.encode(binding), discard=True)
        finally:
            slots.give_back()

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        """Set a condition and the nominated node, if that changes anything: otherwise nothing is sent."""
        overrides = nominating is not None and nominating.mode is NominatingMode.OVERRIDE
        patch = pod_status_patch(
            pod.status,
            utc(self._clock),
            condition=condition,
            nominated_node=nominating.node_name if nominating is not None and overrides else None,
        )
        if patch is None:
            return
        path = object_path(_POD, pod.metadata.name, pod.metadata.namespace, "status")
        body = encode(patch)
        await self._retrying(
            lambda: self._rest.call("PATCH", path, body=body, content_type=STRATEGIC_MERGE, discard=True)
        )

    async def delete_pod(self, pod: Pod) -> None:
        """Delete the pod with this uid; no error if it is gone, or another one has its name."""
        try:
            await self._rest.delete(Pod, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
        except ApiStatusError as error:
            if error.code not in (404, 409):
                raise
            log.info("Pod is already deleted", v=2, pod=pod)

    async def patch(
        self, kind: type[T], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> T:
        """JSON merge patch; with `metadata.resourceVersion` in the body, a concurrent change is a 409 Conflict."""
        return await self._rest.patch(kind, name, body, namespace=namespace, subresource=subresource)

    async def create(self, obj: T) -> T:
        return await self._rest.create(obj)

    async def delete(self, kind: type[T], name: str, *, namespace: str = "", uid: str = "") -> None:
        """Delete an object; with a `uid`, only if it still is that one."""
        await self._rest.delete(kind, name, namespace, uid=uid)

    async def _retrying(self, send: Callable[[], Awaitable[bytes]]) -> None:
        delay = _FIRST_DELAY
        for last_try in (False,) * (_TRIES - 1) + (True,):
            try:
                await send()
                return
            except ClientError as error:
                if last_try or not _is_retriable(error):
                    raise
            await self._clock.sleep(jittered(self._rng, delay, _JITTER))
            delay *= _FACTOR


def _is_retriable(error: ClientError) -> bool:
    """Errors that a status patch survives (util.Retriable): internal, unavailable, conflict, connection refused."""
    if isinstance(error, ApiStatusError):
        return error.code in (500, 503) or error.reason == "Conflict"
    return isinstance(error, TransportError) and not error.request_sent
