"""What a plugin may ask of the scheduler."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from kubesched.clock import Clock
from kubesched.config.feature_gates import FeatureGates
from kubesched.objects import Pod, PodGroup
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.columns import Booleans, ClusterTables, Journal, NodeView, PodInfo
from kubesched.scheduler.framework.cycle_state import CycleState
from kubesched.scheduler.framework.device_observer import DeviceObserver, SilentDeviceObserver
from kubesched.scheduler.framework.fetches import Fetched, Fetches
from kubesched.scheduler.framework.listers import ObjectStore, ObjectStores, Selection
from kubesched.scheduler.framework.pod_group import PodGroupStates
from kubesched.scheduler.framework.preemption import PreemptionObserver, SilentPreemption, Victims
from kubesched.scheduler.framework.volume_observer import SilentVolumeObserver, VolumeObserver

T = TypeVar("T")


class NominatingMode(enum.Enum):
    NOOP = enum.auto()
    OVERRIDE = enum.auto()


@dataclass(frozen=True, slots=True)
class NominatingInfo:
    """Set a pod's nominated node (OVERRIDE, an empty name clears it), or leave it as it is (NOOP)."""

    node_name: str = ""
    mode: NominatingMode = NominatingMode.OVERRIDE


class Nomination(NamedTuple):
    """A pending pod and the node on which room was made for it."""

    node_name: str
    pod: PodInfo


class Nominator(Protocol):
    """Pending pods for which preemption made room on a node."""

    @property
    def nominations(self) -> Mapping[str, Nomination]:
        """All of them, by the pods' uids."""
        ...

    @property
    def changes(self) -> Journal[str]:
        """The uids of pods whose nominations were added, changed or removed."""
        ...

    def add(self, pod: PodInfo, nominating: NominatingInfo | None) -> None: ...
    def remove(self, pod: Pod) -> None: ...
    def update(self, old: Pod, new: PodInfo) -> None: ...
    def on_node(self, node_name: str) -> Sequence[PodInfo]: ...
    def node_names(self) -> Collection[str]:
        """Nodes with at least one nominated pod."""
        ...


class WaitingPod(Protocol):
    """A pod that Permit plugins hold back."""

    @property
    def pod(self) -> Pod: ...
    @property
    def pending_plugins(self) -> Collection[str]: ...
    def allow(self, plugin: str) -> None: ...
    def reject(self, plugin: str, message: str) -> bool:
        """False if the pod was let go, or rejected, before."""
        ...

    def preempt(self, plugin: str, message: str) -> bool:
        """Take the node from it: it is tried again, not called unschedulable. False if it was decided before."""
        ...


class ApiWriter(Protocol):
    """The writes that scheduling makes. They raise `ClientError`; the caller decides what that means.

    Those about one object are made in the order in which they are asked for, one after the other.

    Objects here are slim: writes are therefore patches with just the fields that change, never whole objects.
    """

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod with this uid to the node."""
        ...

    async def bind_by(self, pod: Pod, bind: Callable[[], Awaitable[T]]) -> T:
        """Let somebody else bind the pod, when no write about it is under way: for what binds by other means."""
        ...

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        """Set a condition and the nominated node, if that changes anything.

        Returns without having written where a newer write about the pod makes it superfluous.
        """
        ...

    async def delete_pod(self, pod: Pod) -> None:
        """Delete the pod with this uid; it is no error if it is gone already."""
        ...

    async def patch(
        self, kind: type[T], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> T:
        """JSON merge patch. Put `metadata.resourceVersion` into the body to guard against a concurrent change."""
        ...

    async def create(self, obj: T) -> T: ...

    async def delete(self, kind: type[T], name: str, *, namespace: str = "", uid: str = "") -> None: ...


class EventRecorder(Protocol):
    def event(
        self,
        regarding: Pod,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *,
        related: Pod | PodGroup | None = None,
        reporter: str = "",
    ) -> None:
        """Record an event (`Normal` or `Warning`). Never blocks, never raises.

        `reporter` is the scheduler in whose name it is reported, if not that of the pod.
        """
        ...


class Extender(Protocol):
    """An HTTP extender, as preemption and the scheduling cycle use it."""

    @property
    def name(self) -> str: ...
    @property
    def weight(self) -> int: ...
    @property
    def is_ignorable(self) -> bool: ...
    @property
    def is_filter(self) -> bool: ...
    @property
    def is_prioritizer(self) -> bool: ...
    @property
    def is_binder(self) -> bool: ...
    @property
    def supports_preemption(self) -> bool: ...
    def is_interested(self, pod: Pod) -> bool: ...
    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], pods_on_node: Callable[[str], Sequence[Pod]]
    ) -> Mapping[str, Victims]:
        """The candidate nodes that the extender agrees to, with the victims that it wants.

        `pods_on_node` gives the pods of a node as the scheduler knows them; KeyError for a node that it does not know.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ExternalServices:
    """What a scheduler is given from outside, as far as its plugins may use it, too."""

    api: ApiWriter
    recorder: EventRecorder
    clock: Clock
    random: Random
    extenders: Sequence[Extender] = ()
    preemption_observer: PreemptionObserver = field(default_factory=SilentPreemption)
    volume_observer: VolumeObserver = field(default_factory=SilentVolumeObserver)
    device_observer: DeviceObserver = field(default_factory=SilentDeviceObserver)


