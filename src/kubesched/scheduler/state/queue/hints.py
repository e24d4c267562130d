"""Whether an event is worth another attempt for a rejected pod: the plugins that rejected it are asked."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubesched.clock import Clock
from kubesched.objects import Pod
from kubesched.scheduler.columns import PodInfo, PodTemplate
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, QueuedPod, Resource, Tags
from kubesched.scheduler.state.queue.observer import QueueObserver
from kubesched.scheduler.state.queue.unschedulable import EqualPods, RejectedPods, Rejection, Rejector
from kubesched.telemetry.logging import log

TemplatePredicate: TypeAlias = Callable[[PodTemplate], bool]

HintsPerProfile: TypeAlias = Mapping[str, Mapping[str, Sequence[EventHint]]]
"""Scheduler name -> plugin -> the events that it registered."""

_NODE_TAINT: Final = EventHint(ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT))


class QueueingStrategy(enum.IntEnum):
    """What becomes of a waiting pod (queueingStrategy); the strongest answer wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """One registered event of one plugin of one profile; compared by identity."""

    plugin: str
    event_hint: EventHint

    @property
    def is_shared(self) -> bool:
        """Whether pods with equal templates get one answer."""
        return self.event_hint.hint is None or self.event_hint.per_template


@dataclass(frozen=True, slots=True, eq=False)
class EventRegistrations:
    """The registrations for one event, of all profiles."""

    label: str
    by_profile: Mapping[str, Sequence[Registration]]
    """By scheduler name; every profile has its entry."""
    rejectors: Sequence[Rejector]
    plugins: frozenset[str]
    """Of all profiles together."""

    is_wildcard: bool
    exist: bool
    """Whether the event can matter to any pod."""


class HintTable:
    """All registered events."""

    def __init__(self, hints: HintsPerProfile) -> None:
        self._registered = {
            profile: [Registration(plugin, hint) for plugin in plugins for hint in _completed(plugins[plugin])]
            for profile, plugins in hints.items()
        }
        self._by_event: dict[ClusterEvent, EventRegistrations] = {}

    def registrations_for(self, event: ClusterEvent) -> EventRegistrations:
        known = self._by_event.get(event)
        if known is None:
            known = self._by_event[event] = self._look_up(event)
        return known

    def _look_up(self, event: ClusterEvent) -> EventRegistrations:
        matching = {
            profile: tuple(one for one in registered if one.event_hint.event.covers(event))
            for profile, registered in self._registered.items()
        }
        rejectors = dict.fromkeys((profile, one.plugin) for profile, found in matching.items() for one in found)
        plugins = frozenset(plugin for _, plugin in rejectors)
        exist = event.is_wildcard or bool(plugins)
        return EventRegistrations(event.label, matching, tuple(rejectors), plugins, event.is_wildcard, exist)


def _completed(hints: Sequence[EventHint]) -> Sequence[EventHint]:
    """What a plugin's registration stands for.

    One for added nodes includes changed taints: an added node is hidden from pods that do not tolerate its first
    taints (buildQueueingHintMap, kubernetes/kubernetes#109437).
    """
    node_actions = Action(0)
    for hint in hints:
        if hint.event.resource is Resource.NODE:
            node_actions |= hint.event.action
    if Action.ADD in node_actions and Action.UPDATE_NODE_TAINT not in node_actions:
        return (*hints, _NODE_TAINT)
    return hints


