"""What a trace consists of: a header, then entries in the order of their times.

    Header     where and when it was recorded, by which version
    Change     an object was added, modified or deleted; changes at the header's time are the state at the start
    Decision   a scheduler bound, nominated, preempted or could not place a pod; stands before the change that shows it
    Gap        the recorder did not see what happened since then; the changes after it make the state whole again

Times are seconds since the epoch and never decrease.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from kubesched.objects import Pod
from kubesched.objects.base import Json, KubeStruct
from kubesched.objects.pod import PodCondition

FORMAT_VERSION: Final = 1
"""Readers refuse a greater one. Fields and types of entries that a reader does not know are skipped."""

POD_SCHEDULED: Final = "PodScheduled"
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"


class Header(KubeStruct):
    started: float
    """The time of the state that the trace begins with."""
    version: int = msgspec.field(default=0, name="kubeschedTrace")
    source: str = ""
    """What wrote it: `record`, `import audit-log`, `slice`, …"""
    kubesched: str = ""
    kubernetes: str = ""
    """The API server's version, where it is known."""
    cluster: Json = msgspec.field(default_factory=dict)
    """Facts about the cluster for people and reports; nothing depends on them."""
    configuration: Json | None = None
    """The scheduler's KubeSchedulerConfiguration, where it is known."""
    anonymised: bool = False
    annotations: tuple[str, ...] = ()
    """Keys of annotations that were kept besides those that in-tree plugins read."""


class ChangeType(StrEnum):
    """As the events of a watch are called."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class DecisionType(StrEnum):
    BOUND = "BOUND"
    NOMINATED = "NOMINATED"
    PREEMPTED = "PREEMPTED"
    UNSCHEDULABLE = "UNSCHEDULABLE"


class Change(KubeStruct):
    time: float
    type: ChangeType
    object: Any
    """A struct of `kubesched.objects`: as it is after the change; one that was deleted, as it was last seen."""


class Decision(KubeStruct):
    time: float
    type: DecisionType
    pod: str
    """`namespace/name`"""
    uid: str = ""
    node: str = ""
    """Where it was bound or nominated, or ran until it was preempted."""
    scheduler: str = ""
    message: str = ""
    """Of UNSCHEDULABLE: why, in the scheduler's words. Of PREEMPTED: what the scheduler wrote on the victim."""


class Gap(KubeStruct):
    time: float
    since: float
    """When the recorder last saw something of this kind, for certain."""
    kind: str
    complete: bool = False
    """Every change came after all, only late: those that follow bear the time when they were received."""
    message: str = ""


Entry: TypeAlias = Change | Decision | Gap


def decisions_in(old: Pod | None, new: Pod, time: float) -> Iterator[Decision]:
    """The decisions about a pod that a change of it shows. `old` is None for a pod that was not known before.

    They are read from the pod itself, not from events: events may be dropped or summed up, the pod is what happened.
    A scheduler that fails again with the same message leaves no trace on the pod, and none here.
    """
    before = old if old is not None else Pod()
    if before.spec.node_name == "" and new.spec.node_name:
        yield _decision(DecisionType.BOUND, new, time, node=new.spec.node_name)
    nominated = new.status.nominated_node_name
    if nominated and nominated != before.status.nominated_node_name:
        yield _decision(DecisionType.NOMINATED, new, time, node=nominated)
    if _is_preempted(new) and not _is_preempted(before):
        message = _condition(new, DISRUPTION_TARGET).message
        yield _decision(DecisionType.PREEMPTED, new, time, node=new.spec.node_name, message=message)
    failed, known = _condition(new, POD_SCHEDULED), _condition(before, POD_SCHEDULED)
    if failed.status == "False" and failed.reason == "Unschedulable" and failed.message != known.message:
        yield _decision(DecisionType.UNSCHEDULABLE, new, time, message=failed.message)


def _decision(kind: DecisionType, pod: Pod, time: float, *, node: str = "", message: str = "") -> Decision:
    return Decision(
        time=time,
        type=kind,
        pod=pod.key,
        uid=pod.metadata.uid,
        node=node,
        scheduler=pod.spec.scheduler_name,
        message=message,
    )


def _is_preempted(pod: Pod) -> bool:
    condition = _condition(pod, DISRUPTION_TARGET)
    return condition.status == "True" and condition.reason == PREEMPTION_BY_SCHEDULER


def _condition(pod: Pod, name: str) -> PodCondition:
    return next((condition for condition in pod.status.conditions if condition.type == name), _NONE)


_NONE: Final = PodCondition()
