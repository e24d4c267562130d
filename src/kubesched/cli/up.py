"""`kubesched up`: a whole cluster on this machine, with one command."""

from __future__ import annotations

import asyncio
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import typer
import uvloop

from kubesched.apps.up.cluster import DEMOS, ClusterOptions
from kubesched.apps.up.lifecycle import UpSettings, run_up
from kubesched.cli.options import EmulatedVersion, GateList
from kubesched.cli.up_view import Headline, show_lines, show_live
from kubesched.config import FeatureGates, default_config, load_config_file
from kubesched.errors import ConfigurationError
from kubesched.telemetry.logging import adopt_library_logs, log

app = typer.Typer(add_completion=False)

FOLDER: Final = ".kubesched"


@app.command()
def up(
    nodes: Annotated[int, typer.Option(metavar="N", help="How many simulated nodes.", min=0, max=32_000)] = 5,
    nodes_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the nodes from a file of Node manifests.")
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", help="Port of the API server; 0: any free one.", min=0, max=65535)
    ] = 8001,
    data_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep all objects here; without it they live in memory.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="KubeSchedulerConfiguration of the scheduler.")
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Take up changes of the configuration and its plugins while it runs.")
    ] = False,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    demo: Annotated[str, typer.Option(metavar="NAME", help=f"Begin with a situation: {', '.join(demo_names())}.")] = "",
    manifests: Annotated[
        list[Path] | None,
        typer.Option("--filename", "-f", metavar="PATH", help="Create what is in this file or folder."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Lines instead of the live view.")] = False,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Plain HTTP without a token, for curl.")
    ] = False,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Where to write the kubeconfig file ({FOLDER}/kubeconfig).")
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve a page of the cluster for a browser.")] = True,
    page_port: Annotated[
        int, typer.Option(metavar="N", help="Port of the page; 0: any free one.", min=0, max=65535)
    ] = 0,
    verbosity: Annotated[int, typer.Option("-v", metavar="N", min=0, max=10, help="More in the scheduler's log.")] = 0,
) -> None:
    """Start an API server, simulated nodes, controllers and the scheduler; kubectl just works. Ctrl-C ends it all."""
    if demo and demo not in demo_names():
        raise ConfigurationError([f"--demo: there is no {demo!r}; there are {', '.join(demo_names())}"])
    if reload and config is None:
        raise ConfigurationError(["--reload needs a file to look at: --config"])
    adopt_library_logs(log)
    log.verbosity = verbosity
    gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
    settings = UpSettings(
        cluster=ClusterOptions(
            nodes=nodes,
            nodes_from=str(nodes_from) if nodes_from else "",
            port=port,
            data_dir=str(data_dir) if data_dir else "",
            demo=demo,
            manifests=tuple(map(str, manifests or ())),
            insecure_http=insecure_http,
            kubeconfig=str(kubeconfig.absolute() if kubeconfig else _own_kubeconfig()),
        ),
        config=load_config_file(config, gates) if config else default_config(gates),
        gates=gates,
        plugin_folder=config.absolute().parent if config else None,
        config_file=config.absolute() if config else None,
        flags=_flags(feature_gates, emulated_version),
        page_port=page_port if page else None,
        read_config=(lambda: load_config_file(config, gates)) if config and reload else None,
    )
    headline = Headline(demo=demo, explanation=_explanation(demo) if demo else "")
    live = sys.stdout.isatty() and not quiet
    show = show_live if live else show_lines
    if live:
        typer.echo("Starting the cluster ...")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run_up(settings, lambda running: show(running, headline)))


def _flags(feature_gates: str, emulated_version: str) -> str:
    given = {"feature-gates": feature_gates, "emulated-version": emulated_version}
    return " ".join(f"--{name}={value}" for name, value in given.items() if value)


def demo_names() -> list[str]:
    files = resources.files(DEMOS).iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def _explanation(demo: str) -> str:
    """The comment that a demo's manifest begins with."""
    lines = (resources.files(DEMOS) / f"{demo}.yaml").read_text().splitlines()
    heading = []
    for line in lines:
        if not line.startswith("#"):
            break
        heading.append(line.removeprefix("#").strip())
    return " ".join(heading)


def _own_kubeconfig() -> Path:
    """In a folder of ours, which git ignores: the file holds a token."""
    folder = Path(FOLDER).absolute()
    folder.mkdir(mode=0o700, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return folder / "kubeconfig"
