"""Which events may make room for a pod that NodeResourcesFit rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesched.objects import DeviceClass, Node, Pod
from kubesched.objects.pod_resources import (
    ResourceFeatures,
    in_scheduler_units,
    incoming_requests,
    pod_requests,
)
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import DEVICE_CLASS_PREFIX, PODS
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource
from kubesched.scheduler.plugins.support.devices.backing import BackingClasses
from kubesched.scheduler.plugins.support.per_template import PerTemplate


class ResourceHints:
    """`devices` is None where extended resources never stand for devices."""

    def __init__(self, features: ResourceFeatures, devices: BackingClasses | None) -> None:
        self._features = features
        self._devices = devices
        self._requests = PerTemplate(lambda pod: incoming_requests(pod.exemplar, features))
        self._capacities: tuple[tuple[Node, Mapping[str, int]], ...] = ()

    def events(self) -> Sequence[EventHint]:
        events = [EventHint(ClusterEvent(Resource.POD, Action.DELETE), _after_pod_deleted, per_template=True)]
        if self._features.in_place_resize:
            scaled_down = ClusterEvent(Resource.POD, Action.UPDATE_POD_SCALE_DOWN)
            events.append(EventHint(scaled_down, self._after_pod_scaled_down))
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        events.append(EventHint(node, self._after_node_change, per_template=True))
        if self._devices is not None:
            device_class = ClusterEvent(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE)
            events.append(EventHint(device_class, _after_device_class_change, per_template=True))
        return tuple(events)

    def _after_pod_scaled_down(self, pod: PodInfo, old: Pod, new: Pod) -> Hint:
        """The pod itself asks for less, or a pod on a node gives back something that it asks for."""
        if new.metadata.uid == pod.uid:
            return Hint.QUEUE
        if not new.spec.node_name:
            return Hint.SKIP
        before, after, wanted = (in_scheduler_units(self._requests_of(each)) for each in (old, new, pod.pod))
        freed = any(before.get(name, 0) > after.get(name, 0) for name, amount in wanted.items() if amount)
        return Hint.QUEUE if freed else Hint.SKIP

    def _requests_of(self, pod: Pod) -> Mapping[str, Quantity]:
        return pod_requests(pod, use_status=True, features=self._features)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> Hint:
        """The node, were it empty, has room for the pod, and before it had less of what the pod asks for."""
        requests = self._requests.of(pod.template)
        if not self._has_room(new, requests):
            return Hint.SKIP
        return Hint.QUEUE if old is None or self._has_grown(old, new, requests) else Hint.SKIP

    def _has_room(self, node: Node, requests: Mapping[str, int]) -> bool:
        capacity = self._capacity(node)
        return _allowed_pods(node) > 0 and all(
            amount <= capacity.get(name, 0) or self._is_left_to_devices(name, capacity)
            for name, amount in requests.items()
            if amount
        )

    def _has_grown(self, old: Node, new: Node, requests: Mapping[str, int]) -> bool:
        if _allowed_pods(new) > _allowed_pods(old):
            return True
        before, after = self._capacity(old), self._capacity(new)
        return any(
            after.get(name, 0) > before.get(name, 0) or self._is_left_to_devices(name, after)
            for name, amount in requests.items()
            if amount
        )

    def _capacity(self, node: Node) -> Mapping[str, int]:
        """The last two are remembered: an event's old and new node are held against one template after the other."""
        for known, capacity in self._capacities:
            if known is node:
                return capacity
        capacity = in_scheduler_units(node.status.allocatable)
        self._capacities = ((node, capacity), *self._capacities[:1])
        return capacity

    def _is_left_to_devices(self, resource: str, capacity: Mapping[str, int]) -> bool:
        return self._devices is not None and capacity.get(resource, 0) <= 0 and resource in self._devices


def _allowed_pods(node: Node) -> int:
    return node.status.allocatable.get(PODS, Quantity.ZERO).value()


def _after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> Hint:
    """A pod that had a node, or one reserved for it, gives back what it took."""
    return Hint.QUEUE if old.spec.node_name or old.status.nominated_node_name else Hint.SKIP


def _after_device_class_change(pod: PodInfo, old: DeviceClass | None, new: DeviceClass) -> Hint:
    """A class answers to a resource name that the pod asks for, and did not before."""
    names = {new.spec.extended_resource_name}
    if old is None:
        names.add(DEVICE_CLASS_PREFIX + new.metadata.name)
    elif (old.spec.extended_resource_name or "") == (new.spec.extended_resource_name or ""):
        return Hint.SKIP
    return Hint.SKIP if names.isdisjoint(pod_requests(pod.template.exemplar)) else Hint.QUEUE
