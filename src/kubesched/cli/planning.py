"""What the commands that plan share: opening the cluster in question, progress, and showing a report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from kubesched.apps.inputs.workloads import LoadedWorkloads, load_workloads, with_priorities
from kubesched.apps.plan.reporting import Progress, ReportPart, as_data
from kubesched.apps.simulate.simulation import Simulation
from kubesched.cli.options import Output, objects_of, policy_of
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, PriorityClass
from kubesched.objects.manifests import SUFFIXES


@contextmanager
def opened_cluster(
    manifests: Sequence[Path] | None,
    at: str,
    kubeconfig: str,
    config: Path | None,
    feature_gates: str,
    emulated_version: str,
) -> Iterator[Simulation]:
    """The cluster in question, to try things on. ConfigurationError if it has no nodes."""
    policy = policy_of(config, feature_gates, emulated_version, kubeconfig=kubeconfig, is_live=not manifests)
    with policy.simulation() as simulation:
        kinds = simulation.kinds_of_plugins
        simulation.add(*objects_of(manifests, kubeconfig, simulation.gates, at=at, for_plugins=kinds))
        if not simulation.objects(Node):
            where = f"in {', '.join(map(str, manifests))}" if manifests else "in the cluster"
            raise ConfigurationError([f"there are no nodes {where}: -f takes the objects of a whole cluster"])
        yield simulation


def workloads_of(paths: Sequence[Path], simulation: Simulation) -> LoadedWorkloads:
    """What manifests ask for, with priorities as the cluster would give them."""
    loaded = load_workloads(paths)
    classes = [*simulation.objects(PriorityClass), *(obj for obj in loaded.objects if isinstance(obj, PriorityClass))]
    templates, unknown = with_priorities([one.template for one in loaded.workloads], classes)
    if unknown:
        typer.echo(f"note: priority classes that nobody knows count as 0: {', '.join(unknown)}", err=True)
    if loaded.left_out:
        typer.echo(f"note: left out, since scheduling does not look at them: {', '.join(loaded.left_out)}", err=True)
    pairs = zip(loaded.workloads, templates, strict=True)
    return loaded._replace(workloads=[one._replace(template=template) for one, template in pairs])


def node_like(text: str) -> str | Node:
    """The name of a node, or the node in a file."""
    if not text.endswith(SUFFIXES):
        return text
    nodes = [obj for obj in load_workloads([Path(text)]).objects if isinstance(obj, Node)]
    if len(nodes) != 1:
        raise ConfigurationError([f"{text}: expected one node, found {len(nodes)}"])
    return nodes[0]


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """A bar on standard error, if that is a terminal; it is gone when the work is done."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(report: ReportPart, output: Output, text: Callable[[], str]) -> None:
    """The report on standard output: as text, or all of it as JSON."""
    shown = json.dumps(as_data(report), indent=2, ensure_ascii=False) if output is Output.JSON else text()
    sys.stdout.write(f"{shown}\n")
