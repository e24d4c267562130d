"""Options that several commands share: the same name, the same meaning and the same help everywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kubesched.config import FeatureGates

if TYPE_CHECKING:
    from kubesched.apps.simulate.simulation import Simulation
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
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The scheduler's configuration file; without it, what the cluster says about its scheduler is used.",
        exists=True,
    ),
]
OutputFormat = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]
GateList = Annotated[
    str, typer.Option("--feature-gates", metavar="A=true,B=false", help="Feature gates that differ from the default.")
]
EmulatedVersion = Annotated[
    str, typer.Option("--emulated-version", metavar="VERSION", help="Decide as an older version does: 1.34–1.37.")
]


class Policy(NamedTuple):
    """What decides: a configuration (a file, a text, or None for the defaults) for a version of Kubernetes."""

    config: Path | str | None
    feature_gates: str
    emulated_version: str
    source: str
    """Which configuration that is, as in `configuration of the file a.yaml`; empty if the cluster did not answer."""

    def simulation(self) -> Simulation:
        from kubesched.apps.simulate.simulation import Simulation  # not at the top, as below

        return Simulation(self.config, feature_gates=self.feature_gates, emulated_version=self.emulated_version)


def policy_of(
    config: Path | None,
    feature_gates: str,
    emulated_version: str,
    *,
    kubeconfig: str,
    is_live: bool,
    pod: str = "",
) -> Policy:
    """What was given; for a live cluster without a configuration, what its scheduler uses, as standard error then says.

    That is the scheduler of `pod` (`namespace/name`), if one is given.
    """
    if config is not None or not is_live:
        source = f"configuration of the file {config}" if config is not None else "default configuration"
        return Policy(config, feature_gates, emulated_version, source)
    from kubesched.apps.inputs.scheduler_policy import look_up_policy  # not at the top, as below

    found = asyncio.run(look_up_policy(kubeconfig, pod))
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if found.source:
        typer.echo(f"note: decided with the {found.source}", err=True)
    gates = ",".join(filter(None, (found.feature_gates, feature_gates)))
    return Policy(found.config or None, gates, emulated_version or found.emulated_version, found.source)


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
