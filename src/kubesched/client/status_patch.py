"""The smallest strategic-merge patch that brings a pod's status to what we want it to say (util.PatchPodStatus)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from kubesched.objects import to_builtins
from kubesched.objects.pod import PodCondition, PodStatus


def pod_status_patch(
    status: PodStatus,
    now: datetime,
    *,
    conditions: Iterable[PodCondition] = (),
    nominated_node: str | None = None,
    is_outdated: bool = False,
) -> dict[str, Any] | None:
    """The patch that sets conditions and/or the nominated node; None where the status says so already.

    `nominated_node` "" clears the nomination, None leaves it. A condition's transition time is ours to set: `now`, or
    the old one as long as its status stays (podutil.UpdatePodCondition). Over a status that `is_outdated` everything
    is written: what has changed since is not known.
    """
    change: dict[str, Any] = {}
    for condition in conditions:
        _add(change, status.conditions, condition, now, is_outdated=is_outdated)
    if nominated_node is not None and (is_outdated or nominated_node != status.nominated_node_name):
        change["nominatedNodeName"] = nominated_node or None
    return {"status": change} if change else None


def _add(
    change: dict[str, Any],
    known: tuple[PodCondition, ...],
    condition: PodCondition,
    now: datetime,
    *,
    is_outdated: bool,
) -> None:
    old = next((existing for existing in known if existing.type == condition.type), None)
    if old is None:
        fields = to_builtins(_at(condition, now))
    else:
        new = _at(condition, now if condition.status != old.status else old.last_transition_time)
        if _says_the_same(old, new) and not is_outdated:
            return
        before, after = to_builtins(old), to_builtins(new)
        changed = {name: after.get(name) for name in before | after if before.get(name) != after.get(name)}
        fields = {"type": condition.type, **changed}
        if is_outdated:
            fields = after
    if is_outdated:
        fields = {"reason": None, "message": None, **fields}
    order = change.setdefault("$setElementOrder/conditions", [{"type": existing.type} for existing in known])
    if old is None:
        order.append({"type": condition.type})
    change.setdefault("conditions", []).append(fields)


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
