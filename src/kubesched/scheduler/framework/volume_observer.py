"""Failures of volume scheduling: the seam that `scheduler_volume_scheduling_stage_error_total` hangs on."""

from __future__ import annotations

from typing import Protocol


class VolumeObserver(Protocol):
    def stage_failed(self, operation: str) -> None:
        """`predicate`, `assume` or `bind` ended in an error (not: found no fitting node)."""
        ...


class SilentVolumeObserver:
    """Observes nothing."""

    def stage_failed(self, operation: str) -> None: ...
