"""Tables of nodes and pods, CSV or Parquet, with a mapping from their columns to what a trace is made of.

A mapping (`--option mapping=FILE.yaml`) says which column is what, and what its numbers are multiplied by:

    nodes:
      columns: {name: machine, cpu: cores, memory: mem_gb}
      factors: {cpu: 1000, memory: 1073741824}
    pods:
      columns: {name: task, count: instances, cpu: plan_cpu, memory: plan_mem, created: start, deleted: end}
      factors: {cpu: 10}

CPU is in thousandths, memory in bytes, times are seconds. `header` lists the columns of files without a first line that
does. A file is a table of nodes or of pods by the columns that it has; several files of each are read in turn.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from kubesched.errors import TraceError
from kubesched.objects import Node, Pod, convert
from kubesched.traces.entries import Change, ChangeType, Header
from kubesched.traces.source import Source
from kubesched.traces.trace import Trace

GPU_RESOURCE: Final = "alibabacloud.com/gpu-milli"
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
"""Of shared GPUs, as `kubesched.contrib.gpu_sharing` reads them."""
WHOLE_GPU: Final = 1000
ALLOWED_PODS: Final = 1001
"""On a node, where the table does not say: that of the artefact of the openb trace, so practically any."""
LATEST: Final = 253_402_300_799
"""The last second of the year 9999: times beyond it cannot be written down."""
_PARQUET: Final = b"PAR1"


class Columns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which column is what. A field is one of those of `NODE_FIELDS` or `POD_FIELDS`; `a+b` joins columns to a name."""

    columns: dict[str, str]
    factors: dict[str, float] = {}
    header: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """Fields whose columns a file need not have."""
    repeats: bool = False
    """A name may come again: its first row counts. Else that is an error."""


class TableMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: Columns | None = None
    pods: Columns | None = None


NODE_FIELDS: Final = {"name": True, "cpu": True, "memory": True, "gpus": False, "model": False, "pods": False}
POD_FIELDS: Final = {
    "name": True,
    "count": False,
    "cpu": True,
    "memory": False,
    "gpus": False,
    "gpu_milli": False,
    "models": False,
    "created": False,
    "deleted": False,
}
"""Fields of a mapping, and whether it must have them."""


def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
    """Tables with the mapping of a file."""
    unknown = sorted(set(options) - {"mapping"})
    if unknown or "mapping" not in options:
        raise TraceError(f"unknown option {unknown[0]!r}" if unknown else "a table needs --option mapping=FILE.yaml")
    return read_tables(sources, load_mapping(options["mapping"]), "import table")


def load_mapping(file: str) -> TableMapping:
    try:
        mapping = msgspec.convert(yaml.safe_load(Path(file).read_text()), TableMapping)
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror}", name=file) from error
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise TraceError(f"no mapping of columns: {' '.join(str(error).split())}", name=file) from error
    if mapping.nodes is None and mapping.pods is None:
        raise TraceError("no mapping of columns: neither nodes nor pods", name=file)
    for name, table, fields in (("nodes", mapping.nodes, NODE_FIELDS), ("pods", mapping.pods, POD_FIELDS)):
        if table is not None:
            wrong = [field for field in (*table.columns, *table.factors) if field not in fields]
            missing = [field for field, needed in fields.items() if needed and field not in table.columns]
            if wrong or missing:
                problem = f"no field {wrong[0]!r}" if wrong else f"the field {missing[0]!r} is missing"
                raise TraceError(f"{name}: {problem}; there are {', '.join(fields)}", name=file)
    return mapping


