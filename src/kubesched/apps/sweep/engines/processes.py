"""Runs on the cores of this machine: a pool of processes, renewed when one of them dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Final, Self

from kubesched.apps.sweep.engines.engine import WorkerLost
from kubesched.apps.sweep.run import Outcome
from kubesched.apps.sweep.worker import Batch, TraceFile, do_batch

_SPAWN: Final = multiprocessing.get_context("spawn")
_DIED: Final = "the process that did it died (out of memory, or killed)"


class LocalProcesses:
    def __init__(self, count: int = 0) -> None:
        """`count` 0: as many as there are cores for us."""
        self._count = count or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None
        self._running: dict[Future[list[Outcome]], int] = {}
        self._others: frozenset[int | None] = frozenset()

    def __enter__(self) -> Self:
        self._others = frozenset(child.pid for child in multiprocessing.active_children())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        is_busy = any(not future.done() for future in self._running)
        self._pool.shutdown(wait=not is_busy, cancel_futures=True)
        if is_busy:
            for child in multiprocessing.active_children():
                if child.pid not in self._others:
                    child.terminate()

    def slots(self) -> int:
        return self._count

    def submit(self, number: int, batch: Batch, trace: TraceFile) -> None:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._count, mp_context=_SPAWN, initializer=_begin)
        try:
            future = self._pool.submit(do_batch, batch, trace)
        except BrokenProcessPool as error:  # a process died since: those that it takes along are found by `wait`
            future = Future()
            future.set_exception(error)
        self._running[future] = number

    def wait(self, seconds: float) -> list[tuple[int, list[Outcome] | WorkerLost]]:
        done, _ = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        finished: list[tuple[int, list[Outcome] | WorkerLost]] = []
        for future in [future for future in self._running if future in done]:
            number = self._running.pop(future)
            if isinstance(future.exception(), BrokenProcessPool):
                self._pool = None
                finished.append((number, WorkerLost(_DIED)))
            else:
                finished.append((number, future.result()))
        return finished


def _begin() -> None:
    """In a new process: Ctrl-C is the parent's business, and a parent that was killed takes its children along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
