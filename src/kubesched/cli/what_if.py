"""`kubesched what-if`: what would happen to the pods of a cluster?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from kubesched.apps.plan.each import each_loss
from kubesched.apps.plan.hypotheses import (
    AddNodes,
    Apply,
    ChangeNode,
    Configure,
    Cordon,
    Delete,
    Drain,
    Hypothesis,
    Remove,
    Scale,
    Uncordon,
)
from kubesched.apps.plan.text import each_text, what_if_text
from kubesched.apps.plan.what_if import what_if as find_out
from kubesched.apps.simulate.simulation import Simulation
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
from kubesched.objects.affinity import Taint

_TYPED: Final = "what-if.typed"
HYPOTHESES: Final = (
    *(
        "--drain",
        "--remove",
        "--cordon",
        "--uncordon",
        "--add-nodes",
        "--change-node",
        "--scale",
        "--delete",
        "--apply",
    ),
    "--change-config",
)


class _InOrder(TyperCommand):
    """Keeps the arguments as typed: hypotheses act in this order, and a parser only tells it within one option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)


app = typer.Typer(add_completion=False, help="Try changes on a simulated cluster.")
_Names = list[str] | None


@app.command(cls=_InOrder)
def what_if(
    context: typer.Context,
    drain: Annotated[_Names, typer.Option(metavar="NODE|SELECTOR", help="Cordon, and evict within budgets.")] = None,
    remove: Annotated[_Names, typer.Option(metavar="NODE|SELECTOR", help="Lose nodes with what runs there.")] = None,
    cordon: Annotated[_Names, typer.Option(metavar="NODE|SELECTOR", help="Let no new pods go there.")] = None,
    uncordon: Annotated[_Names, typer.Option(metavar="NODE|SELECTOR", help="Open cordoned nodes again.")] = None,
    add_nodes: Annotated[list[int] | None, typer.Option(metavar="N", help="More nodes; see --like.")] = None,
    like: Annotated[
        _Names,
        typer.Option(metavar="NODE|FILE", help="What added nodes are like."),
    ] = None,
    change_node: Annotated[
        _Names,
        typer.Option(
            metavar="'NODE|SELECTOR CHANGE…'",
            help="cpu=8, memory=32Gi…; label:KEY=VALUE, label:KEY-; taint:KEY=VALUE:EFFECT, taint:KEY-.",
        ),
    ] = None,
    scale: Annotated[_Names, typer.Option(metavar="WORKLOAD=N", help="deploy/web=20, NAMESPACE/sts/db=5…")] = None,
    delete: Annotated[_Names, typer.Option(metavar="WORKLOAD", help="deploy/web, pod/NAME, node/NAME…")] = None,
    apply: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Manifests, workloads included.")] = None,
    change_config: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="From here on, a scheduler with this configuration.")
    ] = None,
    each: Annotated[
        str, typer.Option(metavar="node|zone|LABEL", help="Lose each in turn instead, and rank them by the damage.")
    ] = "",
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Which pods would move where, which would wait and why, who would be preempted, which budgets are in the way.

    Hypotheses act one after the other, in the order in which they are given. Nothing is changed in the cluster.
    """
    values = {
        "--drain": drain,
        "--remove": remove,
        "--cordon": cordon,
        "--uncordon": uncordon,
        "--add-nodes": add_nodes,
        "--apply": apply,
        "--change-node": change_node,
        "--scale": scale,
        "--delete": delete,
        "--change-config": change_config,
    }
    typed = list(_in_order(context.meta[_TYPED], {name: given or () for name, given in values.items()}))
    if each and typed:
        raise ConfigurationError(["--each asks about losses only: leave the other hypotheses out"])
    if not each and not typed:
        raise ConfigurationError([f"what if what? Give at least one of {', '.join(HYPOTHESES)} or --each"])
    with opened_cluster(manifests, at, kubeconfig, config, feature_gates, emulated_version) as simulation:
        if each:
            with progress_bar(f"losing each {each}") as progress:
                losses = each_loss(simulation, each, progress)
            show(losses, output, lambda: each_text(losses))
            return
        report = find_out(simulation, list(_hypotheses(typed, like or [], simulation)))
    show(report, output, lambda: what_if_text(report))


def _in_order(typed: Sequence[str], values: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """Every hypothesis' option with its value."""
    left = {name: iter(given) for name, given in values.items()}
    for argument in typed:
        name = argument.partition("=")[0]
        if name in left and (value := next(left[name], None)) is not None:
            yield name, value


def _hypotheses(typed: Sequence[tuple[str, Any]], like: Sequence[str], simulation: Simulation) -> Iterator[Hypothesis]:
    adding = sum(name == "--add-nodes" for name, _ in typed)
    if adding and len(like) not in (1, adding):
        raise ConfigurationError(
            [f"--add-nodes N goes with --like NODE|FILE: {adding} of the first, {len(like)} of the second were given"]
        )
    models = iter(list(like) * adding if len(like) == 1 else like)
    for name, value in typed:
        match name:
            case "--drain":
                yield Drain(value)
            case "--remove":
                yield Remove(value)
            case "--cordon":
                yield Cordon(value)
            case "--uncordon":
                yield Uncordon(value)
            case "--add-nodes":
                yield AddNodes(value, node_like(next(models)))
            case "--change-node":
                yield parse_change(value)
            case "--scale":
                yield parse_scale(value)
            case "--delete":
                yield Delete(value)
            case "--apply":
                yield Apply(workloads_of([value], simulation).all_objects(), str(value))
            case "--change-config":
                yield Configure(value)


def parse_scale(text: str) -> Scale:
    """From `deploy/web=20`; ConfigurationError."""
    workload, _, replicas = text.rpartition("=")
    if not workload or not replicas.isdigit():
        raise ConfigurationError([f"--scale {text!r}: write WORKLOAD=N, as in deploy/web=20"])
    return Scale(workload, int(replicas))


def parse_change(text: str) -> ChangeNode:
    """From `pool=a cpu=8 label:tier=gold label:old- taint:dedicated=ml:NoSchedule taint:old-`; ConfigurationError."""
    which, *changes = text.split() or [""]
    labels: dict[str, str | None] = {}
    taints: dict[str, Taint | None] = {}
    allocatable: dict[str, str] = {}
    for change in changes:
        kind, colon, rest = change.partition(":")
        if colon and kind == "label" and (rest.endswith("-") or "=" in rest):
            key, equals, value = rest.partition("=")
            labels[key if equals else key[:-1]] = value if equals else None
        elif colon and kind == "taint" and rest.endswith("-") and ":" not in rest:
            taints[rest[:-1]] = None
        elif colon and kind == "taint" and rest.rpartition(":")[2] in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            name, _, effect = rest.rpartition(":")
            key, _, value = name.partition("=")
            taints[key] = Taint(key=key, value=value, effect=effect)
        elif not colon and "=" in change:
            resource, _, amount = change.partition("=")
            allocatable[resource] = amount
        else:
            raise ConfigurationError([f"--change-node {text!r}: {change!r} is no change; see --help"])
    if not changes:
        raise ConfigurationError([f"--change-node {text!r}: what should change? See --help"])
    return ChangeNode(which, labels, taints, allocatable)