class HintEvaluation:
    """Which waiting pods one event may help: asks the hints of the plugins that rejected them.

    A hint that pods with equal templates share is called once per template.
    """

    def __init__(
        self, registrations: EventRegistrations, old: Any, new: Any, clock: Clock, observer: QueueObserver
    ) -> None:
        self._registrations = registrations
        self._old = old
        self._new = new
        self._clock = clock
        self._observer = observer
        self._known: dict[tuple[Registration, PodTemplate], Hint] = {}

    def strategy_for(self, queued: QueuedPod) -> QueueingStrategy:
        """What the event means to one pod (isPodWorthRequeuing)."""
        rejection = Rejection.of(queued)
        plugins = rejection.plugins
        if not plugins:
            return QueueingStrategy.AFTER_BACKOFF
        if self._registrations.is_wildcard:
            return QueueingStrategy.AFTER_BACKOFF if self._is_meant(queued) else QueueingStrategy.SKIP
        registrations = self._registrations.by_profile.get(rejection.profile)
        if registrations is None:
            message = "No QueueingHintMap is registered for this profile"
            log.error(message, profile=rejection.profile, pod=queued.info.key)
            return QueueingStrategy.AFTER_BACKOFF
        asked = [one for one in registrations if one.plugin in plugins]
        return self._strongest(asked, queued.info, rejection, QueueingStrategy.SKIP)

    def pods_to_requeue(
        self, rejected: RejectedPods, among: TemplatePredicate | None = None
    ) -> Iterator[tuple[QueuedPod, QueueingStrategy]]:
        """The pods among these that are worth another attempt, as `strategy_for` would say of each.

        Gated pods are left alone by an event that the plugin which gates them did not register.
        """
        rejection = rejected.rejection
        if self._registrations.is_wildcard:
            for equals in _chosen(rejected.by_template.values(), among):
                yield from (
                    (pod, QueueingStrategy.AFTER_BACKOFF) for pod in equals.pods.values() if self._is_meant(pod)
                )
            return
        if rejection.gating_plugin and rejection.gating_plugin not in self._registrations.plugins:
            return
        registrations = self._registrations.by_profile.get(rejection.profile, ())
        asked = [one for one in registrations if one.plugin in rejected.plugins]
        shared = [one for one in asked if one.is_shared]
        single = [one for one in asked if not one.is_shared]
        best = _best(rejection)
        for equals in _chosen(self._concerned(rejected, asked), among):
            exemplar = next(iter(equals.pods.values())).info
            common = self._strongest(shared, exemplar, rejection, QueueingStrategy.SKIP)
            if not single or common is best:
                yield from ((queued, common) for queued in equals.pods.values() if common)
                continue
            for queued in equals.pods.values():
                if answer := self._strongest(single, queued.info, rejection, common):
                    yield queued, answer

    def _concerned(self, rejected: RejectedPods, asked: Sequence[Registration]) -> Iterable[EqualPods]:
        """All of them but those whose tags rule out that a hint says QUEUE."""
        found: dict[PodTemplate, EqualPods] = {}
        for tags in [one.event_hint.tags for one in asked]:
            wanted = None if tags is None else self._tags_of_event(tags)
            if tags is None or wanted is None:
                return rejected.by_template.values()
            found |= rejected.tagged(tags, wanted)
        return found.values()

    def _tags_of_event(self, tags: Tags) -> Collection[Hashable] | None:
        try:
            return tags.of_event(self._old, self._new)
        except Exception:
            return None

    def _is_meant(self, queued: QueuedPod) -> bool:
        """A wildcard event with a pod is for that pod alone."""
        new = self._new
        return new is None or (isinstance(new, Pod) and new.metadata.uid == queued.uid)

    def _strongest(
        self, registrations: Sequence[Registration], info: PodInfo, rejection: Rejection, answer: QueueingStrategy
    ) -> QueueingStrategy:
        """A pending plugin's word lets the pod skip its backoff; nothing is stronger, so asking ends there."""
        best = _best(rejection)
        for one in registrations:
            if self._ask(one, info) is Hint.SKIP:
                continue
            is_pending = one.plugin in rejection.pending_plugins
            answer = max(answer, QueueingStrategy.IMMEDIATELY if is_pending else QueueingStrategy.AFTER_BACKOFF)
            if answer is best:
                break
        return answer

    def _ask(self, registration: Registration, info: PodInfo) -> Hint:
        if not registration.is_shared:
            return self._call(registration, info)
        key = (registration, info.template)
        answer = self._known.get(key)
        if answer is None:
            answer = self._known[key] = self._call(registration, info)
        return answer

    def _call(self, registration: Registration, info: PodInfo) -> Hint:
        hint = registration.event_hint.hint or _always
        plugin, label = registration.plugin, self._registrations.label
        start = self._clock.monotonic()
        try:
            answer = hint(info, self._old, self._new)
            result = answer.value
        except Exception as error:
            log.error("QueueingHintFn returns error", error, event=label, plugin=plugin, pod=info.key)
            answer, result = Hint.QUEUE, "Error"
        self._observer.hint_asked(plugin, label, result, self._clock.monotonic() - start)
        return answer


def _always(pod: PodInfo, old: Any, new: Any) -> Hint:
    """The hint of a registration that has none: measured like any other (defaultQueueingHintFn)."""
    return Hint.QUEUE


def _best(rejection: Rejection) -> QueueingStrategy:
    """The strongest answer that can be had."""
    return QueueingStrategy.IMMEDIATELY if rejection.pending_plugins else QueueingStrategy.AFTER_BACKOFF


def _chosen(pods: Iterable[EqualPods], among: TemplatePredicate | None) -> Iterable[EqualPods]:
    return pods if among is None else [equals for equals in pods if among(equals.template)]
