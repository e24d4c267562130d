"""Options that several commands share: the same name, the same meaning and the same help everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubesched.config import FeatureGates

if TYPE_CHECKING:
    from kubesched.traces import Trace


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


KubeconfigFile = Annotated[
    str, typer.Option("--kubeconfig", metavar="FILE", help="As kubectl's; $KUBECONFIG and ~/.kube/config by default.")
]
ObjectFiles = Annotated[
    list[Path] | None,
    typer.Option(
        *("--filename", "-f"),
        metavar="PATH",
        help="Objects from a file, a folder (- is stdin) or a trace, not from a cluster.",
    ),
]
Moment = Annotated[
    str,
    typer.Option(
        "--at", metavar="TIME", help="A moment of the trace: 2026-11-18T09:30:00Z, 1h30m after its start, or its end."
    ),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The scheduler's configuration file.", exists=True)
]
OutputFormat = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]
GateList = Annotated[
    str, typer.Option("--feature-gates", metavar="A=true,B=false", help="Feature gates that differ from the default.")
]
EmulatedVersion = Annotated[
    str, typer.Option("--emulated-version", metavar="VERSION", help="Decide as an older version does: 1.34–1.37.")
]


def objects_of(
    paths: Sequence[Path] | None,
    kubeconfig: str,
    gates: FeatureGates,
    *,
    at: str = "",
    for_plugins: Iterable[type] = (),
) -> list[Any]:
    """What `load_objects` finds; kinds that are left out are named on standard error."""
    from kubesched.apps.inputs.objects import load_objects  # not at the top: commands without objects start faster

    loaded = load_objects(paths, kubeconfig, gates, at=at, for_plugins=for_plugins)
    if loaded.left_out:
        typer.echo(f"note: left out, since scheduling does not look at them: {', '.join(loaded.left_out)}", err=True)
    return loaded.objects


def tell_notes(trace: Trace) -> None:
    """Say on standard error what is to be known about a trace that was read: that it is cut off, for one."""
    for note in trace.notes:
        typer.echo(f"note: {note}", err=True)
    if trace.left_out:
        typer.echo(f"note: left out, since scheduling does not look at them: {', '.join(trace.left_out)}", err=True)
