"""What becomes of attempts: the seam that metrics hang on."""

from __future__ import annotations

from typing import Protocol

from kubesched.scheduler.engine import Evaluator, FeasibleNodes
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.runtime.profile import Profile


class AttemptObserver(Protocol):
    """Called once per attempt; must be cheap."""

    def algorithm_ran(self, seconds: float) -> None:
        """A node was looked for, PostFilter included. Called once per try where a whole group is tried."""
        ...

    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None: ...
    def unschedulable(self, profile: str, seconds: float) -> None: ...
    def failed(self, profile: str, seconds: float) -> None: ...


class DecisionObserver(Protocol):
    """Called when a node was chosen, while all that the choice was made from is still there; must be cheap."""

    def decided(
        self,
        queued: QueuedPod,
        node_name: str,
        fit: FeasibleNodes,
        by: tuple[Profile, Evaluator],
        times: tuple[float, float],
    ) -> None:
        """`times` are when the attempt began and when its nodes were filtered, on the monotonic clock.

        Where a whole group is tried, the choice may be hypothetical: what counts is where the pod ends up.
        """
        ...


class PodGroupObserver(Protocol):
    """Called once per attempt to place a whole group; must be cheap."""

    def algorithm_ran(self, seconds: float) -> None: ...
    def attempted(self, profile: str, result: str, seconds: float) -> None:
        """The result is `scheduled`, `unschedulable`, `waiting_on_preemption` or `error`."""
        ...


class SilentPodGroups:
    """Observes nothing."""

    def algorithm_ran(self, seconds: float) -> None: ...
    def attempted(self, profile: str, result: str, seconds: float) -> None: ...


class SilentAttempts:
    """Observes nothing."""

    def algorithm_ran(self, seconds: float) -> None: ...
    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None: ...
    def unschedulable(self, profile: str, seconds: float) -> None: ...
    def failed(self, profile: str, seconds: float) -> None: ...
