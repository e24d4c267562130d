"""The process of `kubesched run`, inside this one, beside an embedded API server."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import signal
import ssl
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from tests.e2e.processes import free_port

from kubesched.apps.run.clients import Clients, choose_connection
from kubesched.apps.run.lifecycle import RunSettings, SchedulerProcess
from kubesched.apps.run.loop_thread import SameLoop
from kubesched.apps.run.serving import EndpointOptions
from kubesched.client.request_metrics import RequestMetrics
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.cluster.apiserver.server import ApiServer
from kubesched.config import KubeSchedulerConfiguration, default_config
from kubesched.config.model import (
    ClientConnectionConfiguration,
    LeaderElectionConfiguration,
    Plugin,
    PluginSet,
)
from kubesched.objects import Lease, Pod
from kubesched.serving.server import ServingOptions
from kubesched.telemetry.metrics import SchedulerMetrics
from kubesched.testing import make_node, make_pod

# When to give up waiting; on a free machine everything here takes a moment.
PATIENCE = 60.0
# How much later than promised something may be on a machine that is busy with other tests.
SLACK_SECONDS = 1.0


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Scene:
    """An API server, a client of it, and schedulers that were asked to exit."""

    def __init__(self, rest: RestClient, kubeconfig: Path) -> None:
        self.rest = rest
        self.kubeconfig = kubeconfig
        self.exits: asyncio.Queue[int] = asyncio.Queue()
        self.port = 0

    def config(self, *, elect: bool = False) -> KubeSchedulerConfiguration:
        return replace(
            default_config(),
            client_connection=ClientConnectionConfiguration(kubeconfig=str(self.kubeconfig), qps=500, burst=1000),
            leader_election=LeaderElectionConfiguration(leader_elect=elect),
        )

    def process(
        self, config: KubeSchedulerConfiguration, plugins: Path | None = None, **options: Any
    ) -> SchedulerProcess:
        self.port = free_port()
        endpoints = EndpointOptions(serving=ServingOptions(bind_address="127.0.0.1", port=self.port))
        settings = RunSettings(config=config, endpoints=endpoints, plugin_folder=plugins)
        return SchedulerProcess(settings, SystemClock(), Random(1), exit_now=self.exits.put_nowait, **options)

    async def placed(self, name: str) -> str:
        return (await self.rest.get(Pod, name, "default")).spec.node_name


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    server = ApiServer()
    await server.start()
    kubeconfig = tmp_path / "kubeconfig"
    server.write_kubeconfig(kubeconfig)
    clock, random = SystemClock(), Random(1)
    metrics = RequestMetrics(SchedulerMetrics(CollectorRegistry()).rest_client)
    limits = ClientConnectionConfiguration(qps=-1)
    clients = Clients(choose_connection(str(kubeconfig), clock), limits, clock, random, metrics)
    yield Scene(clients.main, kubeconfig)
    await clients.close()
    await server.stop()


@asynccontextmanager
async def running(process: SchedulerProcess) -> AsyncIterator[asyncio.Task[int]]:
    task = asyncio.create_task(process.run())
    try:
        yield task
    finally:
        if not task.done():
            process.ask_to_stop()
            await task


async def until(look: Callable[[], Awaitable[object]]) -> None:
    """Ask again and again until the answer is true: what another process did comes without an event for us."""
    async with asyncio.timeout(PATIENCE):
        answer = await look()
        while not answer:
            await asyncio.sleep(0.02)
            answer = await look()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="on a thread"),
        pytest.param({"home": SameLoop(), "hears_signals": False}, id="all on one loop"),
    ],
)
async def test_it_schedules_and_stops_when_asked(scene: Scene, options: dict[str, Any]) -> None:
    """A pod is placed; without an election a stop is an error, as with kube-scheduler."""
    await scene.rest.create(make_node("n1", cpu="4"))
    process = scene.process(scene.config(), **options)
    async with running(process) as task:
        await scene.rest.create(make_pod("web", cpu="1", image="pause"))
        await until(lambda: scene.placed("web"))
        process.ask_to_stop()
        assert await task == 1


async def test_a_leader_gives_its_lease_back(scene: Scene) -> None:
    """It leads, it schedules, and when it is asked to stop nobody has to wait for the lease."""
    await scene.rest.create(make_node("n1", cpu="4"))
    process = scene.process(scene.config(elect=True))
    async with running(process) as task:
        await scene.rest.create(make_pod("web", cpu="1", image="pause"))
        await until(lambda: scene.placed("web"))
        lease = await scene.rest.get(Lease, "kube-scheduler", "kube-system")
        assert lease.spec.holder_identity
        process.ask_to_stop()
        assert await task == 0
    lease = await scene.rest.get(Lease, "kube-scheduler", "kube-system")
    assert lease.spec.holder_identity == ""


async def test_caches_can_wait_until_it_leads(scene: Scene) -> None:
    """With delayCacheUntilActive a standby watches nothing; as a leader it knows everything before it decides."""
    await scene.rest.create(make_node("n1", cpu="4"))
    process = scene.process(replace(scene.config(elect=True), delay_cache_until_active=True))
    async with running(process):
        await scene.rest.create(make_pod("web", cpu="1", image="pause"))
        await until(lambda: scene.placed("web"))


async def test_a_second_signal_ends_it_at_once(scene: Scene) -> None:
    """Whoever asks twice does not want to wait."""
    process = scene.process(scene.config())
    async with running(process) as task:
        process.ask_to_stop()
        process.ask_to_stop()
        assert scene.exits.get_nowait() == 1
        await task


async def test_a_lost_lease_ends_it_at_once(scene: Scene) -> None:
    """From then on another one may act."""
    await scene.rest.create(make_node("n1", cpu="4"))
    timing = LeaderElectionConfiguration(
        lease_duration=_seconds(1.5), renew_deadline=_seconds(1.0), retry_period=_seconds(0.2)
    )
    process = scene.process(replace(scene.config(), leader_election=timing))
    async with running(process):
        await until(lambda: _holder(scene))
        taken = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 60}}
        await scene.rest.patch(Lease, "kube-scheduler", taken, namespace="kube-system")
        async with asyncio.timeout(PATIENCE):
            assert await scene.exits.get() == 1


STUCK_PLUGIN = """
import threading, time
from kubesched.framework import FilterPlugin, Verdict

