"""What the scheduling cycles write: bindings, pod status, evictions of victims, changes of volumes and claims."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from kubesched.client.backoff import jittered
from kubesched.client.rest import MERGE, STRATEGIC_MERGE, ApiObject, RestClient, object_path
from kubesched.client.status_patch import pod_status_patch
from kubesched.clock import Clock, utc
from kubesched.errors import ApiStatusError, ClientError, TransportError
from kubesched.objects import KIND_OF, Pod, PodCondition, encode

log = logging.getLogger(__name__)

DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"

# retry.DefaultBackoff: four tries, 10 ms, 50 ms, 250 ms apart, up to 10 % more each.
_TRIES: Final = 4
_FIRST_DELAY: Final = 0.01
_FACTOR: Final = 5.0
_JITTER: Final = 0.1

T = TypeVar("T", bound=ApiObject)


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
    """Writes for the scheduler, as kube-scheduler writes them. Errors are ClientErrors, told in one line."""

    def __init__(self, rest: RestClient, clock: Clock, rng: random.Random) -> None:
        self._rest = rest
        self._clock = clock
        self._rng = rng

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod to the node; 409 if the name belongs to another pod by now (UID), or it is bound already."""
        metadata = pod.metadata
        binding = _Binding(_BindingMeta(metadata.name, metadata.namespace, metadata.uid), _Target(node_name))
        path = object_path(_POD, metadata.name, metadata.namespace, "binding")
        await self._rest.call("POST", path, body=_BINDING.encode(binding))

    async def patch_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node: str | None = None
    ) -> bool:
        """Set a condition and/or the nominated node ("" clears it). False where the pod says so already: no request."""
        patch = pod_status_patch(pod.status, utc(self._clock), condition=condition, nominated_node=nominated_node)
        if patch is None:
            return False
        path = object_path(_POD, pod.metadata.name, pod.metadata.namespace, "status")
        body = encode(patch)
        await self._retrying(lambda: self._rest.call("PATCH", path, body=body, content_type=STRATEGIC_MERGE))
        return True

    async def clear_nomination(self, pod: Pod) -> bool:
        """Take back the pod's nominated node; False where it has none."""
        return await self.patch_status(pod, nominated_node="")

    async def preempt(self, victim: Pod, *, scheduler_name: str, preemptor_kind: str = "pod") -> bool:
        """Mark the victim as disrupted, then delete it, if it still is the same pod. False: it was gone already."""
        condition = PodCondition(
            type=DISRUPTION_TARGET,
            status="True",
            observed_generation=victim.metadata.generation,
            reason=PREEMPTION_BY_SCHEDULER,
            message=f"{scheduler_name}: preempting to accommodate a higher priority {preemptor_kind}",
        )
        try:
            await self.patch_status(victim, condition=condition)
            await self._rest.delete(Pod, victim.metadata.name, victim.metadata.namespace, uid=victim.metadata.uid)
        except ApiStatusError as error:
            if error.code == 404:
                log.debug("victim %s is already deleted", victim.key)
                return False
            raise
        return True

    async def merge_patch(self, value: T, patch: Mapping[str, Any], *, subresource: str = "") -> T:
        """Change an object (a volume, a claim) only if nobody changed it since we read it: 409 Conflict otherwise.

        This stands for the update that kube-scheduler sends: our structs do not hold all fields of an object.
        """
        metadata = {**patch.get("metadata", {}), "resourceVersion": value.metadata.resource_version}
        if value.metadata.uid:
            metadata["uid"] = value.metadata.uid
        return await self._rest.patch(
            type(value),
            value.metadata.name,
            value.metadata.namespace,
            patch={**patch, "metadata": metadata},
            content_type=MERGE,
            subresource=subresource,
        )

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
