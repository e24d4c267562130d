"""Who preempted whom, as far as a trace shows it.

A victim bears a condition that says that it was preempted, not by whom. But a pod that preempts is nominated to the
node on which it makes room: before its victims are marked, or right after. So the preemptor is the pod with more
priority that was nominated to the victim's node at about that time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kubesched.objects import Pod
from kubesched.traces.entries import Change, Decision, DecisionType, Entry

NOMINATED_WITHIN: Final = 5.0
"""Seconds between a nomination and a preemption that belong together."""
_RELEVANT: Final = (DecisionType.NOMINATED, DecisionType.PREEMPTED)


class Preemption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    time: float
    victim: str
    """`namespace/name`"""
    node: str
    priority: int = 0
    by: str = ""
    """The pod that room was made for; empty where no nomination shows it."""
    by_priority: int = 0


class PreemptionsSeen:
    """Takes the entries of a trace in order. What it keeps grows with preemptions and pods, not with changes."""

    def __init__(self) -> None:
        self._priorities: dict[str, int] = {}
        self._victims: list[tuple[Decision, int]] = []
        self._nominated: dict[str, list[tuple[Decision, int]]] = {}
        """By node, in the order of time."""

    def take(self, entry: Entry) -> None:
        if isinstance(entry, Change) and isinstance(entry.object, Pod):
            if entry.object.priority:
                self._priorities[entry.object.metadata.uid] = entry.object.priority
        elif isinstance(entry, Decision) and entry.type in _RELEVANT:
            noted = (entry, self._priorities.get(entry.uid, 0))
            if entry.type is DecisionType.PREEMPTED:
                self._victims.append(noted)
            else:
                self._nominated.setdefault(entry.node, []).append(noted)

    def found(self) -> list[Preemption]:
        return [self._preemption(victim, priority) for victim, priority in self._victims]

    def _preemption(self, victim: Decision, priority: int) -> Preemption:
        """With the nomination that is nearest in time; the earlier one, where two are."""
        near = [
            (abs(nominated.time - victim.time), nominated, other)
            for nominated, other in self._nominated.get(victim.node, ())
            if other > priority and abs(nominated.time - victim.time) <= NOMINATED_WITHIN
        ]
        _, by, by_priority = min(near, key=lambda found: found[0], default=(0.0, None, 0))
        return Preemption(
            time=victim.time,
            victim=victim.pod,
            node=victim.node,
            priority=priority,
            by=by.pod if by is not None else "",
            by_priority=by_priority,
        )


def preemptions(entries: Iterable[Entry]) -> list[Preemption]:
    """All preemptions of a trace, in the order of time."""
    seen = PreemptionsSeen()
    for entry in entries:
        seen.take(entry)
    return seen.found()
