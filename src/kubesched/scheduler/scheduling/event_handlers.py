"""From what happens in the cluster to what the scheduler knows: the entry of a pod's way.

Every object that an informer delivers comes through here, in three verbs: `add`, `update`, `delete`. Pods with a node
and nodes go to the cache, pods without a node to the queue, everything else to the stores that plugins read; and each
change wakes the waiting pods that it may help.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Final

from kubesched.errors import InvalidObjectError
from kubesched.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    ResourceClaim,
    ResourceSlice,
    StorageClass,
    VolumeAttachment,
)
from kubesched.objects.pod import TERMINAL_PHASES
from kubesched.scheduler.framework import Action, ClusterEvent, ObjectStores, PodInfo, Resource
from kubesched.scheduler.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD_ADD,
    resource_of,
)
from kubesched.scheduler.scheduling.device_taint_rules import TaintedSlices
from kubesched.scheduler.scheduling.node_events import node_events
from kubesched.scheduler.state.cache import Cache, on_node
from kubesched.scheduler.state.queue import SchedulingQueue, pod_events
from kubesched.telemetry.logging import log

EVENT_RESOURCES: Final[dict[type, Resource]] = {
    PersistentVolume: Resource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
    StorageClass: Resource.STORAGE_CLASS,
    CSINode: Resource.CSI_NODE,
    CSIDriver: Resource.CSI_DRIVER,
    CSIStorageCapacity: Resource.CSI_STORAGE_CAPACITY,
    VolumeAttachment: Resource.VOLUME_ATTACHMENT,
    ResourceClaim: Resource.RESOURCE_CLAIM,
    ResourceSlice: Resource.RESOURCE_SLICE,
    DeviceClass: Resource.DEVICE_CLASS,
    PodGroup: Resource.POD_GROUP,
}
"""Kinds whose changes can make a waiting pod schedulable, besides pods and nodes."""


class EventHandlers:
    """`rejects_waiting` rejects a pod that waits on permit and returns whether there was one.

    With `tainted_slices`, rules taint devices (gate DRADeviceTaintRules).
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        objects: ObjectStores,
        scheduler_names: Container[str],
        *,
        rejects_waiting: Callable[[Pod], bool],
        wakes_on_new_pods: bool = False,
        tainted_slices: TaintedSlices | None = None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._objects = objects
        self._pods = objects.of(Pod)
        self._scheduler_names = scheduler_names
        self._rejects_waiting = rejects_waiting
        self._wakes_on_new_pods = wakes_on_new_pods
        self._tainted_slices = tainted_slices

    def add(self, obj: Any) -> None:
        """An object is new, or was there when the informer started."""
        try:
            match obj:
                case Pod():
                    self._add_pod(obj)
                case Node():
                    self._add_node(obj)
                case _:
                    self._changed(obj, Action.ADD, None)
        except Exception as error:
            _report(obj, error)

    def update(self, old: Any, new: Any) -> None:
        try:
            match new:
                case Pod():
                    self._update_pod(old, new)
                case Node():
                    self._update_node(old, new)
                case _:
                    self._changed(new, Action.UPDATE, old)
        except Exception as error:
            _report(new, error)

    def delete(self, obj: Any) -> None:
        try:
            match obj:
                case Pod():
                    self._delete_pod(obj)
                case Node():
                    self._delete_node(obj)
                case _:
                    self._gone(obj)
        except Exception as error:
            _report(obj, error)

    def serve(self, scheduler_names: Container[str]) -> None:
        """Schedule the pods of these names from now on, and no others."""
        before, self._scheduler_names = self._scheduler_names, scheduler_names
        for pod in [pod for pod in self._pods if not pod.spec.node_name]:
            name = pod.spec.scheduler_name
            if name in scheduler_names and name not in before:
                self.add(pod)
            elif name in before and name not in scheduler_names and not self._cache.is_assumed(pod.metadata.uid):
                self._cache.pod_groups.remove(pod)
                self._queue.delete(pod)

    # ---- pods -------------------------------------------------------------------------------------------------

    def _add_pod(self, pod: Pod) -> None:
        if pod.status.phase in TERMINAL_PHASES:
            return
        self._pods.set(pod)
        if pod.spec.node_name:
            self._add_assigned(pod)
        elif self._is_ours(pod):
            info = self._info(pod)
            if pod.spec.scheduling_group is not None:
                self._cache.pod_groups.add(info)
            self._queue.add(info)
            if self._wakes_on_new_pods:
                self._queue.move_all(UNSCHEDULED_POD_ADD, None, pod)

    def _update_pod(self, old: Pod, new: Pod) -> None:
        if old.metadata.uid != new.metadata.uid:
            # Deleted and made again under the same name while nobody watched.
            self._delete_pod(old)
            self._add_pod(new)
            return
        if new.status.phase in TERMINAL_PHASES:
            # A watch that leaves out finished pods says "deleted"; a source without such a filter does not.
            self._delete_pod(old)
            return
        self._pods.set(new)
        if old.spec.node_name:
            self._cache.update(self._renewed(new))
            for event in pod_events(old, new, self._cache.cluster.templates.features):
                self._queue.move_all(event, old, new)
        elif new.spec.node_name:
            self._add_assigned(new)
            if self._is_ours(old):
                self._queue.delete(old)
        elif self._is_ours(old):
            self._update_pending(old, new)

    def _delete_pod(self, pod: Pod) -> None:
        self._pods.remove(pod)
        if self._cache.contains(pod.metadata.uid) and not self._cache.is_assumed(pod.metadata.uid):
            self._cache.remove(pod)
            self._queue.move_all(ASSIGNED_POD_DELETE, pod, None)
        elif self._is_ours(pod):
            self._cache.pod_groups.remove(pod)
            self._queue.delete(pod)
            if self._cache.is_assumed(pod.metadata.uid):
                self._assumed_pod_deleted(pod)
            elif pod.status.nominated_node_name:
                self._nomination_ended(pod)

    def _add_assigned(self, pod: Pod) -> None:
        self._cache.add(self._renewed(pod))
        self._queue.move_all(ASSIGNED_POD_ADD, None, pod)

    def _update_pending(self, old: Pod, new: Pod) -> None:
        if old.metadata.resource_version == new.metadata.resource_version != "":
            return
        if self._cache.is_assumed(new.metadata.uid):
            if new.is_terminating and not old.is_terminating:
                self._assumed_pod_deleted(new)
            return
        info = self._info(new)
        self._cache.pod_groups.add(info)
        self._queue.update(old, info)
        before = old.status.nominated_node_name
        if before and before != new.status.nominated_node_name:
            self._nomination_ended(old)

    def _assumed_pod_deleted(self, pod: Pod) -> None:
        """A pod that is on its way to its node is gone: make room at once, not when its binding fails."""
        left = on_node(pod, self._cache.node_of(pod.metadata.uid) or "")
        if not self._rejects_waiting(pod):
            self._cache.forget(pod)
        self._queue.move_all(ASSIGNED_POD_DELETE, left, None)

    def _nomination_ended(self, pod: Pod) -> None:
        """The room that was held for a pod is free for those that had to yield to it."""
        priority = pod.priority
        self._queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: other.priority <= priority)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._scheduler_names

    def _info(self, pod: Pod) -> PodInfo:
        try:
            return self._cache.cluster.templates.info(pod)
        except ValueError as error:
            raise InvalidObjectError(str(error), kind="Pod", name=pod.key) from error

    def _renewed(self, pod: Pod) -> PodInfo:
        known = self._cache.get(pod.metadata.uid)
        return self._info(pod) if known is None else self._cache.cluster.templates.renewed(known, pod)

    # ---- nodes --------------------------------------------------------------------------------------------------

    def _add_node(self, node: Node) -> None:
        self._objects.of(Node).set(node)
        self._cache.add_node(node)
        self._queue.move_all(ClusterEvent(Resource.NODE, Action.ADD), None, node)

    def _update_node(self, old: Node, new: Node) -> None:
        self._objects.of(Node).set(new)
        self._cache.update_node(new)
        for event in node_events(old, new):
            self._queue.move_all(event, old, new)

    def _delete_node(self, node: Node) -> None:
        self._objects.of(Node).remove(node)
        self._queue.move_all(ClusterEvent(Resource.NODE, Action.DELETE), node, None)
        self._cache.remove_node(node.metadata.name)

    # ---- everything else ----------------------------------------------------------------------------------------

    def _changed(self, obj: Any, action: Action, old: Any) -> None:
        if self._tainted_slices is not None and isinstance(obj, ResourceSlice):
            old, obj = self._tainted_slices.change(old, obj)
        self._objects.of(type(obj)).set(obj)
        if isinstance(obj, Namespace):
            self._cache.cluster.set_namespace(obj)
        if (resource := self._event_resource(type(obj))) is not None:
            self._queue.move_all(ClusterEvent(resource, action), old, obj)
        elif isinstance(obj, DeviceTaintRule):
            self._rule_changed(obj, old)

    def _gone(self, obj: Any) -> None:
        if self._tainted_slices is not None and isinstance(obj, ResourceSlice):
            self._tainted_slices.forget(obj)
        self._objects.of(type(obj)).remove(obj)
        if isinstance(obj, Namespace):
            self._cache.cluster.remove_namespace(obj.metadata.name)
        if (resource := self._event_resource(type(obj))) is not None:
            self._queue.move_all(ClusterEvent(resource, Action.DELETE), obj, None)
        elif isinstance(obj, DeviceTaintRule):
            self._rule_changed(obj)

    def _event_resource(self, kind: type) -> Resource | str | None:
        """None for kinds that wake no pod, unless a plugin asked for them."""
        known = EVENT_RESOURCES.get(kind)
        return known if known is not None or kind not in self._objects.watched else resource_of(kind)

    def _rule_changed(self, *rules: DeviceTaintRule | None) -> None:
        """To waiting pods, the slices have changed whose devices have other taints now."""
        if self._tainted_slices is None:
            return
        event = ClusterEvent(Resource.RESOURCE_SLICE, Action.UPDATE)
        for old, new in self._tainted_slices.retainted(*rules):
            self._objects.of(ResourceSlice).set(new)
            self._queue.move_all(event, old, new)


def _report(obj: Any, error: Exception) -> None:
    """One bad object must not stop the stream of events."""
    kind = type(obj).__name__
    log.error(f"{kind} event could not be handled", error, kind=kind, name=obj.metadata.key)
