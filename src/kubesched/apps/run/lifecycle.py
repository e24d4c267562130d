"""The life of a `kubesched run` process, from its settings to its exit code.

    take the port ► look at the API server ► serve ► watch and sync ► be elected ► decide
                                                                                      │ SIGTERM
    close ◄ stop serving ◄ give the lease back ◄ write the last events ◄ finish bindings ◄ no more decisions

A lost lease ends the process at once: another replica may act already. So does a second signal.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from prometheus_client import CollectorRegistry

from kubesched.apps.run.clients import Clients, choose_connection
from kubesched.apps.run.dump import log_state
from kubesched.apps.run.election import Election
from kubesched.apps.run.extenders import connect_extenders, leave_to_extenders
from kubesched.apps.run.informers import AccessCheck, Watches, watched_kinds
from kubesched.apps.run.observers import (
    AttemptMetrics,
    CallMetrics,
    DeviceMetrics,
    PluginMetrics,
    PodGroupMetrics,
    PreemptionMetrics,
    QueueMetrics,
    VolumeMetrics,
    show_state,
)
from kubesched.apps.run.recorders import ProfileRecorders
from kubesched.apps.run.serving import EndpointOptions, Endpoints
from kubesched.client.fence import Fence
from kubesched.client.pod_writer import PodWriter
from kubesched.client.request_metrics import RequestMetrics
from kubesched.clock import Clock, SystemClock
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.config.dump import dump_config
from kubesched.errors import ClientError
from kubesched.objects import Pod
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.scheduler.plugin_loading import load_plugins
from kubesched.serving.app import Pages
from kubesched.telemetry.component_metrics import register_process_metrics
from kubesched.telemetry.health import PING, HealthCheck
from kubesched.telemetry.instruments import MetricPolicy
from kubesched.telemetry.logging import log
from kubesched.telemetry.metrics import SchedulerMetrics
from kubesched.telemetry.version import KUBERNETES_VERSION, PROGRAM_VERSION

BINDING_GRACE: Final = 5.0
EVENT_GRACE: Final = 2.0
FIRST_LOOK_SECONDS: Final = 5.0

# What is there after the first sync mostly stays: the collector need not look at it again, and a full collection is
# to be rare. One over a cluster's objects takes longer than a thousand decisions.
GC_THRESHOLDS: Final = (50_000, 20, 100)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """All that flags and files decide; `config` is complete and valid."""

    config: KubeSchedulerConfiguration
    gates: FeatureGates = field(default_factory=FeatureGates)
    master: str = ""
    endpoints: EndpointOptions = field(default_factory=EndpointOptions)
    metric_policy: MetricPolicy = field(default_factory=MetricPolicy)
    flags: Mapping[str, str] = field(default_factory=dict)
    max_unschedulable: timedelta = timedelta(minutes=5)
    plugin_folder: Path | None = None
    """Where plugins that the configuration names as `module:Class` are looked for first."""


def run(settings: RunSettings) -> int:
    """Schedule until a signal comes; the exit code. Raises KubeschedError for what keeps it from starting."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(settings))


async def _run(settings: RunSettings) -> int:
    random = Random()  # noqa: S311 - for jitter and ties
    return await SchedulerProcess(settings, SystemClock(), random).run()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Makes the event loop that a scheduler runs on; None: Python's own."""
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return None
    return uvloop.new_event_loop


