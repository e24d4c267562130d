"""What the queue reports to its observer while it works. How many pods are where is read off the queue instead."""

from __future__ import annotations

import enum
from typing import Final, Protocol


class SubQueue(enum.StrEnum):
    """Where a pending pod waits; the values are the metrics' labels."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"


class QueueObserver(Protocol):
    """Called synchronously: it must be quick and must not raise."""

    def pod_enqueued(self, queue: SubQueue, event: str) -> None:
        """A pod came into a sub-queue (gated pods count as unschedulable ones), and why."""
        ...

    def rejections_changed(self, plugin: str, profile: str, change: int) -> None:
        """So many more (or fewer) pods wait in the queue because the plugin rejected them."""
        ...

    def hint_asked(self, plugin: str, event: str, result: str, seconds: float) -> None:
        """A queueing hint answered `Queue` or `QueueSkip`, or failed (`Error`)."""
        ...

    def pre_enqueue_ran(self, profile: str, seconds: float) -> None:
        """A pod went through its profile's PreEnqueue plugins.

        What they said is not reported: kube-scheduler's metric has `Success` for all of them (runPreEnqueuePlugins).
        """
        ...


class SilentObserver:
    """Observes nothing."""

    def pod_enqueued(self, queue: SubQueue, event: str) -> None:
        pass

    def rejections_changed(self, plugin: str, profile: str, change: int) -> None:
        pass

    def hint_asked(self, plugin: str, event: str, result: str, seconds: float) -> None:
        pass

    def pre_enqueue_ran(self, profile: str, seconds: float) -> None:
        pass


SILENT: Final[QueueObserver] = SilentObserver()
