"""The smallest strategic-merge patch that brings a pod's status to what we want it to say (util.PatchPodStatus)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from kubesched.objects import to_builtins
from kubesched.objects.pod import PodCondition, PodStatus


def pod_status_patch(
    status: PodStatus,
    now: datetime,
    *,
    condition: PodCondition | None = None,
    nominated_node: str | None = None,
) -> dict[str, Any] | None:
    """The patch that sets a condition and/or the nominated node; None where the status says so already.

    `nominated_node` "" clears the nomination, None leaves it. The condition's transition time is ours to set:
    `now`, or the old one as long as its status stays (podutil.UpdatePodCondition).
    """
    change: dict[str, Any] = {}
    if condition is not None:
        change |= _condition_change(status.conditions, condition, now)
    if nominated_node is not None and nominated_node != status.nominated_node_name:
        change["nominatedNodeName"] = nominated_node or None
    return {"status": change} if change else None


def _condition_change(conditions: tuple[PodCondition, ...], condition: PodCondition, now: datetime) -> dict[str, Any]:
    old = next((existing for existing in conditions if existing.type == condition.type), None)
    types = [existing.type for existing in conditions]
    if old is None:
        new = _at(condition, now)
        fields = to_builtins(new)
        types.append(condition.type)
    else:
        new = _at(condition, now if condition.status != old.status else old.last_transition_time)
        if _says_the_same(old, new):
            return {}
        before, after = to_builtins(old), to_builtins(new)
        changed = {name: after.get(name) for name in before | after if before.get(name) != after.get(name)}
        fields = {"type": condition.type, **changed}
    return {"$setElementOrder/conditions": [{"type": name} for name in types], "conditions": [fields]}


def _at(condition: PodCondition, transition: datetime | None) -> PodCondition:
    # metav1.Time has whole seconds.
    when = transition.replace(microsecond=0) if transition is not None else None
    return msgspec.structs.replace(condition, last_transition_time=when)


def _says_the_same(old: PodCondition, new: PodCondition) -> bool:
    return (old.status, old.reason, old.message, old.last_probe_time) == (
        new.status,
        new.reason,
        new.message,
        new.last_probe_time,
    )