def read_tables(sources: Sequence[Source], mapping: TableMapping, source: str) -> Trace:
    """All nodes at the start, pods when they were created, and gone when they were deleted. TraceError."""
    nodes: list[Node] = []
    pods: list[tuple[float, float | None, Pod]] = []
    names: set[tuple[str, str]] = set()
    for file in sources:
        for row in _rows(file, mapping):
            for obj in _nodes(row) if row.kind == "nodes" else _pods(row):
                key = row.kind, (obj if isinstance(obj, Node) else obj[2]).metadata.name
                if key in names and row.repeats:
                    continue
                if key in names:
                    raise row.error(f"a second {row.kind.removesuffix('s')} {key[1]}")
                names.add(key)
                nodes.append(obj) if isinstance(obj, Node) else pods.append(obj)
    started = min((created for created, _, _ in pods), default=0.0)
    changes = [Change(time=started, type=ChangeType.ADDED, object=node) for node in nodes]
    changes += [Change(time=created, type=ChangeType.ADDED, object=pod) for created, _, pod in pods]
    changes += [Change(time=end, type=ChangeType.DELETED, object=pod) for _, end, pod in pods if end is not None]
    changes.sort(key=lambda change: change.time)
    facts = {"nodes": len(nodes), "pods": len(pods)}
    header = Header(started=started, source=source, cluster=facts)
    return Trace(header, lambda: iter(changes), name=sources[0].name if sources else "")


class Row:
    """One row, by field. Numbers are at least 0, after their factors."""

    def __init__(self, kind: str, cells: Mapping[str, str], table: Columns, file: str, line: int) -> None:
        self.kind = kind
        self.repeats = table.repeats
        self._cells, self._table, self._file, self._line = cells, table, file, line

    def error(self, problem: str) -> TraceError:
        return TraceError(problem, name=self._file, line=self._line)

    def column(self, field: str) -> str:
        return self._table.columns[field]

    def text(self, field: str) -> str:
        columns = self._table.columns.get(field, "").split("+")
        return "-".join(cell for column in columns if (cell := self._cells.get(column, "").strip()))

    def number(self, field: str) -> float | None:
        """None for an empty cell, and for a field without a column."""
        text = self.text(field)
        if not text:
            return None
        try:
            value = float(text) * self._table.factors.get(field, 1.0)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{self.column(field)}: not a number: {text[:60]!r}")
        if value < 0:
            raise self.error(f"{self.column(field)}: below zero: {text[:60]}")
        return value

    def whole(self, field: str, default: int = 0) -> int:
        value = self.number(field)
        return default if value is None else round(value)

    def name(self) -> str:
        """As Kubernetes allows it."""
        name = re.sub(r"[^a-z0-9.-]+", "-", self.text("name").lower()).strip("-.")
        if not name:
            raise self.error(f"{self.column('name')}: no name: {self.text('name')[:60]!r}")
        return name[:240]


def _nodes(row: Row) -> Iterator[Node]:
    model, gpus = row.text("model"), row.whole("gpus")
    allocatable = {"cpu": f"{row.whole('cpu')}m", "memory": str(row.whole("memory"))}
    allocatable["pods"] = str(row.whole("pods", ALLOWED_PODS))
    if gpus:
        allocatable[GPU_RESOURCE] = str(gpus * WHOLE_GPU)
    name = row.name()
    labels = {"kubernetes.io/hostname": name} | ({GPU_MODEL: model} if gpus and model else {})
    metadata = {"name": name, "uid": f"node/{name}", "labels": labels}
    yield convert({"metadata": metadata, "status": {"allocatable": allocatable, "capacity": allocatable}}, Node)


