"""Does runs, wherever it is: in this process, in one beside it, or in a worker of a Dask cluster."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from kubesched.apps.replay.hypotheses import at_speed, placed_afresh, with_nodes
from kubesched.apps.replay.replay import replay
from kubesched.apps.replay.workload import Workload, workload_of
from kubesched.apps.sweep.run import Outcome, Run
from kubesched.apps.sweep.shipping import InstalledModules, Modules
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError, KubeschedError, what_and_where
from kubesched.reports.metrics import metrics_of
from kubesched.telemetry.version import PROGRAM_VERSION
from kubesched.traces import Trace
from kubesched.traces.slicing import cut, parse_moment

_KEPT_WORKLOADS: Final = 4


class TraceFile(msgspec.Struct, frozen=True):
    """A trace where the worker can read it: a path, or the file's content where it has no such path."""

    hash: str
    path: str = ""
    content: bytes = b""


class Batch(msgspec.Struct, frozen=True):
    """Runs of one trace that are done one after the other, and what they share."""

    runs: Sequence[Run]
    modules: Modules
    version: str = PROGRAM_VERSION
    """Of the program that sends it: another one might decide differently."""


def do_batch(batch: Batch, trace: TraceFile, worker: str = "") -> list[Outcome]:
    """What came of each run. An error of a run is its outcome; the others go on."""
    with _ONE_AT_A_TIME:
        return [_do(run, batch, trace, worker) for run in batch.runs]


def _do(run: Run, batch: Batch, trace: TraceFile, worker: str) -> Outcome:
    clock = SystemClock()
    begun = clock.monotonic()
    try:
        if batch.version != PROGRAM_VERSION:
            raise ConfigurationError([f"the worker has kubesched {PROGRAM_VERSION}, not {batch.version}"])
        _MODULES.install(batch.modules)
        result = replay(
            _workload(run, trace),
            run.config,
            name=run.policy,
            seed=run.seed,
            feature_gates=run.feature_gates,
            emulated_version=run.emulated_version,
        )
    except Exception as error:
        text = str(error) if isinstance(error, KubeschedError) else what_and_where(error)
        where = f"worker {worker}: " if worker else ""
        return Outcome(key=run.key, error=where + text, seconds=clock.monotonic() - begun, worker=worker)
    return Outcome(
        key=run.key,
        metrics=metrics_of(result),
        hash=result.hash,
        seconds=clock.monotonic() - begun,
        worker=worker,
    )


def _workload(run: Run, trace: TraceFile) -> Workload:
    """What the run replays. Reading a trace takes as long as a short replay, so the last ones are kept."""
    key = (trace.hash, run.since, run.until, run.nodes, run.speed, run.afresh)
    if key in _WORKLOADS:
        _WORKLOADS.move_to_end(key)
        return _WORKLOADS[key]
    opened = Trace.open(Path(trace.path)) if trace.path else Trace.open(io.BytesIO(trace.content))
    if run.since or run.until:
        since = parse_moment(run.since, opened.header) if run.since else None
        until = parse_moment(run.until, opened.header) if run.until else None
        opened = cut(opened, since=since, until=until)
    workload = workload_of(opened)
    if run.nodes:
        workload = with_nodes(workload, run.nodes)
    if run.afresh:
        workload = placed_afresh(workload)
    if run.speed != 1.0:
        workload = at_speed(workload, run.speed)
    _WORKLOADS[key] = workload
    while len(_WORKLOADS) > _KEPT_WORKLOADS:
        _WORKLOADS.popitem(last=False)
    return workload


_ONE_AT_A_TIME: Final = threading.Lock()
"""Plugins are modules of the whole process. (A Dask worker may have several threads.)"""
_MODULES: Final = InstalledModules()
_WORKLOADS: Final[OrderedDict[tuple[object, ...], Workload]] = OrderedDict()
