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
    group_disruptions: int = 0
    """For a pod group: how many units among them are groups, or single pods of groups."""


class PreemptionObserver(Protocol):
    """The seam that metrics hang on; must be cheap."""

    def attempted(self) -> None: ...
    def attempted_for_group(self, result: str) -> None:
        """`result` is a status code, by its name."""
        ...

    def evaluated(self, preemptor: str, result: str, seconds: float) -> None:
        """Victims were looked for. Preemptors are `pod` or `podgroup` here and below."""
        ...

    def evicting(self, victims: Victims, preemptor: str) -> None: ...
    def evicted(self, preemptor: str, result: str, seconds: float, *, in_background: bool) -> None:
        """An eviction has ended with `success` or `error`; beside the scheduling cycle, or within."""
        ...


class SilentPreemption:
    """Observes nothing."""

    def attempted(self) -> None: ...
    def attempted_for_group(self, result: str) -> None: ...
    def evaluated(self, preemptor: str, result: str, seconds: float) -> None: ...
    def evicting(self, victims: Victims, preemptor: str) -> None: ...
    def evicted(self, preemptor: str, result: str, seconds: float, *, in_background: bool) -> None: ...