def _pods(row: Row) -> Iterator[tuple[float, float | None, Pod]]:
    created, deleted = row.number("created") or 0.0, row.number("deleted")
    if deleted is not None and deleted < created:
        raise row.error(f"{row.column('deleted')} {deleted:g} is before {row.column('created')} {created:g}")
    if max(created, deleted or 0) > LATEST:
        raise row.error(f"{row.column('created')}: not a time in seconds: {max(created, deleted or 0):g}")
    requests = {"cpu": f"{row.whole('cpu')}m", "memory": str(row.whole("memory"))}
    thousandths = _gpus(row)
    spec: dict[str, Any] = {"schedulerName": "default-scheduler"}
    if thousandths:
        requests[GPU_RESOURCE] = str(thousandths)
        models = [model for model in row.text("models").split("|") if model]
        if models:
            spec["affinity"] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [_one_of(models)]}}}
    spec["containers"] = [{"name": "main", "resources": {"requests": requests}}]
    count, name = row.whole("count", 1), row.name()
    for number in range(count):
        own = f"{name}-{number}" if count > 1 else name
        metadata = {"name": own, "namespace": "default", "uid": f"default/{own}"}
        metadata["creationTimestamp"] = datetime.fromtimestamp(created, UTC).isoformat()
        yield created, deleted, convert({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}, Pod)


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _one_of(models: Sequence[str]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": GPU_MODEL, "operator": "In", "values": models}]}


def _gpus(row: Row) -> int:
    """Thousandths of GPUs: a share of one, or whole ones. A fraction above one is rounded up to whole ones."""
    gpus, each = row.number("gpus") or 0.0, row.number("gpu_milli")
    if each is not None and gpus:
        if 0 < each < WHOLE_GPU and gpus > 1:
            raise row.error(f"{gpus:g} GPUs with {each:g} thousandths each: only one GPU can be shared")
        return round(gpus * min(each, WHOLE_GPU))
    return round(gpus * WHOLE_GPU) if gpus <= 1 else math.ceil(gpus) * WHOLE_GPU


def _rows(file: Source, mapping: TableMapping) -> Iterator[Row]:
    rows = _parquet(file) if file.head().startswith(_PARQUET) else _csv(file)
    first = next(rows, None)
    if first is None:
        raise TraceError("an empty table", name=file.name)
    _, header = first
    kind, table, has_header = _kind(header, mapping, file)
    columns = header if has_header else table.header
    for number, cells in rows if has_header else _with(first, rows):
        if len(cells) != len(columns):
            raise TraceError(f"{len(cells)} cells for {len(columns)} columns", name=file.name, line=number)
        yield Row(kind, dict(zip(columns, cells, strict=True)), table, file.name, number)


def _kind(header: Sequence[str], mapping: TableMapping, file: Source) -> tuple[str, Columns, bool]:
    """Whether a table is of nodes or of pods, and whether its first row is its header."""
    missing: dict[str, list[str]] = {}
    for kind, table in (("nodes", mapping.nodes), ("pods", mapping.pods)):
        if table is None:
            continue
        needed = [column for field, column in table.columns.items() if field not in table.optional]
        missing[kind] = [one for column in needed for one in column.split("+") if one not in header]
        if not missing[kind]:
            return kind, table, True
        if table.header and len(table.header) == len(header):
            return kind, table, False
    kind = min(missing, key=lambda name: len(missing[name]))
    columns, there = ", ".join(missing[kind]), ", ".join(cell[:40] for cell in header[:20])
    problem = f"no column {columns} for a table of {kind}; there are {there}"
    raise TraceError(problem, name=file.name, line=1)


def _with(first: tuple[int, list[str]], rest: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rest


def _csv(file: Source) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their lines, without empty ones."""
    lines = file.lines()

    def text() -> Iterable[str]:
        for line in lines:
            try:
                yield line.decode("utf-8-sig" if lines.number == 1 else "utf-8") + "\n"
            except UnicodeDecodeError as error:
                raise lines.error("no text") from error

    try:
        for cells in csv.reader(text()):
            if cells:
                yield lines.number, cells
    except csv.Error as error:
        raise lines.error(str(error)) from error


def _parquet(file: Source) -> Iterator[tuple[int, list[str]]]:
    """Rows with their numbers; the header is the first, so that they are counted as in a CSV file."""
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise TraceError("Parquet needs pyarrow: pip install 'kubesched[lab]'", name=file.name) from None
    if file.path is None:
        raise TraceError("Parquet cannot be read from a stream: save it to a file", name=file.name)
    try:
        with parquet.ParquetFile(file.path) as table:
            yield 1, list(table.schema_arrow.names)
            number = 1
            for batch in table.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield number, ["" if cell is None else str(cell) for cell in row]
    except (OSError, ValueError) as error:
        raise TraceError(f"no Parquet table: {' '.join(str(error).split())[:200]}", name=file.name) from error
