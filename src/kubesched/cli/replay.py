"""`kubesched replay` and `kubesched compare`: a recorded cluster under other configurations."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kubesched.apps.inputs.live_cluster import fetch_objects
from kubesched.apps.inputs.traces import load_trace
from kubesched.apps.replay.comparing import EXPLAINED, compare
from kubesched.apps.replay.hypotheses import at_speed, placed_afresh, with_nodes
from kubesched.apps.replay.workload import Workload, workload_of
from kubesched.cli.options import EmulatedVersion, GateList, KubeconfigFile, Output, OutputFormat, tell_notes
from kubesched.cli.progress import progress_bar
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.reports.html import report_page
from kubesched.reports.report import Report
from kubesched.reports.text import report_text
from kubesched.traces import Trace

replay_app = typer.Typer(add_completion=False, help="Replay a trace.")
compare_app = typer.Typer(add_completion=False, help="Compare two configurations.")


class TieRule(StrEnum):
    SEED = "seed"
    RECORDED = "recorded"


Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Decides ties. The same seed gives the same result.")]
Seeds = Annotated[
    int,
    typer.Option("--seeds", metavar="N", min=1, help="Run with so many seeds, to tell differences from chance."),
]
TiesGo = Annotated[
    TieRule,
    typer.Option("--ties", help="Of several best nodes: one by the seed, or the recorded one where it is among them."),
]
Moved = Annotated[int, typer.Option("--moved", metavar="N", min=0, help="How many pods that move are explained.")]
ReportFile = Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write the report as an HTML page.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON, too.")]
Speed = Annotated[float, typer.Option("--speed", metavar="X", help="Pods arrive X times as fast.")]
Nodes = Annotated[
    str, typer.Option("--nodes", metavar="N|FILE", help="Other nodes: N like those of the trace, or those of a file.")
]
Afresh = Annotated[
    bool, typer.Option("--afresh", help="Place the pods that have a node at the start again, oldest first.")
]


@replay_app.command()
def replay(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A trace, or what `kubectl get -o json` printed; - is stdin.")
    ],
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", metavar="FILE", help="A configuration; several are compared.", exists=True),
    ] = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    ties: TiesGo = TieRule.SEED,
    nodes: Nodes = "",
    speed: Speed = 1.0,
    afresh: Afresh = False,
    moved: Moved = EXPLAINED,
    report: ReportFile = None,
    json_file: JsonFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Run a trace again, on a simulated clock, under one or several configurations.

    Nothing is read from or written to any cluster. The rules of a replay are in docs/replay.md.
    """
    workload = _changed(_read(trace), nodes, speed, afresh=afresh)
    _run(
        workload,
        config or [],
        range(seed, seed + seeds),
        ties,
        moved,
        (feature_gates, emulated_version),
        (report, json_file, output),
    )


@compare_app.command("compare")
def compare_command(
    first: Annotated[Path, typer.Argument(metavar="A.yaml", help="The configuration of today.", exists=True)],
    second: Annotated[Path, typer.Argument(metavar="B.yaml", help="The other one.", exists=True)],
    trace: Annotated[
        Path | None, typer.Argument(metavar="[TRACE]", help="A trace; without one, the cluster as it is now.")
    ] = None,
    kubeconfig: KubeconfigFile = "",
    seed: Seed = 0,
    seeds: Seeds = 1,
    ties: TiesGo = TieRule.SEED,
    nodes: Nodes = "",
    speed: Speed = 1.0,
    afresh: Afresh = False,
    moved: Moved = EXPLAINED,
    report: ReportFile = None,
    json_file: JsonFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """What would be different under configuration B: on a recorded trace, or on the pods that a cluster has now.

    Of a cluster, every pod is placed afresh under both. Nothing is changed in it.
    """
    if trace is not None:
        workload = _changed(_read(trace), nodes, speed, afresh=afresh)
    else:
        gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
        workload = _changed(_present(kubeconfig, gates), nodes, speed, afresh=True)
    _run(
        workload,
        [first, second],
        range(seed, seed + seeds),
        ties,
        moved,
        (feature_gates, emulated_version),
        (report, json_file, output),
    )


def _read(file: Path) -> Workload:
    trace = load_trace(file)
    workload = workload_of(trace)
    tell_notes(trace)
    return workload


def _present(kubeconfig: str, gates: FeatureGates) -> Workload:
    import asyncio

    return workload_of(Trace.of(asyncio.run(fetch_objects(kubeconfig, gates)), time=0.0))


def _changed(workload: Workload, nodes: str, speed: float, *, afresh: bool) -> Workload:
    if nodes:
        workload = with_nodes(workload, nodes)
    if afresh:
        workload = placed_afresh(workload)
    return at_speed(workload, speed) if speed != 1.0 else workload


def _run(
    workload: Workload,
    configs: Sequence[Path],
    seeds: Sequence[int],
    ties: TieRule,
    moved: int,
    versions: tuple[str, str],
    wanted: tuple[Path | None, Path | None, Output],
) -> None:
    policies = {_name(path, configs): path for path in configs}
    if len(policies) < len(configs):
        raise ConfigurationError(["the same configuration is given twice"])
    with progress_bar() as on_progress:
        made = compare(
            workload,
            dict(policies),
            seeds=seeds,
            ties=ties.value,
            explained=moved,
            feature_gates=versions[0],
            emulated_version=versions[1],
            on_progress=on_progress,
        )
    _show(made, *wanted)


def _name(path: Path, configs: Sequence[Path]) -> str:
    """The file's name; with its folder, where two are called the same."""
    return path.name if sum(other.name == path.name for other in configs) == 1 else str(path)


def _show(report: Report, page: Path | None, json_file: Path | None, output: Output) -> None:
    if page is not None:
        page.write_text(report_page(report), encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_data()), encoding="utf-8")
    if output is Output.JSON:
        typer.echo(json.dumps(report.as_data()))
        return
    Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160).print(report_text(report))
