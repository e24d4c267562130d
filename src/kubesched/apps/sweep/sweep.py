"""Drives an experiment: hands out batches, notes what came of them, goes on after losses.

Batches are small while nothing is known of how long runs take, then about half a second each: few messages for short
runs, and little lost when a process is killed. Runs that were being done when a worker died are done again, one at a
time with nothing beside them, so that the one that kills its worker is found, and no other is blamed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

import msgspec

from kubesched.apps.sweep.engines.engine import Engine, EngineLostError, WorkerLost
from kubesched.apps.sweep.plan import Plan
from kubesched.apps.sweep.run import Outcome, Run
from kubesched.apps.sweep.store import Store
from kubesched.apps.sweep.worker import Batch

BATCH_SECONDS: Final = 0.5
LARGEST_BATCH: Final = 200
ATTEMPTS_ALONE: Final = 2
"""A run whose worker died so often with nothing else on it has failed."""
_POLL_SECONDS: Final = 0.5


class Progress(msgspec.Struct, frozen=True):
    """Of all runs of an experiment."""

    total: int
    finished: int
    """With those that failed, and those that were finished before."""
    failed: int
    before: int


Hear = Callable[[Progress], None]


def run_plan(
    plan: Plan,
    store: Store,
    engine: Engine,
    *,
    retry_failed: bool = False,
    on_progress: Hear = lambda progress: None,
) -> list[Outcome]:
    """Do the runs that are not finished yet; what came of all of them, in the plan's order.

    EngineLostError where the engine is gone: then, as after a KeyboardInterrupt, a second call goes on where this one
    stopped.
    """
    known = store.outcomes
    wanted = [run for run in plan.runs if run.key not in known or (retry_failed and known[run.key].error)]
    _Sweep(plan, store, engine, wanted, on_progress).run()
    return [store.outcomes[run.key] for run in plan.runs]


class _Sweep:
    def __init__(self, plan: Plan, store: Store, engine: Engine, wanted: Sequence[Run], on_progress: Hear) -> None:
        self._plan = plan
        self._store = store
        self._engine = engine
        self._before = self._finished = len(plan.runs) - len(wanted)
        again = {run.key for run in wanted}
        self._failed = sum(bool(store.outcomes[run.key].error) for run in plan.runs if run.key not in again)
        self._pending = deque(wanted)
        self._suspects: deque[Run] = deque()
        self._attempts: dict[str, int] = {}
        self._in_flight: dict[int, Batch] = {}
        self._numbers = count()
        self._seconds = self._done = 0.0
        self._hear = on_progress

    def run(self) -> None:
        self._report()
        while self._pending or self._suspects or self._in_flight:
            try:
                self._hand_out()
                finished = self._engine.wait(_POLL_SECONDS)
            except EngineLostError as error:
                done = f"{self._finished:,} of {len(self._plan.runs):,} runs are done"
                raise EngineLostError(f"{error}; {done}, the same command goes on") from error
            for number, result in finished:
                self._take(self._in_flight.pop(number), result)
            self._report()

    def _hand_out(self) -> None:
        if self._suspects:
            if not self._in_flight:
                self._submit([self._suspects.popleft()])
            return
        slots = max(1, self._engine.slots())
        while self._pending and len(self._in_flight) < 2 * slots:
            self._submit(self._next_batch(slots))

    def _next_batch(self, slots: int) -> list[Run]:
        size = 1
        if self._done:
            size = int(BATCH_SECONDS * self._done / max(self._seconds, 1e-6))
        size = max(1, min(size, LARGEST_BATCH, len(self._pending) // (2 * slots)))
        first = self._pending.popleft()
        runs = [first]
        while self._pending and len(runs) < size and _go_together(first, self._pending[0]):
            runs.append(self._pending.popleft())
        return runs

    def _submit(self, runs: list[Run]) -> None:
        batch = Batch(runs, self._plan.modules[runs[0].modules])
        number = next(self._numbers)
        self._in_flight[number] = batch
        self._engine.submit(number, batch, self._plan.traces[runs[0].trace_hash])

    def _take(self, batch: Batch, result: list[Outcome] | WorkerLost) -> None:
        if isinstance(result, WorkerLost):
            self._suspect(batch, result)
            return
        self._note(result)
        self._seconds += sum(outcome.seconds for outcome in result)
        self._done += len(result)

    def _suspect(self, batch: Batch, lost: WorkerLost) -> None:
        for run in batch.runs:
            if len(batch.runs) == 1 and not self._in_flight:
                self._attempts[run.key] = self._attempts.get(run.key, 0) + 1
            if self._attempts.get(run.key, 0) >= ATTEMPTS_ALONE:
                self._note([Outcome(key=run.key, error=lost.reason)])
            else:
                self._suspects.append(run)

    def _note(self, outcomes: list[Outcome]) -> None:
        self._store.add(outcomes)
        self._finished += len(outcomes)
        self._failed += sum(bool(outcome.error) for outcome in outcomes)

    def _report(self) -> None:
        total = len(self._plan.runs)
        self._hear(Progress(total=total, finished=self._finished, failed=self._failed, before=self._before))


def _go_together(first: Run, second: Run) -> bool:
    return first.trace_hash == second.trace_hash and first.modules == second.modules
