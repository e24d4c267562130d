"""What preemption shares with extenders, with explanations and with metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kubesched.objects import Pod


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from a node, the most important first, and how many of them a disruption budget protects."""

    pods: tuple[Pod, ...]
    pdb_violations: int = 0


class PreemptionObserver(Protocol):
    """The seam that metrics hang on; must be cheap."""

    def attempted(self) -> None: ...
    def evicting(self, victims: int) -> None: ...
    def evicted(self, result: str, seconds: float) -> None:
        """An eviction beside the scheduling cycle has ended with `success` or `error`."""
        ...


class SilentPreemption:
    """Observes nothing."""

    def attempted(self) -> None: ...
    def evicting(self, victims: int) -> None: ...
    def evicted(self, result: str, seconds: float) -> None: ...
