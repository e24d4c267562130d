"""Cluster events, and the hints that say whether one may make a rejected pod schedulable."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubesched.objects import KIND_OF
from kubesched.scheduler.columns import PodInfo, PodTemplate


class Action(enum.IntFlag):
    """What happened to an object. An incoming event is always as specific as is known."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
    )
    ALL = ADD | DELETE | UPDATE


_ACTION_LABELS: Final = {
    action: "".join(word.capitalize() for word in (action.name or "").split("_")) for action in Action
} | {Action.UPDATE: "Update", Action.ALL: "All"}


class Resource(enum.StrEnum):
    """Kinds that plugins may register for. ASSIGNED_POD and UNSCHEDULABLE_POD only come in, as cases of POD."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    WILDCARD = "*"


class ClusterEvent(msgspec.Struct, frozen=True):
    """`resource` is a `Resource`, or the `group/Kind` of a kind that a plugin has an informer of (`of`)."""

    resource: Resource | str
    action: Action
    custom_label: str = ""

    @classmethod
    def of(cls, kind: type, action: Action = Action.ALL) -> ClusterEvent:
        """The event of a kind, whether the scheduler knows it or a plugin declares it."""
        return cls(resource_of(kind), action)

    @property
    def label(self) -> str:
        """As logs and metrics name it, e.g. `NodeAdd`, `AssignedPodDelete`."""
        return self.custom_label or f"{self.resource}{_ACTION_LABELS[self.action]}"

    @property
    def is_wildcard(self) -> bool:
        return self.resource is Resource.WILDCARD and self.action is Action.ALL

    def covers(self, incoming: ClusterEvent) -> bool:
        """Whether a plugin that registered this event is concerned by an incoming one.

        The incoming one must be the same or more specific: Update covers UpdateNodeLabel, not the other way round.
        """
        if self.is_wildcard:
            return True
        same_resource = self.resource in (Resource.WILDCARD, incoming.resource) or (
            self.resource is Resource.POD and incoming.resource in (Resource.ASSIGNED_POD, Resource.UNSCHEDULABLE_POD)
        )
        return same_resource and bool(self.action & incoming.action) and incoming.action <= self.action


_KNOWN_RESOURCES: Final = {resource.value: resource for resource in Resource}


def resource_of(kind: type) -> Resource | str:
    """What events of a kind are about."""
    name = KIND_OF[kind].group_kind
    return _KNOWN_RESOURCES.get(name, name)


class Hint(enum.Enum):
    """Whether an event is worth another attempt for a pod that the plugin rejected."""

    SKIP = "QueueSkip"
    QUEUE = "Queue"


HintFunction = Callable[[PodInfo, Any, Any], Hint]
"""(rejected pod, old object or None, new object or None) -> Hint.

Old is None when the object was added, new when it was deleted. An exception counts as QUEUE: a pod must not get stuck.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Tags:
    """What a waiting pod and an event must have in common for a hint to say QUEUE: at least one tag.

    The queue files waiting pods under their tags and does not even ask about pods with other ones than the event's.
    Tags of a pod must never change. None stands for all tags, and so does an exception.
    """

    of_pod: Callable[[PodTemplate], Collection[Hashable] | None]
    of_event: Callable[[Any, Any], Collection[Hashable] | None]
    """Given the old and the new object, as a hint is."""


@dataclass(frozen=True, slots=True)
class EventHint:
    """An event that may help, and the function that looks closer; without one the answer is always QUEUE.

    `per_template` says that the function reads nothing of the pod but its template (and of the objects what it
    likes): the queue then asks once for all waiting pods with the same template.
    """

    event: ClusterEvent
    hint: HintFunction | None = None
    per_template: bool = False
    tags: Tags | None = None
    """Without them, the hint may say QUEUE for any pod."""


ANY_EVENT: Final = EventHint(ClusterEvent(Resource.WILDCARD, Action.ALL))
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(Resource.WILDCARD, Action.ALL, "UnschedulableTimeout")
CONFIGURATION_RELOADED: Final = ClusterEvent(Resource.WILDCARD, Action.ALL, "ConfigurationReloaded")
FORCE_ACTIVATE: Final = ClusterEvent(Resource.WILDCARD, Action.ALL, "ForceActivate")
ASSIGNED_POD_ADD: Final = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD: Final = ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE: Final = ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.UPDATE)
