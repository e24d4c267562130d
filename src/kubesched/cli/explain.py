"""`kubesched explain`: why is this pod where it is, or nowhere?"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kubesched.apps.explain.explanation import Explanation
from kubesched.apps.explain.fragmentation import suffices_in_sum
from kubesched.apps.explain.pod_events import contradiction, last_refusal
from kubesched.apps.explain.text import as_data, as_text
from kubesched.apps.inputs.live_cluster import connected
from kubesched.cli.options import (
    ConfigFile,
    EmulatedVersion,
    GateList,
    KubeconfigFile,
    Moment,
    ObjectFiles,
    Output,
    OutputFormat,
    objects_of,
    policy_of,
)
from kubesched.clock import SystemClock, utc
from kubesched.objects import Pod

app = typer.Typer(add_completion=False, help="Explain a decision.")


PLAIN_WIDTH: Final = 240
"""Of a table that does not go to a terminal."""


@app.command()
def explain(
    pod: Annotated[str, typer.Argument(metavar="POD", help="The pod: NAME, pod/NAME or NAMESPACE/NAME.")],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="The pod's namespace.")
    ] = "default",
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    matrix: Annotated[bool, typer.Option("--matrix", help="Every plugin's score for every feasible node.")] = False,
    output: OutputFormat = Output.TEXT,
) -> None:
    """What every plugin says about a pod on every node, what would make it fit, and whom preemption would cost.

    Nothing is changed, in the cluster or elsewhere.
    """
    name = pod.removeprefix("pod/")  # as `kubectl get -o name` prints it; for a namespace of that name there is -n
    key = name if "/" in name else f"{namespace}/{name}"
    policy = policy_of(config, feature_gates, emulated_version, kubeconfig=kubeconfig, is_live=not manifests, pod=key)
    with policy.simulation() as simulation:
        kinds = simulation.kinds_of_plugins
        simulation.add(*objects_of(manifests, kubeconfig, simulation.gates, at=at, for_plugins=kinds))
        explanation = simulation.explain(key)
        pod_object = simulation.get(Pod, key)
        is_fragmented = (
            bool(explanation.fit_error) and pod_object is not None and suffices_in_sum(pod_object, simulation.nodes())
        )
    contradicted = "" if manifests else asyncio.run(_contradiction(kubeconfig, explanation))
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    if output is Output.JSON:
        data = {**as_data(explanation), "configuration": policy.source}
        console.print_json(json.dumps(data | ({"contradiction": contradicted} if contradicted else {})))
        return
    console.print(escape(as_text(explanation)))
    if is_fragmented:
        console.print("  what is free would suffice in sum: kubesched defrag --fit says what would have to move")
    if matrix:
        console.print(_matrix(explanation))
    if contradicted:
        typer.echo(f"warning: {contradicted}", err=True)


async def _contradiction(kubeconfig: str, explanation: Explanation) -> str:
    namespace, _, name = explanation.pod.partition("/")
    async with connected(kubeconfig) as rest:
        return contradiction(explanation, await last_refusal(rest, namespace, name), utc(SystemClock()))


def _matrix(explanation: Explanation) -> Table:
    plugins = sorted({plugin for score in explanation.scores.values() for plugin in score.weighted})
    table = Table(box=None)
    for name in ("node", *plugins, "total"):
        table.add_column(name, overflow="fold", justify="left" if name == "node" else "right")
    for name, score in sorted(explanation.scores.items(), key=lambda item: (-item[1].total, item[0])):
        table.add_row(name, *(str(score.weighted.get(plugin, 0)) for plugin in plugins), str(score.total))
    return table
