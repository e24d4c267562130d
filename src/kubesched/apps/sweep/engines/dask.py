"""Runs on a Dask cluster: `kubesched sweep --on tcp://scheduler:8786`.

Traces go to the scheduler once, as tasks of their own: workers fetch them from each other, and one that is lost with
its worker is sent again by the scheduler. Dask does the tasks of a lost worker elsewhere; one that loses several is
given back to us.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

from kubesched.apps.sweep.engines.engine import EngineLostError, WorkerLost
from kubesched.apps.sweep.extra import lab
from kubesched.apps.sweep.run import Outcome
from kubesched.apps.sweep.worker import Batch, TraceFile, do_batch
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError

CONNECT_SECONDS: Final = 10.0
_LOOK_EVERY_SECONDS: Final = 1.0
"""How often workers are counted."""
_LOST_AFTER_SECONDS: Final = 5.0
"""A connection that is away for so long is not waited for: results are kept, and the same command goes on."""


class DaskCluster:
    """The cluster of a scheduler that is running already. ConfigurationError if nobody answers there."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._clock = SystemClock()
        self._client: Any = None
        self._traces: dict[str, Any] = {}
        self._running: dict[int, Any] = {}
        self._done: SimpleQueue[int] = SimpleQueue()
        self._slots = 0
        self._looked = float("-inf")
        self._away_since: float | None = None

    def __enter__(self) -> Self:
        distributed = lab("distributed")
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is one line of ours
        warnings.filterwarnings("ignore", message="Sending large graph")  # traces go once
        try:
            self._client = distributed.Client(
                self._address, timeout=CONNECT_SECONDS, set_as_default=False, name="kubesched-sweep"
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise ConfigurationError([f"no Dask scheduler answers at {self._address}: {error}"]) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.clear()
        self._traces.clear()  # the scheduler forgets what nobody holds
        self._client.close(timeout=2)

    def slots(self) -> int:
        """Workers that are there now; those that come later count from then on."""
        now = self._clock.monotonic()
        if now - self._looked >= _LOOK_EVERY_SECONDS:
            self._looked = now
            with suppress(OSError, TimeoutError, RuntimeError):  # lost, perhaps: `wait` will find out
                self._slots = len(self._client.scheduler_info(n_workers=-1)["workers"])
        return self._slots

    def submit(self, number: int, batch: Batch, trace: TraceFile) -> None:
        try:
            if trace.hash not in self._traces:
                content = TraceFile(trace.hash, content=Path(trace.path).read_bytes())
                self._traces[trace.hash] = self._client.submit(_same, content, key=f"trace-{trace.hash}", pure=False)
            future = self._client.submit(_do_batch, batch, self._traces[trace.hash], pure=False)
        except RuntimeError as error:  # the client has closed itself
            raise self._lost() from error
        self._running[number] = future
        future.add_done_callback(lambda _: self._done.put(number))

    def wait(self, seconds: float) -> list[tuple[int, list[Outcome] | WorkerLost]]:
        finished: list[tuple[int, list[Outcome] | WorkerLost]] = []
        try:
            numbers = [self._done.get(timeout=seconds)]
            while not self._done.empty():
                numbers.append(self._done.get())
        except Empty:
            self._check_connection()
            return finished
        for number in numbers:
            future = self._running.pop(number, None)
            if future is not None:
                finished.append((number, self._result(future)))
        return finished

    def _result(self, future: Any) -> list[Outcome] | WorkerLost:
        distributed = lab("distributed")
        try:
            outcomes: list[Outcome] = future.result(timeout=CONNECT_SECONDS)
        except distributed.scheduler.KilledWorker as error:
            return WorkerLost(f"the workers that did it died, the last one {error.last_worker.address}")
        except (CancelledError, asyncio.CancelledError, TimeoutError, OSError) as error:
            raise self._lost() from error
        except Exception as error:  # the worker could not even begin
            raise EngineLostError(
                f"a worker of {self._address} cannot do runs: {type(error).__name__}: {error}"
            ) from error
        return outcomes

    def _check_connection(self) -> None:
        """Dask reconnects for a while by itself: a scheduler that is gone for longer is lost."""
        if self._client.status == "running":
            self._away_since = None
            return
        now = self._clock.monotonic()
        self._away_since = now if self._away_since is None else self._away_since
        if self._client.status == "closed" or now - self._away_since > _LOST_AFTER_SECONDS:
            raise self._lost()

    def _lost(self) -> EngineLostError:
        return EngineLostError(f"lost the Dask scheduler at {self._address}")


def _same(trace: TraceFile) -> TraceFile:
    return trace


def _do_batch(batch: Batch, trace: TraceFile) -> list[Outcome]:
    """On a worker."""
    from distributed import get_worker

    return do_batch(batch, trace, worker=get_worker().address)
