"""PreBind: write allocations and reservations, and wait until devices are ready."""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakValueDictionary

from kubesched.errors import ClientError, InvalidObjectError
from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.pod import PodExtendedResourceClaimStatus
from kubesched.scheduler.framework import SUCCESS, Handle, Status
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt
from kubesched.scheduler.plugins.dynamic_resources.binding_conditions import (
    DeviceLate,
    DeviceNotReady,
    is_late,
    is_ready,
    wait_is_needed,
)
from kubesched.scheduler.plugins.dynamic_resources.claim_writer import ClaimWriter
from kubesched.scheduler.plugins.dynamic_resources.claims import is_reserved_for, reference_to
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import is_in_memory

_POLL_SECONDS: Final = 5.0
_SPECIAL_CLAIM_POLL_SECONDS: Final = 1.0
_SPECIAL_CLAIM_POLLS: Final = 120


class PreBinding:
    def __init__(self, handle: Handle, devices: Devices, writer: ClaimWriter, timeout: float) -> None:
        self._handle = handle
        self._devices = devices
        self._writer = writer
        self._timeout = timeout
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, attempt: Attempt, pod: Pod, node_name: str) -> Status:
        """A failure leaves what was written; Unreserve takes it back."""
        claims = attempt.claims.claims
        try:
            for k, claim in enumerate(claims):
                if not is_reserved_for(pod, claim, or_group=self._devices.features.group_claims):
                    await self._bind(attempt, k, pod, node_name)
            if attempt.chosen_statuses:
                await self._write_taken_from_node(attempt, pod)
            if self._devices.features.binding_conditions and wait_is_needed(claims):
                await self._wait(attempt, pod, node_name)
        except (ClientError, InvalidObjectError, DeviceNotReady) as error:
            return Status.failed(error)
        return SUCCESS

    async def _bind(self, attempt: Attempt, position: int, pod: Pod, node_name: str) -> None:
        """Write one claim. The pod no longer holds on to its devices then, whatever happened."""
        claim, allocation = attempt.claims.claims[position], attempt.decided.get(position)
        is_special = position >= attempt.claims.own
        if is_special and allocation is None and not claim.spec.devices.requests:
            return  # device plugins provide the extended resources on this node
        consumer, is_assumed = attempt.claims.consumers.get(position) or reference_to(pod), False
        try:
            if is_special and is_in_memory(claim):
                claim = attempt.claims.claims[position] = await self._create(attempt, node_name)
            async with self._turn(claim):
                claim = self._devices.claim_tracker.latest(claim)
                may_be_shared = pod.spec.scheduling_group is not None
                claim = await self._writer.bind(claim, consumer, allocation, may_be_shared=may_be_shared)
                attempt.claims.claims[position] = claim
                is_assumed = await self._assume(claim, is_special=is_special)
        finally:
            if allocation is not None:
                uid = attempt.pending_uids.pop(position, "")
                self._devices.claim_tracker.remove_pending(uid, pod.metadata.uid, is_written=is_assumed)
        if is_special:
            await self._write_pod_status(attempt, pod, claim)

    def _turn(self, claim: ResourceClaim) -> asyncio.Lock:
        """Pods of a group that share a claim are bound at the same moment: one after the other they do not conflict."""
        return self._turns.setdefault(claim.metadata.uid, asyncio.Lock())

    async def _create(self, attempt: Attempt, node_name: str) -> ResourceClaim:
        variant = attempt.node_result.wanted.variant if attempt.node_result is not None else None
        if variant is None:
            raise InvalidObjectError(f"extended resource claim not found for node {node_name}")
        observer = self._handle.device_observer
        try:
            claim = await self._writer.create(variant.claim)
        except InvalidObjectError:
            observer.claim_created("failure")
            raise
        observer.claim_created("success")
        return claim

    async def _assume(self, claim: ResourceClaim, *, is_special: bool) -> bool:
        """Count on what was just written. A claim that was just created may take a moment to be known."""
        tracker = self._devices.claim_tracker
        for _ in range(_SPECIAL_CLAIM_POLLS):
            is_assumed = tracker.assume(claim)
            if is_assumed or not is_special:
                return is_assumed
            if tracker.get(claim.metadata.namespace, claim.metadata.name) is not None:
                return False
            await self._handle.clock.sleep(_SPECIAL_CLAIM_POLL_SECONDS)
        return False

    async def _write_pod_status(self, attempt: Attempt, pod: Pod, claim: ResourceClaim) -> None:
        variant = attempt.node_result.wanted.variant if attempt.node_result is not None else None
        if variant is None or not variant.mappings:
            raise InvalidObjectError(
                f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
            )
        status = PodExtendedResourceClaimStatus(
            request_mappings=variant.mappings, resource_claim_name=claim.metadata.name
        )
        try:
            await self._writer.write_pod_status(pod, status)
        except ClientError as error:
            raise InvalidObjectError(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from error

    async def _write_taken_from_node(self, attempt: Attempt, pod: Pod) -> None:
        attempt.is_in_pod_status = True
        try:
            await self._writer.write_taken_from_node(pod, attempt.chosen_statuses)
        except ClientError as error:
            raise InvalidObjectError(f"updating pod {pod.key} NodeAllocatableResourceClaimStatuses: {error}") from error

    async def _wait(self, attempt: Attempt, pod: Pod, node_name: str) -> None:
        clock = self._handle.clock
        note = f"waiting for binding conditions for device on node {node_name}"
        self._handle.recorder.event(pod, "Normal", "BindingConditionsPending", "Scheduling", note)
        started, result = clock.monotonic(), "error"
        try:
            await self._until_ready(attempt, started + self._timeout)
            result = "success"
        except DeviceNotReady as error:
            result = "timeout" if isinstance(error, DeviceLate) else "failure"
            raise
        finally:
            self._report_wait(attempt, result, clock.monotonic() - started)

    def _report_wait(self, attempt: Attempt, result: str, seconds: float) -> None:
        observer, profile = self._handle.device_observer, self._handle.profile_name
        for claim in attempt.claims.claims:
            if claim.status.allocation is not None:
                for device in claim.status.allocation.devices.results:
                    has_conditions = bool(device.binding_conditions)
                    observer.awaited(profile, device.driver, result, seconds, has_conditions=has_conditions)

    async def _until_ready(self, attempt: Attempt, deadline: float) -> None:
        clock = self._handle.clock
        while not self._all_ready(attempt):
            left = deadline - clock.monotonic()
            await clock.sleep(max(min(_POLL_SECONDS, left), 0.0))
            if left <= _POLL_SECONDS:  # it fails at the deadline itself, without another look
                raise DeviceLate("device binding timeout: context deadline exceeded")

    def _all_ready(self, attempt: Attempt) -> bool:
        for k, known in enumerate(attempt.claims.claims):
            claim = self._devices.claim_tracker.get(known.metadata.namespace, known.metadata.name)
            if claim is None:
                raise InvalidObjectError(f'could not find ResourceClaim "{known.metadata.key}"')
            attempt.claims.claims[k] = claim
            if not is_ready(claim):
                if is_late(claim, self._handle.clock.time(), self._timeout):
                    raise DeviceLate(f"device binding timeout: claim={claim.metadata.name}")
                return False
        return True
