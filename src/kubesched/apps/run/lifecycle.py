"""The life of a `kubesched run` process, from its settings to its exit code.

    take the port ► look at the API server ► serve ► watch and sync ► be elected ► decide
                                                                                      │ SIGTERM
    close ◄ stop serving ◄ give the lease back ◄ write the last events ◄ finish bindings ◄ no more decisions

A lost lease ends the process at once: another replica may act already. So does a second signal.

The main thread has the lease, the endpoints and the signals; the scheduler's loop runs in a thread of its own
(`loop_thread`). A scheduler that is busy when it shall stop is not waited for: it is fenced off, and the lease is given
back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry

from kubesched.apps.run.clients import Clients, MakeTransport, choose_connection
from kubesched.apps.run.election import Election
from kubesched.apps.run.loop_thread import Home, LoopThread
from kubesched.apps.run.policy_source import PolicySource
from kubesched.apps.run.scheduler import RunningScheduler
from kubesched.apps.run.serving import EndpointOptions, Endpoints
from kubesched.apps.run.watchdog import Watchdog
from kubesched.client.fence import Fence
from kubesched.client.http_transport import HttpTransport
from kubesched.client.request_metrics import RequestMetrics
from kubesched.clock import Clock, SystemClock
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.config.dump import dump_config
from kubesched.serving.app import Pages
from kubesched.telemetry.component_metrics import register_process_metrics
from kubesched.telemetry.health import PING, HealthCheck
from kubesched.telemetry.instruments import MetricPolicy
from kubesched.telemetry.logging import log
from kubesched.telemetry.metrics import SchedulerMetrics
from kubesched.telemetry.version import KUBERNETES_VERSION, PROGRAM_VERSION

if TYPE_CHECKING:
    from kubesched.apps.page.app import Page
    from kubesched.apps.page.decision_memory import DecisionMemory

# Who asks to stop is obeyed within a second: so long is the scheduler waited for, and so long may the lease take.
HALT_SECONDS: Final = 0.6
RELEASE_SECONDS: Final = 0.3


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
    read_config: Callable[[], KubeSchedulerConfiguration] | None = None
    """Reads `config` again, for a reload; ConfigurationError. None: it did not come from a file."""
    plugin_budget: timedelta = timedelta(milliseconds=5)
    """Time per pod beyond which a plugin of the user's own is named in the log."""
    plugin_failure_limit: int = 0
    """So many failures within a minute take a plugin of the user's own out of the profiles; 0: never."""
    follows_files: bool = False
    """Whether changed files are taken up by themselves, not only when SIGHUP comes."""
    page: bool = False
    """Whether a page of the cluster is served with the other endpoints."""


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
        self,
        settings: RunSettings,
        clock: Clock,
        random: Random,
        *,
        exit_now: Callable[[int], object] = os._exit,
        home: Home | None = None,
        make_transport: MakeTransport = HttpTransport,
        hears_signals: bool = True,
        hostname: str = "",
    ) -> None:
        """`home` is where the scheduler's loop runs: a thread of its own, unless everything is to run on one loop.

        `hostname`, by default the machine's, is the first part of who we are in leases and events.
        """
        self._hears_signals = hears_signals
        self._settings = settings
        self._clock = clock
        self._exit_now = exit_now
        self._registry = CollectorRegistry()
        native = settings.gates.enabled("NativeHistograms")
        self._metrics = metrics = SchedulerMetrics(self._registry, settings.metric_policy, native_histograms=native)
        metrics.record_features(settings.gates)
        register_process_metrics(self._registry)
        self._requests = RequestMetrics(metrics.rest_client)
        self._make_transport = make_transport
        policy = PolicySource(settings.config, settings.read_config, settings.plugin_folder)
        self._config, plugins = policy.load()
        self._fence = Fence(clock)
        hostname = hostname or socket.gethostname()
        self._scheduler = RunningScheduler(
            self._config,
            settings.gates,
            self._connect(random, fence=self._fence if self._elects else None),
            clock,
            random,
            plugins=plugins,
            metrics=metrics,
            hostname=hostname,
            max_unschedulable=settings.max_unschedulable.total_seconds(),
            failed=self._failed_elsewhere,
            policy=policy if settings.read_config is not None else None,
            plugin_budget=settings.plugin_budget.total_seconds(),
            plugin_failure_limit=settings.plugin_failure_limit,
            memory=self._make_memory() if settings.page else None,
        )
        # The loops share no client, no credentials and no source of chance: none is safe between threads.
        own_random = Random(random.getrandbits(64))  # noqa: S311 - for jitter
        self._clients = self._connect(own_random)
        self._election = Election(
            self._config.leader_election,
            self._clients,
            clock,
            own_random,
            gates=settings.gates,
            hostname=hostname,
            scheduler_name=self._config.profiles[0].scheduler_name,
            metrics=metrics.leader_election,
            fence=self._fence,
            on_started_leading=self._start_deciding,
            on_lost=self._lost_lease,
        )
        serving = settings.endpoints.serving.port != 0
        self._endpoints = Endpoints(settings.endpoints, clock, own_random, self._requests) if serving else None
        self._home = home or LoopThread("scheduler", loop_factory())
        self._page = self._make_page() if settings.page and serving else None
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_leading = False
        self._is_stopping = False

    def _connect(self, random: Random, fence: Fence | None = None) -> Clients:
        config = self._config.client_connection
        connection = choose_connection(
            config.kubeconfig, self._clock, master=self._settings.master, observer=self._requests
        )
        return Clients(
            connection, config, self._clock, random, self._requests, fence=fence, make_transport=self._make_transport
        )

    @property
    def _elects(self) -> bool:
        return self._config.leader_election.leader_elect

    async def run(self) -> int:
        """Until somebody asks us to stop, or something fails that we cannot go on without."""
        self._home.start()
        if self._hears_signals:
            self._listen_to_signals()
        if self._home.stack() is not None:
            watchdog = Watchdog(self._home, self._clock, self._plugin_blocked)
            self._start("watching for blocking plugins", watchdog.run())
        try:
            self._start("living", self._live())
            await self._over
        finally:
            await self._wind_down()
        if self._elects:
            log.info("Requested to terminate, exiting")
            return 0
        log.error("command failed", err="finished without leader elect")
        return 1

    async def _live(self) -> None:
        """Get ready, then decide as soon as (and as long as) we are the leader."""
        await self._home.run(self._scheduler.begin())
        log.info("Starting Kubernetes Scheduler", version=KUBERNETES_VERSION, kubesched=PROGRAM_VERSION)
        for missing in self._settings.gates.not_followed():
            log.warning("A feature gate is on that is not wholly followed", gate=missing)
        if self._page is not None:
            self._page.start()
        if self._endpoints is not None:
            self._start("serving", self._endpoints.serve(self._pages()))
        if self._elects:
            self._election.stand()
        if not (self._elects and self._config.delay_cache_until_active):
            await self._home.run(self._scheduler.sync())
        if self._elects:
            await self._election.run()
        else:
            self._start_deciding()

    def _start_deciding(self) -> None:
        self._is_leading = True
        self._home.soon(self._scheduler.start_deciding)
        if self._settings.follows_files:
            self._home.soon(self._scheduler.follow_files)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work, name=name)
        task.add_done_callback(self._task_ended)
        self._tasks[name] = task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """None of the process's own tasks may fail unseen."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _failed_elsewhere(self, error: BaseException) -> None:
        """The scheduler, on its own loop."""
        self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: BaseException) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    # ---- ending ----------------------------------------------------------------------------------------------------

    def _listen_to_signals(self) -> None:
        for asks_to_stop in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(asks_to_stop, self.ask_to_stop)
        self._loop.add_signal_handler(signal.SIGUSR2, self._home.soon, self._scheduler.log_state)
        if self._settings.read_config is not None:
            self._loop.add_signal_handler(signal.SIGHUP, self._home.soon, self._scheduler.ask_to_reload)

    def ask_to_stop(self) -> None:
        """What SIGTERM and SIGINT do; asked again, it ends at once."""
        if self._over.done():
            self._exit_now(1)
        else:
            self._over.set_result(None)

    def _plugin_blocked(self, plugin: str, seconds: float) -> None:
        self._metrics.plugin_blocked.add(seconds, plugin)

    def _lost_lease(self) -> None:
        log.error("Leaderelection lost")
        self._exit_now(1)

    async def _wind_down(self) -> None:
        self._is_stopping = True
        halting = self._loop.create_task(self._home.run(self._scheduler.halt()))
        await asyncio.wait({halting}, timeout=HALT_SECONDS)
        if not halting.done():
            await self._leave_behind()
        await self._home.run(self._scheduler.finish())
        await self._cancel("living")
        await self._cancel("watching for blocking plugins")
        await self._election.stop()
        if self._page is not None:
            self._page.close()
        if self._endpoints is not None:
            self._endpoints.stop()
            if "serving" in self._tasks:
                await asyncio.wait({self._tasks["serving"]})
            await self._endpoints.close()
        await self._home.run(self._scheduler.close())
        await self._clients.close()
        self._home.stop()

    async def _leave_behind(self) -> None:
        """The scheduler is in the middle of a decision that does not end."""
        log.error("Exiting without waiting for the scheduler", err="it is busy with a decision")
        self._fence.close()
        if "living" in self._tasks:
            self._tasks["living"].cancel()
            await asyncio.wait({self._tasks["living"]}, timeout=RELEASE_SECONDS)
        self._exit_now(0 if self._elects else 1)

    async def _cancel(self, name: str) -> None:
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})

    # ---- showing ---------------------------------------------------------------------------------------------------

    def _make_memory(self) -> DecisionMemory:
        from kubesched.apps.page.decision_memory import DecisionMemory  # not at the top: few processes serve a page

        return DecisionMemory(self._clock)

    def _make_page(self) -> Page:
        from kubesched.apps.page.app import Page

        return Page(self._scheduler.page_source(self._home))

    def _pages(self) -> Pages:
        gates = self._settings.gates
        election = HealthCheck("leaderElection", self._election.health_problem)
        electing = [election] if self._elects else []
        shutdown = HealthCheck("shutdown", lambda: "process is shutting down" if self._is_stopping else None)
        synced = HealthCheck("sched-handler-sync", lambda: self._scheduler.sync_problem)
        return Pages(
            registry=self._registry,
            reset_metrics=lambda: self._home.soon(self._metrics.reset),
            config=lambda: dump_config(self._config),
            pods=self._scheduler.pods,
            is_leader=lambda: self._is_leading,
            scheduler=self._home,
            flags=self._settings.flags,
            healthz=electing or [PING],
            livez=[PING],
            readyz=[*electing, shutdown, synced],
            profiling=self._config.enable_profiling,
            flagz=gates.enabled("ComponentFlagz"),
            statusz=gates.enabled("ComponentStatusz"),
            cbor=gates.enabled("CBORServingAndStorage"),
            emulated_version=str(gates.version),
            more_routes=self._page.routes() if self._page is not None else (),
        )
