"""`kubesched rollout`: will this node upgrade finish, how long does it take, and where does it get stuck?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kubesched.apps.plan.rollout import Order, Pace, best_order
from kubesched.apps.plan.rollout import rollout as play
from kubesched.apps.plan.rollout_text import rollout_text
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
from kubesched.cli.planning import opened_cluster, progress_bar, show
from kubesched.config.duration import parse_duration
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False, help="Play a node upgrade through.")


class ChosenOrder(StrEnum):
    BEST = "best"
    NAME = "name"
    FEWEST_PODS = "fewest-pods"
    MOST_PODS = "most-pods"
    ZONES_IN_TURN = "zones-in-turn"
    ZONE_BY_ZONE = "zone-by-zone"


@app.command()
def rollout(
    surge: Annotated[int, typer.Option(metavar="N", help="Nodes that are replaced by new ones, at a time.", min=0)] = 0,
    max_unavailable: Annotated[
        int, typer.Option(metavar="N", help="Nodes that are upgraded in place, at a time.", min=0)
    ] = 1,
    pool: Annotated[str, typer.Option(metavar="SELECTOR", help="The nodes to upgrade; all by default.")] = "",
    order: Annotated[ChosenOrder, typer.Option(help="Which node next; `best` tries all orders.")] = ChosenOrder.BEST,
    grace: Annotated[str, typer.Option(metavar="DURATION", help="A pod takes to stop, at most.")] = "30s",
    start_up: Annotated[str, typer.Option(metavar="DURATION", help="A pod takes to be ready.")] = "20s",
    node_time: Annotated[str, typer.Option(metavar="DURATION", help="A node takes to join, or to be back.")] = "3m",
    force: Annotated[bool, typer.Option("--force", help="Evict pods that nothing recreates, too.")] = False,
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Upgrade all nodes of a pool in virtual time, within disruption budgets, each pod placed by the scheduler.

    Nothing is changed in the cluster. A rollout that does not finish ends with code 1.
    """
    pace = Pace(
        surge=surge,
        max_unavailable=max_unavailable,
        grace=_seconds("--grace", grace),
        start_up=_seconds("--start-up", start_up),
        node_time=_seconds("--node-time", node_time),
    )
    orders = list(Order) if order is ChosenOrder.BEST else [Order(order.value)]
    with opened_cluster(manifests, at, kubeconfig, config, feature_gates, emulated_version) as simulation:
        reports = []
        for one in orders:
            with progress_bar(f"upgrading by {one.value}") as progress:
                reports.append(play(simulation, pool, pace, one, force=force, progress=progress))
    best = best_order(reports)
    show(best, output, lambda: rollout_text(best, reports))
    if not best.finishes:
        raise typer.Exit(1)


def _seconds(option: str, text: str) -> float:
    """A duration as Go writes it, or a number of seconds."""
    try:
        seconds = float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text).total_seconds()
    except ValueError as error:
        raise ConfigurationError([f"{option}: {error}"]) from error
    if seconds < 0:
        raise ConfigurationError([f"{option}: {text} is less than nothing"])
    return seconds
