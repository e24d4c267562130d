"""The scheduler of the process, with its clients, watches and recorders: all that lives on the loop of decisions."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kubesched.apps.run.circuit_breaker import CircuitBreaker
from kubesched.apps.run.clients import Clients
from kubesched.apps.run.dump import log_state
from kubesched.apps.run.extenders import connect_extenders
from kubesched.apps.run.informers import AccessCheck, Watches, selections_for_plugins, watched_kinds
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
from kubesched.apps.run.plugin_budgets import PluginFailures, TimeBudget
from kubesched.apps.run.plugin_facts import PluginFacts
from kubesched.apps.run.policy_source import PolicySource
from kubesched.apps.run.recorders import ProfileRecorders
from kubesched.apps.run.reloading import Reloader
from kubesched.client.pod_writer import PodWriter
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.errors import ClientError
from kubesched.objects import Pod
from kubesched.scheduler.build import Dependencies, build_scheduler, resource_features
from kubesched.scheduler.framework import PluginFactory
from kubesched.scheduler.framework.listers import Selection
from kubesched.telemetry.instruments import steady
from kubesched.telemetry.logging import log
from kubesched.telemetry.metrics import SchedulerMetrics

if TYPE_CHECKING:
    from kubesched.apps.page.decision_memory import DecisionMemory
    from kubesched.apps.page.source import Home, PageSource

BINDING_GRACE: Final = 5.0
EVENT_GRACE: Final = 2.0
FIRST_LOOK_SECONDS: Final = 5.0

# What is there after the first sync mostly stays: the collector need not look at it again, and a full collection is
# to be rare. One over a cluster's objects takes longer than a thousand decisions.
GC_THRESHOLDS: Final = (50_000, 20, 100)


class RunningScheduler:
    """Made anywhere; its methods are for its own loop, but for what says otherwise. `failed` is called if it cannot
    go on.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        gates: FeatureGates,
        clients: Clients,
        clock: Clock,
        random: Random,
        *,
        plugins: Mapping[str, PluginFactory],
        metrics: SchedulerMetrics,
        hostname: str,
        max_unschedulable: float,
        failed: Callable[[BaseException], None],
        policy: PolicySource | None = None,
        plugin_budget: float = 0.0,
        plugin_failure_limit: int = 0,
        memory: DecisionMemory | None = None,
    ) -> None:
        """`policy` is where the configuration came from, if it may change.

        Plugins that take more seconds per pod than `plugin_budget` are named; one that fails `plugin_failure_limit`
        times within a minute is taken out (0: neither). `memory` is for a page.
        """
        self._gates = gates
        self._clients = clients
        self._clock = clock
        self._random = random
        self._failed = failed
        self._recorders = ProfileRecorders(
            clients.events,
            clock,
            random,
            scheduler_names=[profile.scheduler_name for profile in config.profiles],
            hostname=hostname,
        )
        failures = PluginFailures(
            clock,
            metrics.plugin_failures.inc,
            limit=plugin_failure_limit,
            own=self._own_plugins,
            trip=lambda plugin: self._start(f"without {plugin}", CircuitBreaker(self._assembled, clock).open(plugin)),
        )
        self._assembled = build_scheduler(
            config,
            gates,
            Dependencies(
                api=PodWriter(clients.main, clock, random, CallMetrics(metrics)),
                recorder=self._recorders,
                clock=clock,
                random=random,
                extenders=connect_extenders(config, clock),
                plugins=plugins,
                attempt_observer=AttemptMetrics(metrics, clock),
                queue_observer=QueueMetrics(metrics),
                plugin_observer=PluginMetrics(metrics, TimeBudget(clock, plugin_budget, self._own_plugins)),
                plugin_failed=failures.failed,
                preemption_observer=PreemptionMetrics(metrics),
                pod_group_observer=PodGroupMetrics(metrics),
                decision_observer=memory,
                volume_observer=VolumeMetrics(metrics),
                device_observer=DeviceMetrics(metrics),
                max_unschedulable=max_unschedulable,
            ),
        )
        self._memory = memory
        if memory is not None:
            memory.follow(self._assembled.objects)
        show_state(metrics, self._assembled)
        self._watches = Watches(
            clients.main,
            clock,
            random,
            self._assembled.handlers,
            metrics.event_handling_duration,
            resource_features(gates),
        )
        self._facts = PluginFacts(clients.main, clock, random, gates, self._assembled, self._watches)
        self._reloader: Reloader | None = None
        if policy is not None:
            self._reloader = Reloader(self._assembled, policy, self._facts, self._recorders, clock)
        self._served_kinds: list[type] | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}

    # ---- for any thread --------------------------------------------------------------------------------------------

    @property
    def sync_problem(self) -> str | None:
        """Why `/readyz/sched-handler-sync` fails."""
        return self._watches.sync_problem

    def pods(self) -> list[Pod]:
        """All that are known at this moment."""
        return steady(lambda: list(self._assembled.objects.of(Pod)))

    def page_source(self, home: Home) -> PageSource:
        """What a page shows of this scheduler, which runs at `home`."""
        from kubesched.apps.page.history import placements_seen  # not at the top: few processes serve one
        from kubesched.apps.page.policies import RunningPolicy
        from kubesched.apps.page.source import PageSource

        return PageSource(
            title="kubesched run",
            kind="run",
            assembled=self._assembled,
            clock=self._clock,
            policy=RunningPolicy(self._assembled, self._gates),
            schedules=True,
            placements=placements_seen(self._assembled, self._clock),
            memory=self._memory,
            home=home,
        )

    # ---- for its own loop ------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Fail early where waiting would not help; a server that is away may come back."""
        check = self._access_check(self._clients.client(time_limit=FIRST_LOOK_SECONDS))
        try:
            self._served_kinds = await check.served_kinds()
        except ClientError as error:
            log.error("Waiting for the API server", error)
        self._recorders.start()

    async def sync(self) -> None:
        """Return when all that is there is known."""
        wanted, check = self._wanted_kinds(), self._access_check(self._clients.main)
        kinds = self._served_kinds
        if kinds is None:
            kinds = await check.served_kinds_when_up(self._clock, self._random)
        gc.disable()  # nothing of a first list is garbage
        try:
            await self._watches.start(kinds, self._selections())
        finally:
            gc.freeze()
            gc.set_threshold(*GC_THRESHOLDS)
            gc.enable()
        await self._facts.follow()
        log.info("Handlers synced", v=3)
        missing = [kind for kind in wanted if kind not in kinds]
        self._start("missing kinds", self._watches.start_once_served(missing, check))

    def start_deciding(self) -> None:
        self._start("deciding", self._decide())

    def ask_to_reload(self) -> None:
        """What SIGHUP does: look whether the configuration or its plugins have changed."""
        if self._reloader is not None and self._watches.has_synced:
            self._start("reloading", self._reloader.reload_when_asked())

    def follow_files(self) -> None:
        """Reload whenever a file has changed."""
        if self._reloader is not None:
            self._start("following files", self._reloader.follow_files())

    async def halt(self) -> None:
        """No more decisions."""
        await self._cancel("reloading")
        await self._cancel("following files")
        await self._cancel("deciding")
        await self._cancel("flushing")

    async def finish(self) -> None:
        """Bindings under way have their time to end, and events to be written."""
        await self._assembled.scheduler.tasks.stop(BINDING_GRACE)
        await self._recorders.stop(grace=EVENT_GRACE)

    async def close(self) -> None:
        for name in list(self._tasks):
            await self._cancel(name)
        await self._watches.stop()
        await self._facts.stop()
        await self._clients.close()

    def log_state(self) -> None:
        """What SIGUSR2 does."""
        log_state(self._assembled)

    def _own_plugins(self) -> Collection[str]:
        """The plugins that are not kube-scheduler's."""
        return self._assembled.policy.plugins.keys()

    def _wanted_kinds(self) -> tuple[type, ...]:
        return watched_kinds(self._gates, self._assembled.objects.watched)

    def _selections(self) -> dict[type, Selection]:
        return selections_for_plugins(self._gates, self._assembled.objects.watched)

    def _access_check(self, rest: RestClient) -> AccessCheck:
        return AccessCheck(rest, self._wanted_kinds(), self._selections())

    async def _decide(self) -> None:
        if not self._watches.has_synced:
            await self.sync()
        self._start("flushing", self._assembled.queue.run())
        if self._assembled.cache.expires:
            self._start("expiry", self._assembled.scheduler.expire_assumed())
        await self._assembled.scheduler.run()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._task_ended)
        self._tasks[name] = task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """None of these tasks may fail unseen."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    async def _cancel(self, name: str) -> None:
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
