"""`kubesched explain`: why is this pod where it is, or nowhere?"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kubesched.apps.explain.explanation import Explanation
from kubesched.apps.explain.text import as_data, as_text
from kubesched.apps.inputs.live_cluster import fetch_objects
from kubesched.apps.simulate.simulation import Simulation
from kubesched.cli.gate_options import EmulatedVersion, GateList
from kubesched.cli.standard_input import STANDARD_INPUT, read_standard_input
from kubesched.config import FeatureGates
from kubesched.objects.manifests import decode_all, load_documents, read_documents, split_foreign

app = typer.Typer(add_completion=False, help="Explain a decision.")


PLAIN_WIDTH: Final = 240
"""Of a table that does not go to a terminal."""


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def explain(
    pod: Annotated[str, typer.Argument(metavar="POD", help="The pod: NAME, pod/NAME or NAMESPACE/NAME.")],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="The pod's namespace.")
    ] = "default",
    kubeconfig: Annotated[
        str, typer.Option(metavar="FILE", help="As kubectl's; $KUBECONFIG and ~/.kube/config by default.")
    ] = "",
    manifests: Annotated[
        list[Path] | None,
        typer.Option(
            "--filename", "-f", metavar="PATH", help="Objects from a file or folder (- is stdin), not from a cluster."
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The scheduler's configuration file.", exists=True)
    ] = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    matrix: Annotated[bool, typer.Option("--matrix", help="Every plugin's score for every feasible node.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")] = Output.TEXT,
) -> None:
    """What every plugin says about a pod on every node, what would make it fit, and whom preemption would cost.

    Nothing is changed, in the cluster or elsewhere.
    """
    name = pod.removeprefix("pod/")  # as `kubectl get -o name` prints it; for a namespace of that name there is -n
    key = name if "/" in name else f"{namespace}/{name}"
    with Simulation(config, feature_gates=feature_gates, emulated_version=emulated_version) as simulation:
        simulation.add(*_objects(manifests, kubeconfig, simulation.gates))
        explanation = simulation.explain(key)
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    if output is Output.JSON:
        console.print_json(json.dumps(as_data(explanation)))
        return
    console.print(escape(as_text(explanation)))
    if matrix:
        console.print(_matrix(explanation))


def _objects(manifests: list[Path] | None, kubeconfig: str, gates: FeatureGates) -> list[Any]:
    if not manifests:
        return asyncio.run(fetch_objects(kubeconfig, gates))
    known, foreign = split_foreign(document for path in manifests for document in _documents(path))
    if foreign:
        typer.echo(f"note: left out, since scheduling does not look at them: {', '.join(foreign)}", err=True)
    return decode_all(known)


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    return load_documents(read_standard_input(), STANDARD_INPUT) if path == Path("-") else read_documents(path)


def _matrix(explanation: Explanation) -> Table:
    plugins = sorted({plugin for score in explanation.scores.values() for plugin in score.weighted})
    table = Table(box=None)
    for name in ("node", *plugins, "total"):
        table.add_column(name, overflow="fold", justify="left" if name == "node" else "right")
    for name, score in sorted(explanation.scores.items(), key=lambda item: (-item[1].total, item[0])):
        table.add_row(name, *(str(score.weighted.get(plugin, 0)) for plugin in plugins), str(score.total))
    return table
