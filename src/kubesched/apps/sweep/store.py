"""Results in a folder: a journal that is appended to run by run, and a Parquet file made of it.

    journal.jsonl     one line per finished run; what is in it is never run again
    results.parquet   one row per run of the experiment, for DuckDB, pandas, Polars and `kubesched sweep report`

A process that is killed leaves at most half a line, which the next one cuts off.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

import msgspec

from kubesched.apps.sweep.extra import lab
from kubesched.apps.sweep.run import Outcome, Run
from kubesched.errors import ConfigurationError

JOURNAL: Final = "journal.jsonl"
RESULTS: Final = "results.parquet"
_ENCODER: Final = msgspec.json.Encoder()


class Store:
    """The folder of one experiment, held by one process at a time. ConfigurationError if another one has it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outcomes: dict[str, Outcome] = {}
        """By key."""
        self._journal: BinaryIO | None = None

    def __enter__(self) -> Store:
        self.folder.mkdir(parents=True, exist_ok=True)
        journal = (self.folder / JOURNAL).open("a+b")
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            journal.close()
            raise ConfigurationError([f"{self.folder}: another process writes its results here"]) from error
        self._journal = journal
        self._read(journal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Note what came of runs; from now on it survives the process."""
        assert self._journal is not None
        for outcome in outcomes:
            self.outcomes[outcome.key] = outcome
            self._journal.write(_ENCODER.encode(outcome) + b"\n")
        self._journal.flush()

    def write_table(self, runs: Sequence[Run]) -> Path:
        """The results of these runs, as far as they are finished, as Parquet. The file is replaced as a whole."""
        path = self.folder / RESULTS
        unfinished = path.with_name(f".{path.name}")
        table = results_table([(run, self.outcomes[run.key]) for run in runs if run.key in self.outcomes])
        lab("pyarrow.parquet").write_table(table, unfinished)
        os.replace(unfinished, path)
        return path

    def _read(self, journal: BinaryIO) -> None:
        journal.seek(0)
        whole = 0
        for number, line in enumerate(journal, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                outcome = msgspec.json.decode(line, type=Outcome)
            except msgspec.DecodeError as error:
                raise ConfigurationError([f"{self.folder / JOURNAL}: line {number}: {error}"]) from error
            self.outcomes[outcome.key] = outcome
            whole += len(line)
        journal.truncate(whole)


def column(metric: str) -> str:
    """A metric's column, and its name in formulas: `pending time, p90` is `pending_time_p90`."""
    return re.sub(r"[^0-9a-z]+", "_", metric.lower()).strip("_")


def results_table(results: Sequence[tuple[Run, Outcome]]) -> Any:
    """One row per run: what it was, what came of it, a column per parameter and per metric.

    The metrics' full names, units and directions are in the schema's metadata.
    """
    pa = lab("pyarrow")
    parameters = list(dict.fromkeys(name for run, _ in results for name in run.parameters))
    metrics = {name: metric for _, outcome in results for name, metric in outcome.metrics.items()}
    columns: dict[str, list[Any]] = {
        "trace": [run.trace for run, _ in results],
        "policy": [run.policy for run, _ in results],
        "variant": [run.variant for run, _ in results],
        "nodes": [int(run.nodes) if run.nodes else None for run, _ in results],
        "seed": [run.seed for run, _ in results],
        "key": [run.key for run, _ in results],
        "hash": [outcome.hash for _, outcome in results],
        "error": [outcome.error for _, outcome in results],
        "seconds": [outcome.seconds for _, outcome in results],
        "worker": [outcome.worker for _, outcome in results],
    }
    for name in parameters:
        columns[f"parameter.{name}"] = _of_one_type([run.parameters.get(name) for run, _ in results])
    for name in metrics:
        columns[column(name)] = [
            outcome.metrics[name].value if name in outcome.metrics else None for _, outcome in results
        ]
    facts = {name: {"column": column(name), "unit": m.unit, "better": m.better} for name, m in metrics.items()}
    types = {"nodes": pa.int64(), "seed": pa.int64(), "seconds": pa.float64()}
    types |= {column(name): pa.float64() for name in metrics}
    arrays = {name: pa.array(values, type=types.get(name)) for name, values in columns.items()}
    return pa.table(arrays).replace_schema_metadata({"kubesched.metrics": _ENCODER.encode(facts).decode()})


def _of_one_type(values: list[Any]) -> list[Any]:
    """Numbers as they are; with anything else among them, all as text."""
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else value if isinstance(value, str) else str(value) for value in values]
