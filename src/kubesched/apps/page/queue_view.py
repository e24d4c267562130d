"""The pods that wait: as the scheduler's queue has them, or as the conditions of the pods tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import nsmallest
from typing import Any, Final, NamedTuple

import msgspec

from kubesched.apps.page.source import PageSource
from kubesched.apps.plan.what_if import why_waiting
from kubesched.objects import Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.framework import Action, ClusterEvent, QueuedPod

MOST_ROWS: Final = 500
IN_FLIGHT: Final = "in flight"
ON_PERMIT: Final = "waiting on permit"
PENDING: Final = "pending"
"""Of another process' scheduler, and not tried yet as far as is known."""
UNSCHEDULABLE: Final = "unschedulable"
GATED: Final = "gated"
MOST_EVENTS: Final = 12


class QueueFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for; empty stands for everything."""

    place: str = ""
    namespace: str = ""
    profile: str = ""
    text: str = ""
    priority: int | None = None

    def matches(self, place: str, pod: Pod) -> bool:
        return (
            (not self.place or self.place == place)
            and (not self.namespace or self.namespace == pod.metadata.namespace)
            and (not self.profile or self.profile == pod.spec.scheduler_name)
            and (self.priority is None or self.priority == pod.priority)
            and (not self.text or self.text in pod.key)
        )


class QueueRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pod: str
    place: str
    profile: str
    priority: int
    created: datetime | None
    attempts: int = 0
    backoff_left: float = 0.0
    plugins: tuple[str, ...] = ()
    """Who rejected it last, or holds it back."""
    wakes: tuple[str, ...] = ()
    """The events that make the scheduler try it again."""
    message: str = ""
    nominated: str = ""


class Waiting(NamedTuple):
    place: str
    pod: Pod
    queued: QueuedPod | None


def queue_view(source: PageSource, wanted: QueueFilter) -> dict[str, Any]:
    """The first rows that match, the longest waiting first, how many there are, and what can be filtered by."""
    everything = list(_scheduler_queue(source) if source.schedules else waiting_by_conditions(source.assembled))
    matching = [one for one in everything if wanted.matches(one.place, one.pod)]
    shown = nsmallest(MOST_ROWS, matching, key=_age)
    return {
        "rows": [_row(source, one) for one in shown],
        "matching": len(matching),
        "places": Counter(one.place for one in everything),
        "namespaces": sorted({one.pod.metadata.namespace for one in everything}),
        "profiles": sorted({one.pod.spec.scheduler_name for one in everything}),
        "priorities": sorted({one.pod.priority for one in everything}, reverse=True),
        "live": source.schedules,
    }


def _scheduler_queue(source: PageSource) -> Iterator[Waiting]:
    queue = source.assembled.queue
    for place, queued in queue.waiting():
        yield Waiting(str(place), queued.info.pod, queued)
    on_permit = {one.pod.metadata.uid: one for one in _waiting_pods(source)}
    for pod in queue.in_flight_pods():
        if pod.metadata.uid not in on_permit:
            yield Waiting(IN_FLIGHT, pod, None)
    for held in on_permit.values():
        yield Waiting(ON_PERMIT, held.pod, None)


def _waiting_pods(source: PageSource) -> Iterable[Any]:
    """All profiles share them."""
    for profile in source.assembled.profiles.values():
        return list(profile.handle.waiting_pods())
    return ()


def waiting_by_conditions(assembled: Assembled) -> Iterator[Waiting]:
    """Of another process' scheduler."""
    for pod in assembled.objects.of(Pod):
        if pod.spec.node_name or pod.is_terminal:
            continue
        if pod.spec.scheduling_gates:
            yield Waiting(GATED, pod, None)
        elif any(one.type == "PodScheduled" and one.status == "False" for one in pod.status.conditions):
            yield Waiting(UNSCHEDULABLE, pod, None)
        else:
            yield Waiting(PENDING, pod, None)


def _age(one: Waiting) -> tuple[float, str]:
    created = one.pod.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0, one.pod.key


def _row(source: PageSource, one: Waiting) -> QueueRow:
    pod, queued = one.pod, one.queued
    plugins: tuple[str, ...] = ()
    attempts, backoff_left = 0, 0.0
    if queued is not None:
        plugins = tuple(sorted(queued.rejecting_plugins)) or ((queued.gating_plugin,) if queued.gating_plugin else ())
        attempts = queued.attempts
        backoff_left = max(0.0, queued.backoff_until - source.clock.monotonic())
    return QueueRow(
        pod=pod.key,
        place=one.place,
        profile=pod.spec.scheduler_name,
        priority=pod.priority,
        created=pod.metadata.creation_timestamp,
        attempts=attempts,
        backoff_left=round(backoff_left, 1) if one.place == "backoff" else 0.0,
        plugins=plugins,
        wakes=waking_events(source, pod.spec.scheduler_name, plugins),
        message=_message(pod),
        nominated=pod.status.nominated_node_name,
    )


def waking_events(source: PageSource, profile_name: str, plugins: Iterable[str]) -> tuple[str, ...]:
    """The events that these plugins, which rejected a pod, wait for."""
    profile = source.assembled.profiles.get(profile_name)
    if profile is None:
        return ()
    hints = profile.event_hints()
    events = [_said(hint.event) for plugin in plugins for hint in hints.get(plugin, ())]
    return tuple(dict.fromkeys(events))[:MOST_EVENTS]


def _said(event: ClusterEvent) -> str:
    """`Node: added, allocatable changed`."""
    if event.is_wildcard:
        return "anything"
    kind = str(event.resource).rpartition("/")[2]
    if event.action == Action.ALL:
        return f"{kind}: any change"
    words = {Action.ADD: "added", Action.DELETE: "deleted"}
    if Action.UPDATE in event.action:
        parts = [words[action] for action in (Action.ADD, Action.DELETE) if action in event.action]
        return f"{kind}: {', '.join([*parts, 'changed'])}"
    parts = [words.get(action) or _changed(action) for action in event.action]
    return f"{kind}: {', '.join(parts)}"


def _changed(action: Action) -> str:
    """`UPDATE_NODE_ALLOCATABLE`: `allocatable changed`."""
    name = (action.name or "").removeprefix("UPDATE_").removeprefix("NODE_").removeprefix("POD_")
    return f"{name.lower().replace('_', ' ')} changed"


def _message(pod: Pod) -> str:
    tried = any(one.type == "PodScheduled" and one.message for one in pod.status.conditions)
    return why_waiting(pod) if tried or pod.spec.scheduling_gates else ""
