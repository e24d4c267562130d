"""In which order writes leave the process: about one object one at a time, and the newest last. No I/O, no time.

             add ──────────────────────────────► in flight ──finished──► (the next call about the object)
              │ the object, or every slot, is taken  ▲
              └──────────► waiting ──────────────────┘ its turn
                              │ another call says all that it says
                              └──────────────────────► superseded: never sent

As kube-scheduler's API dispatcher (backend/api_dispatcher), for all writes: it knows one call per object, where a more
relevant one replaces the others. Here calls about an object form a line, since deletions and claims must not be lost.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from enum import Enum, auto
from typing import ClassVar, Final, NamedTuple

from kubesched.objects import Pod
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo, NominatingMode

POD_SCHEDULED: Final = "PodScheduled"


class Call:
    """A write about the object at `path` with this `uid`. `type` is what metrics call it."""

    __slots__ = ("began", "path", "type", "uid")

    is_patient: ClassVar = False
    """Whether others may go first when slots are rare."""

    def __init__(self, path: str, uid: str, call_type: str) -> None:
        self.path = path
        self.uid = uid
        self.type = call_type
        self.began = 0.0
        """When its turn came, for who measures."""

    def replaces(self, other: Call) -> bool:
        """Take over what `other`, which was not sent, says; True if nothing of it is left to say.

        The other is the call right before this one in the object's line; for a binding that has succeeded, every call
        behind it.
        """
        return False


class PodStatusPatch(Call):
    """Conditions by type, and a nomination; an empty node name takes a nomination back."""

    __slots__ = ("conditions", "nominated_node", "pod")

    is_patient = True

    def __init__(self, path: str, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None) -> None:
        super().__init__(path, pod.metadata.uid, "pod_status_patch")
        self.pod = pod
        self.conditions = {condition.type: condition} if condition is not None else {}
        overrides = nominating is not None and nominating.mode is NominatingMode.OVERRIDE
        self.nominated_node = nominating.node_name if nominating is not None and overrides else None

    def replaces(self, other: Call) -> bool:
        if not isinstance(other, PodStatusPatch) or other.uid != self.uid:
            return False
        self.conditions = other.conditions | self.conditions
        if self.nominated_node is None:
            self.nominated_node = other.nominated_node
        return True


class PodBinding(Call):
    """A bound pod is scheduled, and has no use for a nomination: the API server says so in the same transaction."""

    __slots__ = ()

    def __init__(self, path: str, uid: str) -> None:
        # As `Call`'s own, without another call: one is made for every pod.
        self.path, self.uid, self.type, self.began = path, uid, "pod_binding", 0.0

    def replaces(self, other: Call) -> bool:
        if not isinstance(other, PodStatusPatch) or other.uid != self.uid:
            return False
        other.conditions.pop(POD_SCHEDULED, None)
        other.nominated_node = None
        return not other.conditions


class Action(Enum):
    SEND = auto()
    SUPERSEDED = auto()


class Instruction(NamedTuple):
    """What is to be done about a call now."""

    action: Action
    call: Call


NOTHING: Final[Sequence[Instruction]] = ()
SEND_NOW: Final[Sequence[Instruction]] = []
"""Send the call that was just added: what most calls get, at no price."""


class WriteOrder:
    """At most `most` calls are in flight, of which at most `most_patient` are patient ones."""

    def __init__(self, *, most: int, most_patient: int) -> None:
        self._free = most
        self._free_patient = most_patient
        self._in_flight: dict[str, Call] = {}
        self._lines: dict[str, deque[Call]] = {}
        # Objects whose turn it is and that lack a slot. An entry may be outdated: who takes it looks.
        self._ready: deque[str] = deque()
        self._ready_patient: deque[str] = deque()
        self._waiting: Counter[str] = Counter()

    def add(self, call: Call) -> Sequence[Instruction]:
        """A new call, newer than all before it: SEND_NOW, or it waits until an instruction says that it is its turn."""
        path = call.path
        if self._free and path not in self._in_flight and path not in self._lines:
            if not call.is_patient:
                self._free -= 1
                self._in_flight[path] = call
                return SEND_NOW
            if self._free_patient:
                self._start(call)
                return SEND_NOW
        line = self._lines.get(path)
        if line is None:
            line = self._lines[path] = deque()
        replaced: list[Instruction] = []
        while line and call.replaces(line[-1]):
            older = line.pop()
            self._waiting[older.type] -= 1
            replaced.append(Instruction(Action.SUPERSEDED, older))
        line.append(call)
        self._waiting[call.type] += 1
        if line[0] is call and path not in self._in_flight:
            self._note_ready(call)
            return [*replaced, *self._fill_slots()]
        return replaced

    def finished(self, call: Call, *, succeeded: bool) -> Sequence[Instruction]:
        """A call that was sent has its answer, or none is waited for any longer: others have their turn."""
        del self._in_flight[call.path]
        self._free += 1
        if call.is_patient:
            self._free_patient += 1
        if not self._lines:
            return NOTHING
        superseded: Sequence[Instruction] = ()
        line = self._lines.get(call.path)
        if line is not None:
            if succeeded and isinstance(call, PodBinding):
                superseded = self._leave_out(line, call)
            if line:
                self._note_ready(line[0])
            else:
                del self._lines[call.path]
        return [*superseded, *self._fill_slots()]

    def withdraw(self, call: Call) -> Sequence[Instruction]:
        """A call that waits is not wanted any more."""
        line = self._lines[call.path]
        line.remove(call)
        self._waiting[call.type] -= 1
        if not line:
            del self._lines[call.path]
        elif call.path not in self._in_flight:
            self._note_ready(line[0])
        return self._fill_slots()

    def gives_way(self, call: Call) -> bool:
        """Whether a call in flight that the server has refused, or not seen yet, is left to the next in line.

        If so, the next one says what this one was to say, and this one must not be sent (again).
        """
        line = self._lines.get(call.path)
        return line is not None and line[0].replaces(call)

    def waiting(self) -> dict[str, int]:
        """How many calls wait, by their type."""
        return dict(self._waiting)

    def _leave_out(self, line: deque[Call], binding: PodBinding) -> list[Instruction]:
        superfluous = [call for call in line if binding.replaces(call)]
        for call in superfluous:
            line.remove(call)
            self._waiting[call.type] -= 1
        return [Instruction(Action.SUPERSEDED, call) for call in superfluous]

    def _note_ready(self, call: Call) -> None:
        (self._ready_patient if call.is_patient else self._ready).append(call.path)

    def _fill_slots(self) -> list[Instruction]:
        started: list[Instruction] = []
        for ready, is_patient in ((self._ready, False), (self._ready_patient, True)):
            while ready and self._free and (not is_patient or self._free_patient):
                path = ready.popleft()
                line = self._lines.get(path)
                if line is None or path in self._in_flight or line[0].is_patient is not is_patient:
                    continue
                call = line.popleft()
                if not line:
                    del self._lines[path]
                self._waiting[call.type] -= 1
                self._start(call)
                started.append(Instruction(Action.SEND, call))
        return started

    def _start(self, call: Call) -> None:
        self._free -= 1
        if call.is_patient:
            self._free_patient -= 1
        self._in_flight[call.path] = call
