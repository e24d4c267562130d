"""One run of a sweep: a policy on a trace with a seed; and what came of it."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import msgspec

from kubesched.reports.metrics import Metric
from kubesched.telemetry.version import PROGRAM_VERSION


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    """All that a run depends on, as values: a worker needs nothing else but the trace and the plugins' modules."""

    trace: str
    """As reports call it."""
    trace_hash: str
    policy: str
    parameters: dict[str, Any] = {}
    config: dict[str, Any] | None = None
    """The configuration as a document; None: the default."""
    modules: str = ""
    """The hash of the plugins' modules; empty: none is shipped."""
    seed: int = 0
    nodes: str = ""
    since: str = ""
    until: str = ""
    speed: float = 1.0
    afresh: bool = False
    feature_gates: str = ""
    emulated_version: str = ""

    @cached_property
    def key(self) -> str:
        """Equal for runs with the same result: names do not count, the program's version does."""
        parts = msgspec.to_builtins(self)
        for name in ("trace", "policy", "parameters"):
            parts.pop(name)
        return hashlib.sha256(msgspec.json.encode((PROGRAM_VERSION, parts), order="sorted")).hexdigest()[:20]

    @property
    def variant(self) -> str:
        """The policy with what is varied of it."""
        if not self.parameters:
            return self.policy
        return f"{self.policy} ({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What came of a run: metrics, or an error in one line."""

    key: str
    metrics: dict[str, Metric] = {}
    hash: str = ""
    """Of the whole result: equal wherever the run was done."""
    error: str = ""
    seconds: float = 0.0
    """That the replay took."""
    worker: str = ""
