"""What the plugins of a profile may ask of the scheduler, for real."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from kubesched.clock import Clock
from kubesched.config.feature_gates import FeatureGates
from kubesched.scheduler.columns import Booleans, ClusterTables, NodeView, PodInfo
from kubesched.scheduler.framework import (
    ApiWriter,
    CycleState,
    DeviceObserver,
    EventRecorder,
    Extender,
    Nominator,
    ObjectStores,
    PodGroupStates,
    PreemptionObserver,
    SilentDeviceObserver,
    SilentPreemption,
    SilentVolumeObserver,
    VolumeObserver,
    WaitingPod,
)
from kubesched.scheduler.runtime.pods_in_pre_bind import PodInPreBind
from kubesched.scheduler.runtime.waiting_pods import WaitingPods


class FiltersWithNominated(Protocol):
    """A profile's engine, as far as its plugins may ask it."""

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans: ...
    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]: ...


def _not_running(work: Coroutine[Any, Any, None]) -> None:
    work.close()
    raise RuntimeError("the scheduler is not set up yet")


@dataclass(kw_only=True)
class SharedServices:
    """What all profiles of a scheduler share."""

    cluster: ClusterTables
    objects: ObjectStores
    clock: Clock
    random: Random
    gates: FeatureGates
    api: ApiWriter
    recorder: EventRecorder
    nominator: Nominator
    pod_groups: PodGroupStates
    extenders: Sequence[Extender] = ()
    waiting: WaitingPods = field(default_factory=WaitingPods)
    """A pod of any profile that waits on permit may be the victim of another's."""
    in_pre_bind: dict[str, PodInPreBind] = field(default_factory=dict)
    """By uid; for the same reason."""
    activate: Callable[[Iterable[PodInfo]], None] = field(default=lambda pods: None)
    """Set once the queue exists."""
    start_task: Callable[[Coroutine[Any, Any, None]], None] = field(default=_not_running)
    """Set once the scheduler exists."""
    preemption_observer: PreemptionObserver = field(default_factory=SilentPreemption)
    volume_observer: VolumeObserver = field(default_factory=SilentVolumeObserver)
    device_observer: DeviceObserver = field(default_factory=SilentDeviceObserver)


class ProfileHandle:
    """Implements `kubesched.scheduler.framework.Handle`. `engine` is set once it exists."""

    def __init__(self, profile_name: str, services: SharedServices) -> None:
        self.profile_name = profile_name
        self._shared = services
        self.cluster = services.cluster
        self.objects = services.objects
        self.clock = services.clock
        self.random = services.random
        self.gates = services.gates
        self.api = services.api
        self.recorder = services.recorder
        self.nominator = services.nominator
        self.pod_groups = services.pod_groups
        self.extenders = services.extenders
        self.waiting = services.waiting
        self.in_pre_bind = services.in_pre_bind
        self.preemption_observer = services.preemption_observer
        self.volume_observer = services.volume_observer
        self.device_observer = services.device_observer
        self.engine: FiltersWithNominated | None = None

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self.waiting

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self.waiting.get(uid)

    def cancel_binding(self, uid: str, reason: str) -> bool:
        running = self.in_pre_bind.get(uid)
        return running is not None and running.cancel(reason)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        self._shared.activate(pods)

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        self._shared.start_task(work)

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        assert self.engine is not None, "the profile's engine is not set up yet"
        return self.engine.fits_with_nominated(state, pod, nodes, passed_before=passed_before)

    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]:
        assert self.engine is not None, "the profile's engine is not set up yet"
        return self.engine.reasons_with_nominated(state, pod, nodes)
