"""From a sweep's Parquet file to its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from kubesched.apps.sweep.extra import lab
from kubesched.apps.sweep.store import RESULTS
from kubesched.errors import ConfigurationError
from kubesched.reports.sweep import MetricFacts, Result, SweepReport, sweep_report

_PARAMETER = "parameter."


def load_report(path: Path, *, against: str = "", metrics: Sequence[str] = ()) -> SweepReport:
    """The report of a results folder, or of a Parquet file in it. ConfigurationError."""
    file = path / RESULTS if path.is_dir() else path
    if not file.is_file():
        raise ConfigurationError([f"{file}: there are no results; `kubesched sweep` writes them"])
    try:
        table = lab("pyarrow.parquet").read_table(file)
    except (OSError, ValueError) as error:
        raise ConfigurationError([f"{file}: {error}"]) from error
    return report_of(table, path.name if path.is_dir() else path.stem, against=against, metrics=metrics)


def report_of(table: Any, name: str, *, against: str = "", metrics: Sequence[str] = ()) -> SweepReport:
    """The report of a table as `store.results_table` makes it."""
    written = (table.schema.metadata or {}).get(b"kubesched.metrics")
    if written is None:
        raise ConfigurationError([f"{name}: not the results of a sweep"])
    facts = msgspec.json.decode(written, type=dict[str, MetricFacts])
    results = [_result(row, facts) for row in table.to_pylist()]
    return sweep_report(name, results, facts, against=against, metrics=metrics)


def _result(row: dict[str, Any], facts: dict[str, MetricFacts]) -> Result:
    nodes = row["nodes"]
    parameters = {
        column.removeprefix(_PARAMETER): value
        for column, value in row.items()
        if column.startswith(_PARAMETER) and value is not None
    }
    return Result(
        scenario=row["trace"] if nodes is None else f"{row['trace']}, {nodes:,} nodes",
        policy=row["variant"],
        seed=row["seed"],
        nodes=nodes,
        parameters=parameters,
        metrics={name: row[fact.column] for name, fact in facts.items() if row[fact.column] is not None},
        error=row["error"],
    )
