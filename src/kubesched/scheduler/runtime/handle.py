"""What the plugins of a profile may ask of the scheduler, for real."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kubesched.scheduler.columns import Booleans, NodeView, PodInfo
from kubesched.scheduler.framework import CycleState, Handle, SharedServices, WaitingPod
from kubesched.scheduler.framework.handle import services_of
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


@dataclass(frozen=True, kw_only=True)
class SchedulerActions:
    """What plugins may do to pods beyond their own attempt; shared by all profiles.

    A pod of any profile that waits on permit, or is in its PreBind, may be the victim of another's.
    """

    activate: Callable[[Iterable[PodInfo]], None] = lambda pods: None
    start_task: Callable[[Coroutine[Any, Any, None]], None] = _not_running
    waiting: WaitingPods = field(default_factory=WaitingPods)
    in_pre_bind: dict[str, PodInPreBind] = field(default_factory=dict)
    """By uid."""


class ProfileHandle(Handle):
    """A profile's handle. `engine` is set once it exists."""

    def __init__(self, profile_name: str, services: SharedServices, actions: SchedulerActions) -> None:
        super().__init__(profile_name=profile_name, **services_of(services, SharedServices))
        self.actions = actions
        self.waiting = actions.waiting
        self.in_pre_bind = actions.in_pre_bind
        self.engine: FiltersWithNominated | None = None

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self.waiting

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self.waiting.get(uid)

    def cancel_binding(self, uid: str, reason: str) -> bool:
        running = self.in_pre_bind.get(uid)
        return running is not None and running.cancel(reason)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        self.actions.activate(pods)

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        self.actions.start_task(work)

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        assert self.engine is not None, "the profile's engine is not set up yet"
        return self.engine.fits_with_nominated(state, pod, nodes, passed_before=passed_before)

    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]:
        assert self.engine is not None, "the profile's engine is not set up yet"
        return self.engine.reasons_with_nominated(state, pod, nodes)
