"""From informers to the event handlers, timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kubesched.clock import Clock
from kubesched.objects import CustomObject, Node, Pod
from kubesched.objects.pod_resources import ResourceFeatures
from kubesched.scheduler.framework import Action, ClusterEvent, Resource
from kubesched.scheduler.framework.events import resource_of
from kubesched.scheduler.scheduling.event_handlers import EVENT_RESOURCES, EventHandlers
from kubesched.scheduler.scheduling.node_events import node_events
from kubesched.scheduler.state.queue import pod_events
from kubesched.telemetry.instruments import Histogram


class Labels(NamedTuple):
    """The names of an addition, a change and a deletion in the metric of their durations."""

    added: str
    updated: str
    deleted: str

    @classmethod
    def of(cls, resource: Resource | str) -> Labels:
        return cls(*(ClusterEvent(resource, action).label for action in (Action.ADD, Action.UPDATE, Action.DELETE)))


class Feed:
    """Hands an informer's news of one kind to the event handlers, and measures how long they take."""

    def __init__(self, kind: type, handlers: EventHandlers, clock: Clock, durations: Histogram) -> None:
        self._handlers = handlers
        self._clock = clock
        self._durations = durations
        self._labels_of = _labels_of(kind)

    def on_add(self, value: Any, is_initial: bool) -> None:
        started = self._clock.monotonic()
        self._handlers.add(value)
        if (labels := self._labels_of(value)) is not None:
            self._durations.observe(self._clock.monotonic() - started, labels.added)

    def on_update(self, old: Any, new: Any) -> None:
        started = self._clock.monotonic()
        self._handlers.update(old, new)
        if (labels := self._labels_of(new)) is not None:
            # A pod that got its node counts as new there.
            label = labels.updated if labels is self._labels_of(old) else labels.added
            self._durations.observe(self._clock.monotonic() - started, label)

    def on_delete(self, last_known: Any, maybe_stale: bool) -> None:
        started = self._clock.monotonic()
        self._handlers.delete(last_known)
        if (labels := self._labels_of(last_known)) is not None:
            self._durations.observe(self._clock.monotonic() - started, labels.deleted)


class NodeFeed(Feed):
    """A change of a node has as many names as kinds of changes are in it; a heartbeat has none."""

    def on_update(self, old: Node, new: Node) -> None:
        started = self._clock.monotonic()
        self._handlers.update(old, new)
        seconds = self._clock.monotonic() - started
        for event in node_events(old, new):
            self._durations.observe(seconds, event.label)


class PodFeed(Feed):
    """A change of a pod has its general name, and one for each kind of change that plugins wait for."""

    def __init__(self, handlers: EventHandlers, clock: Clock, durations: Histogram, features: ResourceFeatures) -> None:
        super().__init__(Pod, handlers, clock, durations)
        self._features = features

    def on_update(self, old: Pod, new: Pod) -> None:
        if bool(old.spec.node_name) is not bool(new.spec.node_name):
            super().on_update(old, new)
            return
        started = self._clock.monotonic()
        self._handlers.update(old, new)
        seconds = self._clock.monotonic() - started
        labels = self._labels_of(new)
        assert labels is not None, "every pod has them"
        self._durations.observe(seconds, labels.updated)
        for event in pod_events(old, new, self._features):
            if event.label != labels.updated:
                self._durations.observe(seconds, event.label)


def feed_of(
    kind: type,
    handlers: EventHandlers,
    clock: Clock,
    durations: Histogram,
    features: ResourceFeatures = ResourceFeatures(),  # noqa: B008 - frozen
) -> Feed:
    """`features` say how a pod's requests are computed."""
    if kind is Pod:
        return PodFeed(handlers, clock, durations, features)
    return (NodeFeed if kind is Node else Feed)(kind, handlers, clock, durations)


def _labels_of(kind: type) -> Callable[[Any], Labels | None]:
    """None for kinds that wake no pod: kube-scheduler handles no events of theirs."""
    if kind is Pod:
        assigned, pending = Labels.of(Resource.ASSIGNED_POD), Labels.of(Resource.UNSCHEDULABLE_POD)
        return lambda pod: assigned if pod.spec.node_name else pending
    resource: Resource | str | None = Resource.NODE if kind is Node else EVENT_RESOURCES.get(kind)
    if issubclass(kind, CustomObject):
        resource = resource_of(kind)
    labels = Labels.of(resource) if resource is not None else None
    return lambda _obj: labels
