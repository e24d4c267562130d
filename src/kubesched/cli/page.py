"""`kubesched page`: a cluster in a browser."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from kubesched.apps.inputs.objects import load_objects
from kubesched.apps.page.policies import Policy
from kubesched.apps.page.recorded import RecordedCluster
from kubesched.apps.page.server import PageServer
from kubesched.apps.page.source import PageSource
from kubesched.apps.page.sources import loaded_cluster, watched_cluster
from kubesched.cli.options import (
    ConfigFile,
    EmulatedVersion,
    GateList,
    KubeconfigFile,
    Moment,
    ObjectFiles,
)
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False, help="Show a cluster in a browser.")


@app.command()
def page(
    trace: Annotated[
        Path | None, typer.Argument(metavar="[TRACE]", help="A trace, to look at any moment of it.", exists=True)
    ] = None,
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    port: Annotated[
        int, typer.Option(metavar="N", help="Port on this machine; 0: any free one.", min=0, max=65535)
    ] = 0,
) -> None:
    """Serve a page of the cluster on this machine: its nodes, who waits, and why each pod is where it is, or nowhere.

    Nothing is changed in the cluster. Ctrl-C ends it.
    """
    policy = Policy(config=config, gates=FeatureGates.parse(feature_gates, emulated_version=emulated_version))
    if trace is not None and manifests:
        raise ConfigurationError(["a trace and -f: give one of them"])
    if trace is not None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(RecordedCluster(trace, at, policy).source, port))
        return
    if manifests:
        loaded = load_objects(manifests, kubeconfig, policy.gates, at=at)
        objects, title = loaded.objects, ", ".join(map(str, manifests))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if manifests:
            runner.run(_serve(loaded_cluster(objects, title, policy), port))
        else:
            runner.run(_watch(kubeconfig, policy, port))


async def _watch(kubeconfig: str, policy: Policy, port: int) -> None:
    async with AsyncExitStack() as stack:
        await _serve(await stack.enter_async_context(watched_cluster(kubeconfig, policy)), port)


async def _serve(source: PageSource, port: int) -> None:
    """Until a signal comes."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    server = PageServer(source, port)
    server.start()
    typer.echo(f"Page of {source.title}: {server.link}")
    try:
        await over.wait()
    finally:
        await server.stop()
