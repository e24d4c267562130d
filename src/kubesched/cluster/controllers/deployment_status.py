"""What a Deployment says about its rollout (`calculateStatus`, `syncRolloutStatus`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.deployment_rollout import RolloutTarget
from kubesched.cluster.records import WorkloadRecord
from kubesched.objects.base import Json

NO_DEADLINE: Final = 2**31 - 1
COMPLETE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"


def update_status(
    status: Json,
    deployment: WorkloadRecord,
    target: RolloutTarget,
    new: WorkloadRecord | None,
    members: Sequence[WorkloadRecord],
    now: str,
) -> None:
    """Change the status in place: counts, then whether it is available, then how the rollout goes."""
    before = {key: status.get(key, 0) for key in ("updatedReplicas", "readyReplicas", "availableReplicas", "replicas")}
    _count(status, deployment, new, members)
    available = status.get("availableReplicas", 0)
    fine = available >= target.at_least_available
    _put(
        status,
        "Available",
        "True" if fine else "False",
        "MinimumReplicasAvailable" if fine else "MinimumReplicasUnavailable",
        f"Deployment {'has' if fine else 'does not have'} minimum availability.",
        now,
    )
    deadline = deployment.spec.get("progressDeadlineSeconds", NO_DEADLINE)
    if deadline == NO_DEADLINE:
        conditions.drop(status, "Progressing")
    elif deployment.spec.get("paused"):
        _put(status, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now)
    else:
        _judge_progress(status, before, deployment, new, deadline, now)
    failures = [failed for item in members if (failed := conditions.find(item.status, "ReplicaFailure"))]
    if failures:
        _put(status, "ReplicaFailure", "True", failures[0].get("reason", ""), failures[0].get("message", ""), now)
    else:
        conditions.drop(status, "ReplicaFailure")


def begin_rollout(status: Json, replica_set: str, now: str) -> None:
    """A ReplicaSet was made for a new template."""
    message = f'Created new replica set "{replica_set}"'
    _put(status, "Progressing", "True", "NewReplicaSetCreated", message, now, touch=True)


def is_complete(deployment: WorkloadRecord, status: Json) -> bool:
    """`DeploymentComplete`: all replicas are of the newest template, and available."""
    wanted = deployment.spec.get("replicas", 1)
    return bool(
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and status.get("observedGeneration", 0) >= deployment.metadata.generation
    )


def seconds_to_deadline(deployment: WorkloadRecord, status: Json, now: str) -> float | None:
    """When to look whether the rollout is stuck; None if it is over, or has no deadline (`requeueStuckDeployment`)."""
    deadline, current = (
        deployment.spec.get("progressDeadlineSeconds", NO_DEADLINE),
        conditions.find(status, "Progressing"),
    )
    if deadline == NO_DEADLINE or current is None or current.get("reason") == TIMED_OUT:
        return None
    return None if is_complete(deployment, status) else max(0.0, deadline - _age(current, now))


def _count(
    status: Json, deployment: WorkloadRecord, new: WorkloadRecord | None, members: Sequence[WorkloadRecord]
) -> None:
    def total(key: str) -> int:
        return sum(int(item.status.get(key, 0)) for item in members)

    asked = sum(int(item.spec.get("replicas", 0)) for item in members)
    counts = {
        "replicas": total("replicas"),
        "updatedReplicas": int(new.status.get("replicas", 0)) if new is not None else 0,
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": total("availableReplicas"),
        "unavailableReplicas": max(0, asked - total("availableReplicas")),
    }
    for key, value in counts.items():
        if value:
            status[key] = value
        else:
            status.pop(key, None)
    status["observedGeneration"] = deployment.metadata.generation


def _judge_progress(
    status: Json, before: Json, deployment: WorkloadRecord, new: WorkloadRecord | None, deadline: int, now: str
) -> None:
    current = conditions.find(status, "Progressing")
    updated = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if updated and current is not None and current.get("reason") == COMPLETE:
        return
    who = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        _put(status, "Progressing", "True", COMPLETE, f"{who} has successfully progressed.", now)
    elif _progressed(before, status):
        _put(status, "Progressing", "True", "ReplicaSetUpdated", f"{who} is progressing.", now, touch=True)
    elif current is None:
        _put(status, "Progressing", "True", "FoundNewReplicaSet", f"Found new replica set of {who}", now)
    elif current.get("reason") == "DeploymentPaused":
        _put(status, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    elif current.get("reason") not in (TIMED_OUT, COMPLETE) and _age(current, now) > deadline:
        _put(status, "Progressing", "False", TIMED_OUT, f"{who} has timed out progressing.", now)


def _progressed(before: Json, status: Json) -> bool:
    old_before = before["replicas"] - before["updatedReplicas"]
    old_after = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    grew = any(status.get(key, 0) > before[key] for key in ("updatedReplicas", "readyReplicas", "availableReplicas"))
    return grew or old_after < old_before


def _age(condition: Json, now: str) -> float:
    updated = condition.get("lastUpdateTime") or now
    return (datetime.fromisoformat(now) - datetime.fromisoformat(updated)).total_seconds()


def _put(status: Json, kind: str, state: str, reason: str, message: str, now: str, *, touch: bool = False) -> None:
    """Set a condition; nothing changes if status and reason stay, unless `touch` renews its time."""
    current = conditions.find(status, kind)
    if not touch and current is not None and (current["status"], current.get("reason")) == (state, reason):
        return
    condition = {"type": kind, "status": state, "reason": reason, "message": message, "lastUpdateTime": now}
    conditions.put(status, condition, now)
