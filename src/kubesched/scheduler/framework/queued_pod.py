"""A pod in the scheduling queue: the pod and what its attempts have taught so far."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

import msgspec

from kubesched.scheduler.columns import PodInfo

NOBODY: Final[frozenset[str]] = frozenset()


class QueuedPod(msgspec.Struct, eq=False, gc=False):
    """Times are seconds of the clock's `monotonic()`. Nothing that it holds points back to it: no cycles to collect."""

    info: PodInfo
    timestamp: float = 0.0
    """When it was last added to the queue; orders pods of equal priority."""
    initial_attempt: float | None = None
    attempts: int = 0
    unschedulable_count: int = 0
    """Attempts that ended "does not fit": they lengthen the backoff."""
    consecutive_errors: int = 0
    """Attempts in a row that ended in an error: a backoff of their own, which spares the API server."""
    backoff_until: float = 0.0
    unschedulable_plugins: Set[str] = NOBODY
    pending_plugins: Set[str] = NOBODY
    gating_plugin: str = ""
    was_flushed: bool = False
    """The last move out of the unschedulable pods was the time-out, not an event."""
    flushed_at: float = 0.0
    """When that time-out last came: a pod that is gated again waits as long once more."""
    sequence: int = 0
    """Breaks ties in heaps; given by the queue."""

    @property
    def uid(self) -> str:
        return self.info.uid

    @property
    def is_gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejecting_plugins(self) -> Set[str]:
        return self.unschedulable_plugins | self.pending_plugins

    def forget_rejections(self) -> None:
        """Before a new attempt's result is written down."""
        self.unschedulable_plugins = NOBODY
        self.pending_plugins = NOBODY
        self.gating_plugin = ""
