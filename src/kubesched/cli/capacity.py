"""`kubesched capacity`: how many more of these pods fit?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kubesched.apps.inputs.workloads import LoadedWorkloads, load_workloads
from kubesched.apps.plan.capacity import MixPart
from kubesched.apps.plan.capacity import capacity as count_pods
from kubesched.apps.plan.hypotheses import AddNodes
from kubesched.apps.plan.node_mix import cheapest_mix, nodes_needed
from kubesched.apps.plan.text import capacity_text, cheapest_text, needed_text
from kubesched.cli.options import (
    ConfigFile,
    EmulatedVersion,
    GateList,
    KubeconfigFile,
    Moment,
    ObjectFiles,
    Output,
    OutputFormat,
)
from kubesched.cli.planning import node_like, opened_cluster, progress_bar, show, workloads_of
from kubesched.errors import ConfigurationError
from kubesched.objects import Node

app = typer.Typer(add_completion=False, help="Count how many more pods fit.")


@app.command()
def capacity(
    pods: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PODS…]",
            help="Manifests of pods, Deployments, StatefulSets, Jobs or PodGroups (- is stdin); "
            "without any, those of -f, in the cluster of --kubeconfig.",
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="Pods of a workload in every set; its replicas by default."),
    ] = None,
    count: Annotated[
        int, typer.Option(metavar="M", help="Stop at so many sets; with --like or --shapes, make room for them.", min=0)
    ] = 0,
    add_nodes: Annotated[int, typer.Option(metavar="N", help="Count with so many more nodes; see --like.", min=0)] = 0,
    like: Annotated[
        str, typer.Option(metavar="NODE|FILE", help="What added nodes are like. With --count: how many are needed?")
    ] = "",
    shapes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Nodes to buy (kubesched.io/price): the cheapest for --count.",
        ),
    ] = None,
    group_by: Annotated[
        str, typer.Option(metavar="LABEL", help="Group nodes by this label; by pool or size by default.")
    ] = "",
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """How many more of these fit, where, and what stops the next one; which nodes would let more fit.

    Several workloads are a mix: set after set is added until one pod fits nowhere. Nobody is preempted for them.
    Nothing is changed in the cluster.
    """
    if not pods:
        pods, manifests = manifests, None
        if not pods:
            raise ConfigurationError(["capacity of what? Name manifests of pods: kubesched capacity pods.yaml"])
    if shapes is not None and (like or add_nodes or not count):
        raise ConfigurationError(["--shapes goes with --count alone: it finds the cheapest nodes for so many sets"])
    if bool(add_nodes) != bool(like) and not (like and count):
        raise ConfigurationError(["--add-nodes goes with --like, and --like with --add-nodes or --count"])
    with opened_cluster(manifests, at, kubeconfig, config, feature_gates, emulated_version) as simulation:
        loaded = workloads_of(pods, simulation)
        mix = _mix(loaded, weight or ())
        with progress_bar("counting") as progress:
            if shapes is not None:
                bought = [obj for obj in load_workloads([shapes]).objects if isinstance(obj, Node)]
                if not bought:
                    raise ConfigurationError([f"{shapes}: there are no nodes in it"])
                cheapest = cheapest_mix(simulation, mix, loaded.objects, count, bought, progress)
            elif like and not add_nodes:
                needed = nodes_needed(simulation, mix, loaded.objects, count, node_like(like), progress)
            else:
                supposing = [AddNodes(add_nodes, node_like(like))] if add_nodes else []
                found = count_pods(
                    *(simulation, mix, loaded.objects),
                    supposing=supposing,
                    most=count,
                    group_by=group_by,
                    progress=progress,
                )
    if shapes is not None:
        show(cheapest, output, lambda: cheapest_text(cheapest))
    elif like and not add_nodes:
        show(needed, output, lambda: needed_text(needed))
    else:
        show(found, output, lambda: capacity_text(found))


def _mix(loaded: LoadedWorkloads, weights: Sequence[str]) -> list[MixPart]:
    names = [workload.name for workload in loaded.workloads]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError([f"two workloads are named {name!r}"])
    given: dict[str, int] = {}
    for text in weights:
        name, _, number = text.rpartition("=")
        if name not in names or not number.isdigit():
            raise ConfigurationError([f"--weight {text!r}: write NAME=N, where NAME is one of {', '.join(names)}"])
        given[name] = int(number)
    return [MixPart(one, given.get(one.name, one.replicas)) for one in loaded.workloads]
