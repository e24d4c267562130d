"""What the scheduling cycles write: bindings, pod status, evictions of victims, changes of volumes and claims.

All of it goes out in the order in which it was meant, object by object (`write_order`).
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from kubesched.client.backoff import jittered
from kubesched.client.dispatcher import CallObserver, Dispatcher
from kubesched.client.paths import object_path
from kubesched.client.rest import STRATEGIC_MERGE, RestClient
from kubesched.client.status_patch import pod_status_patch
from kubesched.client.write_order import Call, PodBinding, PodStatusPatch
from kubesched.client.written_versions import WrittenVersions
from kubesched.clock import Clock, utc
from kubesched.errors import ApiStatusError, ClientError, SupersededError, TransportError
from kubesched.objects import KIND_OF, Pod, encode
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo
from kubesched.telemetry.logging import log

# retry.DefaultBackoff: four tries, 10 ms, 50 ms, 250 ms apart, up to 10 % more each.
_TRIES: Final = 4
_FIRST_DELAY: Final = 0.01
_FACTOR: Final = 5.0
_JITTER: Final = 0.1

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

    def __init__(
        self, rest: RestClient, clock: Clock, rng: random.Random, observer: CallObserver | None = None
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._rng = rng
        self._dispatcher = Dispatcher(clock, observer)
        self._versions = WrittenVersions(clock)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod to the node; 409 if the name belongs to another pod by now (UID), or it is bound already.

        A server in trouble is asked again within a second (util.BindPod, since Kubernetes 1.37).
        """
        metadata = pod.metadata
        binding = _Binding(_BindingMeta(metadata.name, metadata.namespace, metadata.uid), _Target(node_name))
        path = object_path(_POD, metadata.name, metadata.namespace)
        call, dispatcher = PodBinding(path, metadata.uid), self._dispatcher
        if not dispatcher.begin(call):
            await dispatcher.turn(call)
        succeeded = False
        try:
            await self._send_binding(f"{path}/binding", _BINDING.encode(binding))
            succeeded = True
        finally:
            dispatcher.finished(call, succeeded=succeeded)

    async def _send_binding(self, path: str, body: bytes) -> None:
        delay = _FIRST_DELAY
        for last_try in (False,) * (_TRIES - 1) + (True,):
            try:
                await self._rest.call("POST", path, body=body, discard=True)
                return
            except ClientError as error:
                # What did not reach the server was tried again by the REST client.
                if last_try or not (isinstance(error, ApiStatusError) and error.code in (500, 503)):
                    raise
            await self._clock.sleep(jittered(self._rng, delay, _JITTER))
            delay *= _FACTOR

    async def bind_by(self, pod: Pod, bind: Callable[[], Awaitable[T]]) -> T:
        """Let somebody else bind the pod, when no write of ours about it is under way."""
        metadata = pod.metadata
        call = PodBinding(object_path(_POD, metadata.name, metadata.namespace), metadata.uid)

        async def fenced() -> T:
            self._rest.check_fence()
            return await bind()

        return await self._dispatcher.in_turn(call, fenced)

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        """Set a condition and the nominated node, if that changes anything: otherwise nothing is sent.

        Nor is it where a newer call about the pod makes it superfluous.
        """
        path = object_path(_POD, pod.metadata.name, pod.metadata.namespace)
        call, dispatcher = PodStatusPatch(path, pod, condition, nominating), self._dispatcher
        if not dispatcher.begin(call) and not await dispatcher.turn(call):
            return
        succeeded = False
        try:
            await self._send_status(call)
            succeeded = True
        except SupersededError:
            log.info("Status of a pod was not written: there is something newer to say", v=4, pod=pod)
        finally:
            dispatcher.finished(call, succeeded=succeeded)

    async def delete_pod(self, pod: Pod) -> None:
        """Delete the pod with this uid; no error if it is gone, or another one has its name."""
        try:
            await self.delete(Pod, pod.metadata.name, namespace=pod.metadata.namespace, uid=pod.metadata.uid)
        except ApiStatusError as error:
            if error.code not in (404, 409):
                raise
            log.info("Pod is already deleted", v=2, pod=pod)

    async def patch(
        self, kind: type[T], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> T:
        """JSON merge patch; with `metadata.resourceVersion` in the body, a concurrent change is a 409 Conflict."""
        call = _call(kind, name, namespace, "patch")
        return await self._dispatcher.in_turn(
            call, lambda: self._rest.patch(kind, name, body, namespace=namespace, subresource=subresource)
        )

    async def create(self, obj: T) -> T:
        kind, metadata = type(obj), obj.metadata  # type: ignore[attr-defined]  # every object of a kind has it
        # Under a generated name it is an object that nobody else writes about yet.
        name = metadata.name or f"{metadata.generate_name}{id(obj)}"
        call = _call(kind, name, metadata.namespace, "create")
        return await self._dispatcher.in_turn(call, lambda: self._rest.create(obj))

    async def delete(self, kind: type[T], name: str, *, namespace: str = "", uid: str = "") -> None:
        """Delete an object; with a `uid`, only if it still is that one."""
        call = _call(kind, name, namespace, "delete")
        await self._dispatcher.in_turn(call, lambda: self._rest.delete(kind, name, namespace, uid=uid))

    async def _send_status(self, call: PodStatusPatch) -> None:
        """A pod that has no node yet is guarded by its version: however late a patch arrives, it must not say of a pod
        that was bound meanwhile that it could not be scheduled. Who changed it else is no matter: it is read again.
        """
        pod, delay = call.pod, _FIRST_DELAY
        for last_try in (False,) * (_TRIES - 1) + (True,):
            body = self._status_patch(call, pod)
            if body is None:
                return
            try:
                answer = await self._rest.call(
                    "PATCH",
                    f"{call.path}/status",
                    body=body,
                    content_type=STRATEGIC_MERGE,
                    gives_way=lambda: self._dispatcher.gives_way(call),
                )
                self._versions.note(call.path, answer)
                return
            except ClientError as error:
                if _is_doubtful(error):
                    self._versions.doubt(call.path)
                if last_try or not _is_retriable(error):
                    raise
                is_conflict = isinstance(error, ApiStatusError) and error.reason == "Conflict"
            await self._clock.sleep(jittered(self._rng, delay, _JITTER))
            delay *= _FACTOR
            if self._dispatcher.gives_way(call):
                raise SupersededError(f"status of pod {pod.key}")
            if is_conflict:
                pod = await self._rest.get(Pod, pod.metadata.name, pod.metadata.namespace)
                self._versions.was_read(call.path)
                if pod.metadata.uid != call.uid or (pod.spec.node_name and not call.pod.spec.node_name):
                    raise SupersededError(f"status of pod {pod.key}, which was bound or replaced meanwhile")

    def _status_patch(self, call: PodStatusPatch, pod: Pod) -> bytes | None:
        version = pod.metadata.resource_version
        written = self._versions.newer_than(call.path, version)
        patch = pod_status_patch(
            pod.status,
            utc(self._clock),
            conditions=call.conditions.values(),
            nominated_node=call.nominated_node,
            is_outdated=written is not None,
        )
        if patch is None:
            return None
        if version and not pod.spec.node_name:
            patch["metadata"] = {"resourceVersion": written or version}
        return encode(patch)


def _call(kind: type, name: str, namespace: str, verb: str) -> Call:
    described = KIND_OF[kind]
    return Call(object_path(described, name, namespace), "", f"{described.name.lower()}_{verb}")


def _is_doubtful(error: ClientError) -> bool:
    """Whether the server may have done it all the same."""
    if isinstance(error, ApiStatusError):
        return error.code >= 500
    return isinstance(error, TransportError) and error.request_sent


def _is_retriable(error: ClientError) -> bool:
    """Errors that a status patch survives (util.Retriable): internal, unavailable, conflict, connection refused."""
    if isinstance(error, ApiStatusError):
        return error.code in (500, 503) or error.reason == "Conflict"
    return isinstance(error, TransportError) and not error.request_sent
