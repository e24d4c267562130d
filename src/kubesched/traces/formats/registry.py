"""The formats, by name. A new one is a module with a function that makes a Trace of files, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from kubesched.errors import TraceError
from kubesched.traces.formats import alibaba, audit_log, manifests, native, simulator, table
from kubesched.traces.source import Source
from kubesched.traces.trace import Trace

Read = Callable[[Sequence[Source], Mapping[str, str]], Trace]
"""Makes a trace of files, with options by name. It raises TraceError if there are too few or too many."""


@dataclass(frozen=True, slots=True)
class Format:
    description: str
    read: Read
    recognises: Callable[[Source, bytes], bool] | None = None
    """Whether a source that begins with this line is of this format; None: it has to be named."""


FORMATS: Final[dict[str, Format]] = {
    "kubesched": Format("kubesched's own: kubesched record", native.read, native.recognises),
    "simulator": Format("kube-scheduler-simulator's recording", simulator.read, simulator.recognises),
    "audit-log": Format("the API server's audit log (audit.k8s.io/v1)", audit_log.read, audit_log.recognises),
    "openb": Format(
        "Alibaba's cluster-trace-gpu-v2023: lists of nodes and pods",
        alibaba.reader("openb", alibaba.OPENB),
        alibaba.is_openb,
    ),
    "alibaba-gpu-v2020": Format(
        "Alibaba's cluster-trace-gpu-v2020: pai_machine_spec, pai_task_table",
        alibaba.reader("alibaba-gpu-v2020", alibaba.GPU_V2020),
    ),
    "alibaba-v2018-tasks": Format(
        "Alibaba's cluster-trace-v2018: machine_meta, batch_task",
        alibaba.reader("alibaba-v2018-tasks", alibaba.V2018_TASKS),
    ),
    "alibaba-v2018-containers": Format(
        "Alibaba's cluster-trace-v2018: machine_meta, container_meta",
        alibaba.reader("alibaba-v2018-containers", alibaba.V2018_CONTAINERS),
    ),
    "table": Format("CSV or Parquet, with a mapping of its columns", table.read),
    "manifests": Format("objects as YAML or JSON: kubectl get -o json", manifests.read, manifests.recognises),
}


def recognise(source: Source) -> str:
    """The name of the format that a source is in, by its content. TraceError if it cannot be read."""
    head = b"" if source.is_folder else source.head()
    for name, entry in FORMATS.items():
        if entry.recognises is not None and entry.recognises(source, head):
            return name
    raise TraceError("neither a trace nor objects of Kubernetes", name=source.name)


def open_trace(origin: str | Path | BinaryIO) -> Trace:
    """The trace in a file, a folder of manifests or a binary stream, in any format that is recognised by its content.

    The header is read at once, entries as the trace is iterated. TraceError.
    """
    source = Source.of(origin)
    return FORMATS[recognise(source)].read([source], {})


def import_trace(name: str, files: Sequence[str | Path], options: Mapping[str, str] | None = None) -> Trace:
    """The trace in files of a named format. TraceError."""
    if name not in FORMATS:
        raise TraceError(f"unknown format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name].read([Source.of(file) for file in files], options or {})