class SchedulerProcess:
    """Everything of one process. Made with the port taken and the configuration checked."""

    def __init__(
        self, settings: RunSettings, clock: Clock, random: Random, *, exit_now: Callable[[int], object] = os._exit
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._random = random
        self._exit_now = exit_now
        self._registry = CollectorRegistry()
        self._metrics = metrics = SchedulerMetrics(self._registry, settings.metric_policy)
        metrics.record_features(settings.gates)
        register_process_metrics(self._registry)
        requests = RequestMetrics(metrics.rest_client)
        config, plugins = load_plugins(leave_to_extenders(settings.config), settings.plugin_folder)
        self._config = config
        client = config.client_connection
        connection = choose_connection(client.kubeconfig, clock, master=settings.master, observer=requests)
        self._fence = Fence(clock)
        fence = self._fence if self._elects else None
        self._clients = Clients(connection, client, clock, random, requests, fence=fence)
        self._hostname = socket.gethostname()
        self._recorders = ProfileRecorders(
            self._clients.events,
            clock,
            random,
            scheduler_names=[profile.scheduler_name for profile in config.profiles],
            hostname=self._hostname,
        )
        self._assembled = build_scheduler(
            config,
            settings.gates,
            Dependencies(
                api=PodWriter(self._clients.main, clock, random, CallMetrics(metrics)),
                recorder=self._recorders,
                clock=clock,
                random=random,
                extenders=connect_extenders(config, clock),
                plugins=plugins,
                attempt_observer=AttemptMetrics(metrics, clock),
                queue_observer=QueueMetrics(metrics),
                plugin_observer=PluginMetrics(metrics),
                preemption_observer=PreemptionMetrics(metrics),
                pod_group_observer=PodGroupMetrics(metrics),
                volume_observer=VolumeMetrics(metrics),
                device_observer=DeviceMetrics(metrics),
                max_unschedulable=settings.max_unschedulable.total_seconds(),
            ),
        )
        show_state(metrics, self._assembled)
        self._watches = Watches(
            self._clients.main, clock, random, self._assembled.handlers, metrics.event_handling_duration
        )
        self._election = Election(
            config.leader_election,
            self._clients,
            clock,
            random,
            gates=settings.gates,
            hostname=self._hostname,
            scheduler_name=config.profiles[0].scheduler_name,
            metrics=metrics.leader_election,
            fence=self._fence,
            on_started_leading=self._start_deciding,
            on_lost=self._lost_lease,
        )
        serving = settings.endpoints.serving.port != 0
        self._endpoints = Endpoints(settings.endpoints, clock, random, requests) if serving else None
        self._served_kinds: list[type] | None = None
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_leading = False
        self._is_stopping = False

    @property
    def _elects(self) -> bool:
        return self._config.leader_election.leader_elect

    async def run(self) -> int:
        """Until somebody asks us to stop, or something fails that we cannot go on without."""
        self._listen_to_signals()
        try:
            await self._look_at_server()
            log.info("Starting Kubernetes Scheduler", version=KUBERNETES_VERSION, kubesched=PROGRAM_VERSION)
            self._recorders.start()
            if self._endpoints is not None:
                self._start("serving", self._endpoints.serve(self._pages()))
            if self._elects:
                self._election.stand()
            self._start("leading", self._lead())
            await self._over
        finally:
            await self._wind_down()
        if self._elects:
            log.info("Requested to terminate, exiting")
            return 0
        log.error("command failed", err="finished without leader elect")
        return 1

    # ---- starting --------------------------------------------------------------------------------------------------

    async def _look_at_server(self) -> None:
        """Fail early where waiting would not help; a server that is away may come back."""
        check = AccessCheck(self._clients.client(time_limit=FIRST_LOOK_SECONDS), watched_kinds(self._settings.gates))
        try:
            self._served_kinds = await check.served_kinds()
        except ClientError as error:
            log.error("The API server does not answer yet", error)

    async def _lead(self) -> None:
        """Get ready, then decide as soon as (and as long as) we are the leader."""
        if not (self._elects and self._config.delay_cache_until_active):
            await self._sync()
        if self._elects:
            await self._election.run()
        else:
            self._start_deciding()

    async def _sync(self) -> None:
        wanted = watched_kinds(self._settings.gates)
        check = AccessCheck(self._clients.main, wanted)
        kinds = self._served_kinds
        if kinds is None:
            kinds = await check.served_kinds_when_up(self._clock, self._random)
        gc.disable()  # nothing of a first list is garbage
        try:
            await self._watches.start(kinds)
        finally:
            gc.freeze()
            gc.set_threshold(*GC_THRESHOLDS)
            gc.enable()
        log.info("Handlers synced", v=3)
        missing = [kind for kind in wanted if kind not in kinds]
        self._start("missing kinds", self._watches.start_once_served(missing, check))

    def _start_deciding(self) -> None:
        self._is_leading = True
        self._start("deciding", self._decide())

    async def _decide(self) -> None:
        if not self._watches.has_synced:
            await self._sync()
        self._start("flushing", self._assembled.queue.run())
        if self._assembled.cache.expires:
            self._start("expiry", self._assembled.scheduler.expire_assumed())
        await self._assembled.scheduler.run()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._task_ended)
        self._tasks[name] = task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """None of the process's own tasks may fail unseen."""
        if not task.cancelled() and (error := task.exception()) is not None and not self._over.done():
            self._over.set_exception(error)

    # ---- ending ----------------------------------------------------------------------------------------------------

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for asks_to_stop in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(asks_to_stop, self.ask_to_stop)
        loop.add_signal_handler(signal.SIGUSR2, log_state, self._assembled)

    def ask_to_stop(self) -> None:
        """What SIGTERM and SIGINT do; asked again, it ends at once."""
        if self._over.done():
            self._exit_now(1)
        else:
            self._over.set_result(None)

    def _lost_lease(self) -> None:
        log.error("Leaderelection lost")
        self._exit_now(1)

    async def _wind_down(self) -> None:
        self._is_stopping = True
        await self._cancel("deciding")
        await self._cancel("flushing")
        await self._assembled.scheduler.tasks.stop(BINDING_GRACE)
        await self._recorders.stop(grace=EVENT_GRACE)
        await self._cancel("leading")
        await self._election.stop()
        await self._cancel("missing kinds")
        await self._watches.stop()
        if self._endpoints is not None:
            self._endpoints.stop()
            if "serving" in self._tasks:
                await asyncio.wait({self._tasks["serving"]})
            await self._endpoints.close()
        await self._clients.close()

    async def _cancel(self, name: str) -> None:
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})

    # ---- showing ---------------------------------------------------------------------------------------------------

    def _pages(self) -> Pages:
        gates = self._settings.gates
        election = HealthCheck("leaderElection", self._election.health_problem)
        electing = [election] if self._elects else []
        shutdown = HealthCheck("shutdown", lambda: "process is shutting down" if self._is_stopping else None)
        synced = HealthCheck("sched-handler-sync", lambda: self._watches.sync_problem)
        pods = self._assembled.objects.of(Pod)
        return Pages(
            registry=self._registry,
            metrics=self._metrics,
            config=lambda: dump_config(self._config),
            pods=lambda: list(pods),
            is_leader=lambda: self._is_leading,
            flags=self._settings.flags,
            healthz=electing or [PING],
            livez=[PING],
            readyz=[*electing, shutdown, synced],
            profiling=self._config.enable_profiling,
            flagz=gates.enabled("ComponentFlagz"),
            statusz=gates.enabled("ComponentStatusz"),
            emulated_version=str(gates.version),
        )