@dataclass(frozen=True, kw_only=True)
class SharedServices(ExternalServices):
    """What all profiles of a scheduler share, and plugins may use. A new service is a field here, and nowhere else."""

    cluster: ClusterTables
    """Nodes and placed pods, in columns. Read only."""
    objects: ObjectStores
    """What the informers know of all other kinds."""
    gates: FeatureGates
    nominator: Nominator
    pod_groups: PodGroupStates
    fetches: Fetches


def services_of(record: ExternalServices, kind: type[ExternalServices]) -> dict[str, Any]:
    """The services of a kind that a record has, as keywords for another record."""
    return {one.name: getattr(record, one.name) for one in fields(kind)}


@dataclass(frozen=True, kw_only=True)
class Handle(SharedServices, ABC):
    """All that a plugin knows of the scheduler: the shared services, and what it may ask for. One per profile."""

    profile_name: str

    def informer(
        self, kind: type[T], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> ObjectStore[T]:
        """The objects of a kind, kept up to date from before the first decision. To be called in `__init__`.

        The kind is one of `kubesched.objects`, or a `CustomObject` of the plugin's own. Its changes wake pods
        (`ClusterEvent.of(kind)` in `events_to_register`), and the store's `version` belongs into `external_version`.
        A kind that the API server does not have is taken as empty until it has it. Where another plugin wants more of
        the kind, there is more in the store than the selection says.
        """
        return self.objects.watch(kind, Selection(namespace, label_selector, field_selector))

    def fetch(
        self, url: str, *, every: float, into: Any = dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> Fetched[Any]:
        """Fetch JSON every so many seconds, beside the loop; the last value is at hand. To be called in `__init__`.

        `url` is an http(s) address, or a path of the API server (`/apis/metrics.k8s.io/v1beta1/nodes`), which is asked
        with the scheduler's credentials. `into` is the type to decode to: plain data, or a struct.
        """
        return self.fetches.add(url, every, into, headers or {})

    @abstractmethod
    def waiting_pods(self) -> Iterable[WaitingPod]: ...

    @abstractmethod
    def waiting_pod(self, uid: str) -> WaitingPod | None: ...

    @abstractmethod
    def cancel_binding(self, uid: str, reason: str) -> bool:
        """Stop a pod that is in its PreBind (it is to be preempted). False if there is nothing to stop."""

    @abstractmethod
    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Try these pods at once, if they are waiting in the queue."""

    @abstractmethod
    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the scheduling of pods; it is waited for when the scheduler stops."""

    @abstractmethod
    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        """Run the profile's filters over a view (usually one with a "what if"), nominated pods counted in.

        Fits are what is left after both passes: with the nominated pods of equal or higher priority, and without.
        Nodes that have `passed_before` did so with other pods: whoever looks at nodes alone is not asked again.
        """

    @abstractmethod
    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]:
        """Why nodes fail the question of `fits_with_nominated`: each reason with the number of nodes that gave it."""
