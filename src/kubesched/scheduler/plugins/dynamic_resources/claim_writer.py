"""Writing allocations and reservations into claims. Patches are guarded: on a conflict the claim is read again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, ClientError, InvalidObjectError
from kubesched.objects import Pod, ResourceClaim, to_builtins
from kubesched.objects.dra import AllocationResult, ResourceClaimConsumerReference, ResourceClaimStatus
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import PodExtendedResourceClaimStatus
from kubesched.scheduler.framework import ApiWriter
from kubesched.scheduler.plugins.dynamic_resources.node_allocatable import Statuses

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
_ATTEMPTS: Final = 5
_PAUSE_SECONDS: Final = 0.01
_CONFLICT: Final = 409


Consumer = ResourceClaimConsumerReference


class ClaimWriter:
    """All methods raise ClientError or InvalidObjectError, with what they were about to do."""

    def __init__(self, api: ApiWriter, clock: Clock, *, stamps: bool) -> None:
        """With `stamps` allocations say when they were made (gate DRADeviceBindingConditions)."""
        self._api = api
        self._clock = clock
        self._stamps = stamps

    async def bind(
        self,
        claim: ResourceClaim,
        consumer: Consumer,
        allocation: AllocationResult | None,
        *,
        may_be_shared: bool = False,
    ) -> ResourceClaim:
        """Reserve a claim for a pod or a group, with its allocation if it has none yet (bindClaim).

        An allocation that `may_be_shared` may have been written by another pod of the group, with the same devices.
        (v1.36.4 fails all pods but the first here, and tries them again: issue 140053.)
        """

        async def attempt(current: ResourceClaim) -> ResourceClaim:
            key, to_write = current.metadata.key, allocation
            if current.metadata.deletion_timestamp is not None:
                raise InvalidObjectError(f"claim {key} got deleted in the meantime")
            if to_write is not None and current.status.allocation is not None:
                if not (may_be_shared and _devices_in(current.status.allocation) == _devices_in(to_write)):
                    raise InvalidObjectError(f"claim {key} got allocated elsewhere in the meantime")
                to_write = None
            if to_write is not None:
                current = await self._add_finalizer(current)
            elif any(known.uid == consumer.uid for known in current.status.reserved_for):
                return current
            status = self._reserved(current, consumer, to_write)
            action = "add allocation and reservation" if to_write is not None else "add reservation"
            return await self._patch(current, {"status": status}, f"{action} to claim {key}", "status")

        return await self._until_no_conflict(claim, attempt)

    async def release(self, claim: ResourceClaim, uid: str) -> ResourceClaim:
        """The pod or group with this uid does not use the claim after all."""

        async def attempt(current: ResourceClaim) -> ResourceClaim:
            others = [c for c in current.status.reserved_for if c.uid != uid]
            body = {"status": {"reservedFor": to_builtins(others) or None}}
            return await self._patch(current, body, f"remove reservation of claim {current.metadata.key}", "status")

        return await self._until_no_conflict(claim, attempt)

    async def deallocate(self, claim: ResourceClaim) -> None:
        """Give the claim's devices back, unless it has changed meanwhile."""
        body = {"status": {"reservedFor": None, "allocation": None, "devices": None}}
        await self._patch(claim, body, f"deallocate claim {claim.metadata.key}", "status")

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        """Make the special claim for extended resources real, under a name that the API server chooses."""
        metadata = replace(claim.metadata, name="", uid="")
        try:
            return await self._api.create(replace(claim, metadata=metadata, status=ResourceClaimStatus()))
        except ClientError as error:
            raise InvalidObjectError(f"create claim for extended resources {claim.metadata.key}: {error}") from error

    async def delete(self, claim: ResourceClaim) -> None:
        """Delete the special claim, its protection first (deleteClaim)."""

        async def attempt(current: ResourceClaim) -> ResourceClaim:
            if FINALIZER not in current.metadata.finalizers:
                return current
            left = [finalizer for finalizer in current.metadata.finalizers if finalizer != FINALIZER]
            body = {"metadata": {"finalizers": left or None}}
            return await self._patch(current, body, f"update resourceclaim {current.metadata.key}")

        metadata: ObjectMeta = (await self._until_no_conflict(claim, attempt)).metadata
        await self._api.delete(ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace, uid=metadata.uid)

    async def write_pod_status(self, pod: Pod, status: PodExtendedResourceClaimStatus) -> None:
        """Name the special claim in the pod's status: the kubelet needs it."""
        body = {"status": {"extendedResourceClaimStatus": to_builtins(status)}}
        await self._api.patch(Pod, pod.metadata.name, body, namespace=pod.metadata.namespace, subresource="status")

    async def write_taken_from_node(self, pod: Pod, statuses: Statuses) -> None:
        """Write into the pod's status what its claims take from the node: the kubelet needs it, and so do we."""
        body = {"status": {"nodeAllocatableResourceClaimStatuses": to_builtins(statuses) or None}}
        await self._api.patch(Pod, pod.metadata.name, body, namespace=pod.metadata.namespace, subresource="status")

    async def _add_finalizer(self, claim: ResourceClaim) -> ResourceClaim:
        if FINALIZER in claim.metadata.finalizers:
            return claim
        body = {"metadata": {"finalizers": [*claim.metadata.finalizers, FINALIZER]}}
        return await self._patch(claim, body, f"add finalizer to claim {claim.metadata.key}")

    def _reserved(
        self, claim: ResourceClaim, consumer: Consumer, allocation: AllocationResult | None
    ) -> dict[str, Any]:
        status: dict[str, Any] = {"reservedFor": to_builtins((*claim.status.reserved_for, consumer))}
        current = allocation or claim.status.allocation
        if self._stamps:
            if current is None:
                raise InvalidObjectError(f"claim {claim.metadata.key} got deallocated elsewhere in the meantime")
            if current.allocation_timestamp is None:
                now = datetime.fromtimestamp(int(self._clock.time()), UTC)
                status["allocation"] = to_builtins(replace(current, allocation_timestamp=now))
                return status
        if allocation is not None:
            status["allocation"] = to_builtins(allocation)
        return status

    async def _patch(
        self, claim: ResourceClaim, body: Mapping[str, Any], action: str, subresource: str = ""
    ) -> ResourceClaim:
        metadata = claim.metadata
        guard = {"resourceVersion": metadata.resource_version} if metadata.resource_version else {}
        guarded = {**body, "metadata": {**guard, "uid": metadata.uid, **body.get("metadata", {})}}
        try:
            return await self._api.patch(
                ResourceClaim, metadata.name, guarded, namespace=metadata.namespace, subresource=subresource
            )
        except ApiStatusError as error:
            if error.code == _CONFLICT:
                raise
            raise InvalidObjectError(f"{action}: {error}") from error
        except ClientError as error:
            raise InvalidObjectError(f"{action}: {error}") from error

    async def _until_no_conflict(
        self, claim: ResourceClaim, attempt: Callable[[ResourceClaim], Awaitable[ResourceClaim]]
    ) -> ResourceClaim:
        metadata = claim.metadata
        for remaining in reversed(range(_ATTEMPTS)):
            try:
                return await attempt(claim)
            except ApiStatusError as error:
                if error.code != _CONFLICT or not remaining:
                    raise
            await self._clock.sleep(_PAUSE_SECONDS)
            # An empty patch changes nothing and answers with the claim as it is now.
            claim = await self._api.patch(ResourceClaim, metadata.name, {}, namespace=metadata.namespace)
        raise AssertionError("the last attempt returns or raises")


def _devices_in(allocation: AllocationResult) -> list[tuple[str, str, str, str, str | None]]:
    results = allocation.devices.results
    return [(result.request, result.driver, result.pool, result.device, result.share_id) for result in results]
