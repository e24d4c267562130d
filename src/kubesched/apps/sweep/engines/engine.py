"""What an engine is, and the one that needs no other process."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Protocol, Self

from kubesched.apps.sweep.run import Outcome
from kubesched.apps.sweep.worker import Batch, TraceFile, do_batch
from kubesched.errors import KubeschedError


class EngineLostError(KubeschedError):
    """No more runs can be done: the engine is gone. What is finished is in the journal."""


class WorkerLost:
    """The process that did a batch ended before it was done."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Engine(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what is running, at once."""

    def slots(self) -> int:
        """How many batches can run at the same time, as of now."""
        ...

    def submit(self, number: int, batch: Batch, trace: TraceFile) -> None:
        """Start a batch, or put it in line. `number` is the caller's name for it."""
        ...

    def wait(self, seconds: float) -> list[tuple[int, list[Outcome] | WorkerLost]]:
        """The batches that are done; none, if none is after that time. EngineLostError."""
        ...


class ThisProcess:
    """One run after the other, here: for debugging a plugin, and for few short runs."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Batch, TraceFile]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.clear()

    def slots(self) -> int:
        return 1

    def submit(self, number: int, batch: Batch, trace: TraceFile) -> None:
        self._waiting.append((number, batch, trace))

    def wait(self, seconds: float) -> list[tuple[int, list[Outcome] | WorkerLost]]:
        number, batch, trace = self._waiting.popleft()
        return [(number, do_batch(batch, trace))]
