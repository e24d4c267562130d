"""From the order in which bindings become known to the order in which they were decided.

A scheduler takes pods from its queue one by one, counts each as placed at once, and writes the bindings beside its
loop, many at a time: they become known in another order. But the queue's order is known. Of two pods that have not
failed yet, the one that came first, with no less priority, was decided first. So a binding is held until those that
must have been decided before it are known, too.

    changes as they become known ──► DecisionOrder ──► the same, bindings in the order of their decisions

Not known is the order of pods that came while their scheduler did not run (it lists them all when it starts), that
failed before, that belong to a group, or that came earlier with less priority: these are passed on as they come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final, NamedTuple

from kubesched.objects import Pod
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Entry
from kubesched.traces.entries import POD_SCHEDULED

HOLD_SECONDS: Final = 10.0
"""How long a binding is held for others. A pod that takes longer waits for a volume, or for a permit."""


STARTED_AFTER: Final = 2.0
"""A scheduler that decided nothing for so long, although a pod waited for so long, has not been running."""


class Place(NamedTuple):
    """A pod's place in the queue of its scheduler."""

    scheduler: str
    priority: int
    number: int
    """The how-manieth to arrive."""

    def is_before(self, other: Place) -> bool:
        """Whether this pod was decided first, for certain. Neither of two may be."""
        return self.scheduler == other.scheduler and self.number < other.number and self.priority >= other.priority


class Ordered(NamedTuple):
    """An entry, handed on."""

    entry: Entry
    place: Place | None = None
    """Of a pod's first decision, where its place in the queue is known."""
    is_moved: bool = False
    """It became known in another order than it was decided in."""


class DecisionOrder:
    """Takes entries in the order in which they became known, and hands them on in the order of decisions."""

    def __init__(self, hand_on: Callable[[Ordered], None]) -> None:
        self._hand_on = hand_on
        self._arrivals = 0
        self._undecided: dict[str, dict[int, dict[str, Place]]] = defaultdict(lambda: defaultdict(dict))
        """By scheduler, priority and uid, in the order of arrival."""
        self._place_of: dict[str, Place] = {}
        self._arrived: dict[str, float] = {}
        self._pending: dict[str, str] = {}
        """The schedulers of all pods without a node, by uid."""
        self._last_decided: dict[str, float] = {}
        """By scheduler; pods have a place in its queue only once it is known to run."""
        self._held: dict[str, _Held] = {}

    def take(self, entry: Entry) -> None:
        self._let_go_after(entry.time)
        uid = _uid(entry)
        if uid in self._held:
            self._held[uid].entries.append(entry)
            return
        decides = uid in self._pending and _decides(entry)
        if decides:
            self._note_running(self._pending[uid], entry.time)
        place = self._place_of.get(uid)
        if place is not None and decides:
            self._remove(uid)
            self._held[uid] = _Held(entry.time, place, [entry])
            self._release()
            return
        self._pass_on(entry)

    def close(self) -> None:
        """No more entries: hand on what is held."""
        self._undecided.clear()
        self._place_of.clear()
        self._arrived.clear()
        self._release()

    def _pass_on(self, entry: Entry) -> None:
        if isinstance(entry, Change) and isinstance(entry.object, Pod):
            self._follow(entry, entry.object)
        self._hand_on(Ordered(entry))

    def _follow(self, change: Change, pod: Pod) -> None:
        """Whether the pod is in its scheduler's queue, for the first time."""
        uid = pod.metadata.uid
        if change.type is ChangeType.DELETED or pod.spec.node_name:
            self._pending.pop(uid, None)
        else:
            self._pending[uid] = pod.spec.scheduler_name
        if change.type is ChangeType.DELETED or not _is_queued(pod):
            if uid in self._place_of:
                self._remove(uid)
                self._release()
        elif uid not in self._place_of and pod.spec.scheduler_name in self._last_decided:
            self._arrivals += 1
            place = Place(pod.spec.scheduler_name, pod.spec.priority or 0, self._arrivals)
            self._place_of[uid] = self._undecided[place.scheduler][place.priority][uid] = place
            self._arrived[uid] = change.time

    def _note_running(self, scheduler: str, time: float) -> None:
        """It decides now. If it has not run for a while, whatever waits was listed when it started, in any order."""
        last = self._last_decided.get(scheduler, time)
        self._last_decided[scheduler] = time
        undecided = self._undecided[scheduler].values()
        oldest = min((self._arrived[uid] for pods in undecided for uid, _ in _first(pods)), default=time)
        if time - max(last, oldest) > STARTED_AFTER:
            for uid in [uid for pods in undecided for uid in pods]:
                self._remove(uid)
            self._release()

    def _remove(self, uid: str) -> None:
        place = self._place_of.pop(uid)
        del self._arrived[uid]
        del self._undecided[place.scheduler][place.priority][uid]

    def _release(self) -> None:
        """Hand on what nothing that is undecided must precede, in the order of arrival."""
        ready = [(held.place.number, uid) for uid, held in self._held.items() if not self._blocking(held.place)]
        for number, uid in sorted(ready):
            held = self._held.pop(uid)
            self._pending.pop(uid, None)
            overtakes = any(other.place.number > number for other in self._held.values())
            first, *others = held.entries
            self._hand_on(Ordered(first, held.place, is_moved=overtakes or held.has_waited))
            for entry in others:
                self._pass_on(entry)
        for held in self._held.values():
            held.has_waited = True

    def _blocking(self, place: Place) -> list[str]:
        """Pods that must have been decided before, and of which no decision is known."""
        return [
            uid
            for undecided in self._undecided[place.scheduler].values()
            for uid, other in _first(undecided)
            if other.is_before(place)
        ]

    def _let_go_after(self, time: float) -> None:
        """Wait no longer for what holds others for so long."""
        while late := [held.place for held in self._held.values() if time - held.since > HOLD_SECONDS]:
            for place in late:
                for uid in self._blocking(place):
                    self._remove(uid)
            self._release()


class _Held:
    """The first decision about a pod, and whatever became known about it since."""

    def __init__(self, since: float, place: Place, entries: list[Entry]) -> None:
        self.since, self.place, self.entries = since, place, entries
        self.has_waited = False


def _first(undecided: dict[str, Place]) -> list[tuple[str, Place]]:
    return [next(iter(undecided.items()))] if undecided else []


def _uid(entry: Entry) -> str:
    """Of the pod that it is about; empty if it is about none."""
    if isinstance(entry, Change):
        return str(entry.object.metadata.uid) if isinstance(entry.object, Pod) else ""
    return entry.uid if isinstance(entry, Decision) else ""


def _decides(entry: Entry) -> bool:
    """Whether it is the decision about a pod: it is bound, or fits nowhere."""
    if isinstance(entry, Decision):
        return entry.type is DecisionType.UNSCHEDULABLE
    return isinstance(entry, Change) and entry.type is not ChangeType.DELETED and bool(entry.object.spec.node_name)


def _is_queued(pod: Pod) -> bool:
    """Whether its place in a scheduler's queue is known."""
    return not (
        pod.spec.node_name
        or pod.spec.scheduling_gates
        or pod.spec.scheduling_group
        or pod.metadata.deletion_timestamp
        or _has_failed(pod)
    )


def _has_failed(pod: Pod) -> bool:
    return any(condition.type == POD_SCHEDULED and condition.status == "False" for condition in pod.status.conditions)
