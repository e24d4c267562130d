"""`kubesched trace`: look into traces, cut them, turn them into manifests, and import those of others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from kubesched.apps.inputs.traces import load_trace
from kubesched.cli.options import Output, OutputFormat, tell_notes
from kubesched.cli.trace_view import PLAIN_WIDTH, picture
from kubesched.errors import ConfigurationError, TraceError
from kubesched.objects import to_manifest
from kubesched.traces import FORMATS, Trace, import_trace
from kubesched.traces.generate import generate, load_trace_spec
from kubesched.traces.slicing import cut, parse_moment
from kubesched.traces.summary import as_data, summarise

app = typer.Typer(add_completion=False, help="Look into traces, cut them, and convert from and to other formats.")

TraceFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A trace in any format that is recognised; - is stdin.")
]
OutputFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The new trace: .jsonl.zst, or .jsonl for plain text.")
]
MOMENT: Final = "2026-11-18T09:30:00Z, or 1h30m after the start"


@app.command()
def show(file: TraceFile, output: OutputFormat = Output.TEXT) -> None:
    """Say what is in a trace: counts, decisions, gaps, and how the cluster filled over time.

    A trace that is broken is shown as far as it can be read; the exit code is 1 then.
    """
    trace = load_trace(file)
    summary = summarise(trace)
    if output is Output.JSON:
        typer.echo(json.dumps(as_data(summary, trace), indent=2))
    else:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
        console.print(picture(summary, trace, console.width))
        tell_notes(trace)
    if summary.error:
        raise TraceError(summary.error)


@app.command(name="slice")
def slice_trace(
    file: TraceFile,
    output: OutputFile,
    since: Annotated[str, typer.Option("--from", metavar="TIME", help=f"Begin here: {MOMENT}.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="TIME", help=f"End here: {MOMENT}.")] = "",
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", metavar="NAME", help="Only this namespace (repeatable).")
    ] = None,
) -> None:
    """Write a part of a trace to a new file. It begins with the whole state at its start.

    With --namespace, pods of other namespaces are left out, so nodes look emptier than they were.
    """
    trace = load_trace(file)
    first = parse_moment(since, trace.header) if since else None
    last = parse_moment(until, trace.header) if until else None
    if first is not None and last is not None and first > last:
        raise ConfigurationError([f"--from {since} is after --to {until}"])
    _save(cut(trace, since=first, until=last, namespaces=namespace or ()), output)


@app.command()
def export(
    file: TraceFile,
    at: Annotated[str, typer.Option("--at", metavar="TIME", help=f"The moment: {MOMENT}, or end.")] = "end",
) -> None:
    """Print the objects at a moment of a trace as Kubernetes manifests (JSON, a List)."""
    trace = load_trace(file)
    state = trace.state_at(parse_moment(at, trace.header))
    tell_notes(trace)
    typer.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": [to_manifest(obj) for obj in state]}, indent=1))


@app.command(name="import")
def import_files(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILES", help="What the format is made of.")],
    output: OutputFile,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="A setting of the format (repeatable).")
    ] = None,
) -> None:
    """Turn files of another format into a trace of ours."""
    options = {}
    for text in option or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError([f"--option: expected NAME=VALUE, got {text!r}"])
        options[name] = value
    _save(import_trace(format_name, files, options), output)


@app.command(name="generate")
def generate_trace(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="What to generate: docs/traces.md.", exists=True)],
    output: OutputFile,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Not the seed of the file.")] = None,
) -> None:
    """Make a synthetic trace: nodes, and pods that arrive, run and end as a specification says."""
    trace = generate(load_trace_spec(spec), seed=seed, name=spec.name)
    _save(trace, output)


@app.command()
def formats() -> None:
    """List the formats that are understood."""
    width = max(map(len, FORMATS))
    for name, entry in FORMATS.items():
        how = "" if entry.recognises else " (not recognised by content: trace import)"
        typer.echo(f"{name:<{width}}  {entry.description}{how}")


def _save(trace: Trace, path: Path) -> None:
    trace.save(path)
    tell_notes(trace)
    typer.echo(f"{path}: written, {path.stat().st_size:,} bytes", err=True)