BEGUN, OVER = threading.Event(), threading.Event()

class Stuck(FilterPlugin):
    name = "Stuck"

    def filter_nodes(self, state, pod, nodes):
        BEGUN.set()
        until = time.monotonic() + 60
        while not OVER.is_set() and time.monotonic() < until:
            pass  # computes, and never yields
        return Verdict.fits(nodes)
"""


async def test_a_decision_that_does_not_end_holds_up_neither_lease_nor_health_nor_a_signal(
    scene: Scene, tmp_path: Path
) -> None:
    """The lease is renewed and probes are answered meanwhile; asked to stop, it gives the lease back and ends."""
    (tmp_path / "stuck_plugin.py").write_text(STUCK_PLUGIN)
    await scene.rest.create(make_node("n1", cpu="4"))
    [profile] = default_config().profiles
    enabled = (*profile.plugins.multi_point.enabled, Plugin(name="stuck_plugin:Stuck"))
    profile = replace(profile, plugins=replace(profile.plugins, multi_point=PluginSet(enabled=enabled)))
    timing = LeaderElectionConfiguration(
        lease_duration=_seconds(3), renew_deadline=_seconds(2.0), retry_period=_seconds(0.2)
    )
    config = replace(scene.config(), leader_election=timing, profiles=(profile,))
    process = scene.process(config, tmp_path)
    task = asyncio.create_task(process.run())
    stuck: Any = importlib.import_module("stuck_plugin")
    try:
        await scene.rest.create(make_pod("web", cpu="1", image="pause"))
        await until(lambda: asyncio.to_thread(stuck.BEGUN.is_set))
        await asyncio.sleep(3.5)  # longer than the lease
        assert await asyncio.to_thread(_probe, scene.port) < 1.0
        assert scene.exits.empty(), "it lost its lease"
        began = SystemClock().monotonic()
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await scene.exits.get() == 0
        assert SystemClock().monotonic() - began < 1.0 + SLACK_SECONDS
        assert await _holder(scene) == ""
    finally:
        stuck.OVER.set()
        await asyncio.wait({task})
    assert await scene.placed("web") == "", "what was decided too late must not be written"


def _probe(port: int) -> float:
    """How long /livez takes."""
    began = SystemClock().monotonic()
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(f"https://127.0.0.1:{port}/livez", timeout=10, context=context) as answer:
        assert answer.status == 200
    return SystemClock().monotonic() - began


async def _holder(scene: Scene) -> str:
    leases = await scene.rest.list_all(Lease, "kube-system")
    return next((lease.spec.holder_identity for lease in leases), "")


def _seconds(number: float) -> timedelta:
    return timedelta(seconds=number)
