"""`kubesched plugin`: begin a plugin, check what it promises, measure what it costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubesched.cli.options import Output, OutputFormat
from kubesched.errors import ConfigurationError

if TYPE_CHECKING:
    from kubesched.scheduler.framework import Plugin

app = typer.Typer(add_completion=False, help="Begin a plugin, check what it promises, measure what it costs.")

Reference = Annotated[str, typer.Argument(metavar="MODULE:CLASS", help="As a configuration file names it.")]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Take the plugin's arguments from here, and its folder.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Other random clusters.")]


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="PreferGreen, or prefer-green.")],
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="filter or score.")] = "score",
    folder: Annotated[Path, typer.Option("--folder", metavar="DIR", help="Where to put its folder.")] = Path(),
) -> None:
    """Write a folder with a plugin, its tests, a configuration and a README, all of which work."""
    from kubesched.apps.plugin.beginning import begin

    for file in begin(name, kind, folder):
        typer.echo(file)


@app.command()
def check(
    reference: Reference,
    config: ConfigFile = None,
    clusters: Annotated[int, typer.Option("--clusters", metavar="N", min=1, help="How many random clusters.")] = 100,
    seed: Seed = 0,
) -> None:
    """Is it a plugin, and is true what it claims? Every broken promise is shown by the smallest example found.

    On random clusters, kept answers are compared with fresh ones. The exit code is 1 if they differ.
    """
    from kubesched.apps.plugin.checking import check as check_promises
    from kubesched.scheduler.plugin_contract import suspicious_names

    plugin, args = _load(reference, config)
    if mistakes := [f"plugin {reference}: {problem}" for problem in suspicious_names(plugin)]:
        raise ConfigurationError(mistakes)
    found = check_promises(plugin, args, clusters=clusters, seed=seed)
    if found is None:
        typer.echo(f"{reference} keeps its promises on {clusters} random clusters")
        return
    typer.echo(f"{reference}: " + "\n".join(found.lines()))
    raise typer.Exit(1)


@app.command()
def profile(
    reference: Reference,
    config: ConfigFile = None,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", min=1, max=100_000, help="How many nodes.")] = 1000,
    pods: Annotated[int, typer.Option("--pods", metavar="N", min=1, max=100_000, help="How many pods.")] = 500,
    seed: Seed = 0,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Measure time per call and per node, which answers are kept, and what a pod costs with and without it."""
    import msgspec

    from kubesched.apps.plugin.profiling import profile as measure

    plugin, args = _load(reference, config)
    found = measure(plugin, args, nodes=nodes, pods=pods, seed=seed)
    text = json.dumps(msgspec.to_builtins(found), indent=2) if output is Output.JSON else "\n".join(found.lines())
    typer.echo(text)


def _load(reference: str, config: Path | None) -> tuple[type[Plugin], Any]:
    """The plugin, and its arguments in the configuration, if one is given."""
    from kubesched.config import load_config_file
    from kubesched.scheduler.plugin_loading import import_plugin

    if ":" not in reference:
        raise ConfigurationError([f"{reference!r} is no plugin: name it as MODULE:CLASS"])
    folder = config.absolute().parent if config is not None else Path.cwd()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    plugin = import_plugin(reference)
    if config is None:
        return plugin, None
    named = [
        profile.args_of(reference) or profile.args_of(plugin.name) for profile in load_config_file(config).profiles
    ]
    return plugin, next((args for args in named if args), None)
