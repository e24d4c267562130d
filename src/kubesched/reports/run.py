"""The outcome of one run: a policy on a trace with a seed."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec


class PodOutcome(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """What became of one pod. Times are seconds since the epoch, as in the trace."""

    pod: str
    """`namespace/name`"""
    arrived: float
    priority: int = 0
    is_scheduled_here: bool = True
    """False for pods that came with a node, or that ask for another scheduler: they are the scenery."""
    bound_at: float | None = None
    node: str = ""
    ended: float | None = None
    attempts: int = 0
    disrupted_by: str = ""
    """`preempted`, or `node`: it was gone, or no longer tolerated."""
    preempted_by: str = ""
    """The pod, or the group, that room was made for."""
    message: str = ""
    """Of a pod that has no node at the end: why, in the scheduler's words."""
    recorded_node: str = ""
    """Where the trace shows it, if it does."""

    @property
    def namespace(self) -> str:
        return self.pod.partition("/")[0]


class Sample(msgspec.Struct, kw_only=True, rename="camel"):
    """The cluster at a moment. Amounts are in the scheduler's units: thousandths of CPUs, bytes, pieces."""

    time: float
    pending: int
    running: int
    nodes: int
    nodes_in_use: int
    allocatable: dict[str, int]
    requested: dict[str, int]
    stranded: dict[str, float]
    """By resource: the share of what is free that no typical pod can use."""


class SpreadOutcome(msgspec.Struct, kw_only=True, rename="camel"):
    """A topology spread constraint, and how well it is met at the end."""

    namespace: str
    topology_key: str
    selector: str
    is_hard: bool
    max_skew: int
    skew: int


class RunResult(msgspec.Struct, kw_only=True, rename="camel"):
    name: str
    """Of the policy, as its user calls it."""
    seed: int
    started: float
    ended: float
    pods: list[PodOutcome]
    samples: list[Sample]
    spread: list[SpreadOutcome] = []
    image_hits: tuple[int, int] = (0, 0)
    """Containers whose image was on their node when their pod was bound; and all containers."""
    explanations: dict[str, Any] = {}
    """By pod: decisions that were asked to be kept. Not part of the hash or of JSON."""

    @property
    def hash(self) -> str:
        """Equal for equal results, in any process and on any Python: of every pod's outcome and every sample."""
        parts = (self.seed, self.started, self.ended, self.pods, self.samples, self.spread, self.image_hits)
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]

    def _repr_html_(self) -> str:
        from kubesched.reports.html import report_body  # not at the top: only notebooks and pages need it
        from kubesched.reports.report import Report

        return report_body(Report(trace=self.name, runs={self.name or "replay": [self]}))

    def scheduled_here(self) -> list[PodOutcome]:
        """The pods that this run had to place."""
        return [pod for pod in self.pods if pod.is_scheduled_here]
