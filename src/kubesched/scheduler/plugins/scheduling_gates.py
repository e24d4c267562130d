"""SchedulingGates: a pod with gates waits outside the queue until they are lifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubesched.objects import Pod
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    PreEnqueuePlugin,
    Resource,
    Status,
)

NAME: Final = "SchedulingGates"


class SchedulingGates(PreEnqueuePlugin):
    """Keeps a pod out of the queue while its spec names a scheduling gate."""

    name = NAME

    def pre_enqueue(self, pod: PodInfo) -> Status:
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> Sequence[EventHint]:
        return (EventHint(ClusterEvent(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED), _own_gates_gone),)


def _own_gates_gone(pod: PodInfo, old: Pod, new: Pod) -> Hint:
    return Hint.QUEUE if new.metadata.uid == pod.uid else Hint.SKIP
