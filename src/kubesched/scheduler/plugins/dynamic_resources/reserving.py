"""Reserve and Unreserve: hold the chosen devices until they are written down, or let go of them."""

from __future__ import annotations

import uuid
from collections.abc import Coroutine, Iterable
from typing import Any

from msgspec.structs import replace

from kubesched.errors import ClientError, InvalidObjectError
from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.dra import AllocationResult
from kubesched.scheduler.framework import SUCCESS, Handle, Status
from kubesched.scheduler.plugins.dynamic_resources.allocation import allocation_of
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt
from kubesched.scheduler.plugins.dynamic_resources.claim_writer import ClaimWriter
from kubesched.scheduler.plugins.dynamic_resources.claims import is_reserved_for
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import is_in_memory
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.telemetry.logging import log


def reserve(attempt: Attempt, pod: Pod, node_name: str, handle: Handle, devices: Devices) -> Status:
    """Take the devices that Filter found for this node, and hold on to those that the pod shares."""
    row = handle.cluster.nodes.row_of.get(node_name)
    attempt.chosen_statuses = attempt.taken_from_node.get(row, ()) if row is not None else ()
    for k, allocation in attempt.claims.shared.items():
        # When the group is committed, the pod that comes first may have got other share ids than in the trial.
        claim = attempt.claims.claims[k]
        _hold(
            attempt,
            k,
            claim,
            devices.claim_tracker.pending(claim.metadata.uid) or allocation,
            pod,
            devices.claim_tracker,
        )
    waiting = attempt.claims.to_allocate()
    if not waiting:
        return SUCCESS
    result = attempt.result_at(row) if row is not None else None
    if result is None or row is None:
        # Device plugins provide the extended resources there: nothing to allocate.
        needs_devices = any(k < attempt.claims.own for k, _ in waiting)
        return Status.failed("claim allocation not found for node") if needs_devices else SUCCESS
    pools = devices.node_classes.pools(row)
    plans, outcome = result.wanted.plans, result.outcome
    parts = zip(waiting, plans, outcome.picks, outcome.chosen(plans), strict=True)
    for (k, _), plan, picks, chosen in parts:
        try:
            allocation = allocation_of(
                plan,
                picks,
                chosen,
                pools,
                node_name,
                lambda: _new_uid(handle),
                whole_claim_config=devices.features.whole_claim_config,
            )
        except InvalidObjectError as error:
            problem = f"create NodeSelector for claim {plan.claim.metadata.name}: {error.problem}"
            return Status.failed(problem)
        _hold(attempt, k, plan.claim, allocation, pod, devices.claim_tracker)
    attempt.node_result = result
    return SUCCESS


def _hold(
    attempt: Attempt, position: int, claim: ResourceClaim, allocation: AllocationResult, pod: Pod, tracker: ClaimTracker
) -> None:
    attempt.decided[position] = allocation
    attempt.pending_uids[position] = claim.metadata.uid
    status = replace(claim.status, allocation=allocation)
    tracker.add_pending(replace(claim, status=status), pod.metadata.uid)


def unreserve(
    attempt: Attempt, pod: Pod, tracker: ClaimTracker, writer: ClaimWriter
) -> Iterable[Coroutine[Any, Any, None]]:
    """Let go of everything; returns what is left to write."""
    cleanups = []
    for k, claim in enumerate(attempt.claims.claims):
        uid = attempt.pending_uids.pop(k, "")
        if uid and tracker.remove_pending(uid, pod.metadata.uid):
            tracker.forget(claim.metadata.namespace, claim.metadata.name)
        if k >= attempt.claims.own:
            if not is_in_memory(claim):
                cleanups.append(_quietly(writer.delete(claim), "delete", claim))
        elif claim.status.allocation is not None and is_reserved_for(pod, claim):
            cleanups.append(_quietly(_release(claim, pod, tracker, writer), "unreserve", claim))
    if attempt.is_in_pod_status:
        attempt.is_in_pod_status = False
        cleanups.append(_quietly(writer.write_taken_from_node(pod, ()), "clear in the pod's status", claim))
    attempt.decided.clear()
    return cleanups


async def _release(claim: ResourceClaim, pod: Pod, tracker: ClaimTracker, writer: ClaimWriter) -> None:
    # Others may have written it before this gets its turn.
    await writer.release(tracker.latest(claim), pod.metadata.uid)


async def _quietly(writing: Coroutine[Any, Any, object], action: str, claim: ResourceClaim) -> None:
    try:
        await writing
    except (ClientError, InvalidObjectError) as error:
        log.error(f"Cannot {action} a resource claim", error, claim=claim.metadata.key)


def _new_uid(handle: Handle) -> str:
    return str(uuid.UUID(int=handle.random.getrandbits(128), version=4))
