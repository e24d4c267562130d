"""Fixes that can be taken out of a world: each is a bug that was there once, and must be found again without its fix.

The switches replace methods of the product from outside; the product has none of them. The plans make the circumstances
of a finding frequent; `make simulate` meets them by chance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pytest
from tests.world.plan import ClockPlan, Plan
from tests.world.world import Outcome, run_world

from kubesched.client.dispatcher import Dispatcher
from kubesched.client.fence import Fence
from kubesched.client.pod_writer import PodWriter
from kubesched.cluster.apiserver.storage import Store
from kubesched.objects import encode

MOST_SEEDS: Final = 12
TWO: Final = (ClockPlan(), ClockPlan(rate=1.03, ahead=5.0))
CROWDED: Final = {"clocks": TWO, "nodes": 2, "pause": 0.1, "seconds": 60.0}


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A fix that is taken out, and what must be seen then."""

    take_out: Callable[[pytest.MonkeyPatch], None]
    finding: str
    """A part of the violation."""
    plan: Mapping[str, Any]
    first: int = 0
    """A seed that found it once."""

    def settings(self, seed: int) -> Plan:
        return Plan(seed=seed, **{**CROWDED, **self.plan})

    def run(self, seed: int, *, keeps_lines: bool = False) -> Outcome:
        """The world of that seed without the fix, until something happens that must not."""
        with pytest.MonkeyPatch.context() as patch:
            self.take_out(patch)
            return run_world(seed, plan=self.settings(seed), until_violated=True, keeps_lines=keeps_lines)

    def is_found_in(self, outcome: Outcome) -> bool:
        return any(self.finding in violation for violation in outcome.violations)


def without_order(patch: pytest.MonkeyPatch) -> None:
    """Every write leaves at once."""
    patch.setattr(Dispatcher, "begin", lambda self, call: True)
    patch.setattr(Dispatcher, "finished", lambda self, call, *, succeeded: None)
    made = Dispatcher.__init__

    def make(self: Dispatcher, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        self.gives_way = lambda call: False

    patch.setattr(Dispatcher, "__init__", make)


def without_version(patch: pytest.MonkeyPatch) -> None:
    """A status is written whatever happened to the pod meanwhile."""
    guarded = PodWriter._status_patch

    def unguarded(self: PodWriter, *args: Any) -> bytes | None:
        body = guarded(self, *args)
        if body is None:
            return None
        value = msgspec.json.decode(body)
        value.pop("metadata", None)
        return encode(value)

    patch.setattr(PodWriter, "_status_patch", unguarded)


def without_order_and_version(patch: pytest.MonkeyPatch) -> None:
    without_order(patch)
    without_version(patch)


def without_fence(patch: pytest.MonkeyPatch) -> None:
    """Who led a moment ago writes what it has at hand."""
    patch.setattr(Fence, "check", lambda self: None)


def without_halt_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    """A disk that has room again is written to, whatever it lacks."""
    record = Store._record

    def record_anyway(self: Store, bucket: Any, change: Any) -> None:
        record(self, bucket, change)
        if self.failed and self._flush is None:
            assert self._journal is not None
            self._flush = asyncio.get_running_loop().create_task(self._flush_one(self._journal))

    patch.setattr(Store, "_record", record_anyway)


MUTATIONS: Final = {
    "write-order": Mutation(
        take_out=without_order_and_version,
        plan={"message_faults": ("slow",), "share": 0.3, "slowest": 2.0},
        finding="said to be unschedulable",
    ),
    "version-guard": Mutation(
        take_out=without_version,
        plan={"message_faults": ("duplicated",), "share": 0.3, "slowest": 2.0},
        finding="said to be unschedulable",
    ),
    "fence": Mutation(
        take_out=without_fence,
        first=8,
        plan={"troubles": ("replica paused",), "trouble_pause": 10.0},
        finding="the lease is",
    ),
    "disk-halt": Mutation(
        take_out=without_halt_after_a_failure,
        plan={"troubles": ("disk fills",), "trouble_pause": 5.0},
        finding="the disk lacks",
    ),
}
"""By the name that `python -m tests.world --without` takes."""
