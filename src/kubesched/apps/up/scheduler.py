"""The scheduler of the embedded cluster: a client over HTTP, put together from the parts of `kubesched run`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from kubesched.apps.page.decision_memory import DecisionMemory
from kubesched.apps.run.clients import Clients, choose_connection
from kubesched.apps.run.extenders import connect_extenders
from kubesched.apps.run.informers import Watches, watched_kinds
from kubesched.apps.run.plugin_facts import PluginFacts
from kubesched.apps.run.policy_source import PolicySource
from kubesched.apps.run.recorders import ProfileRecorders
from kubesched.apps.run.reloading import Reloader
from kubesched.client.pod_writer import PodWriter
from kubesched.client.request_metrics import RequestMetrics
from kubesched.clock import Clock
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.scheduler.scheduling.observer import AttemptObserver
from kubesched.telemetry.metrics import SchedulerMetrics

UNLIMITED: Final = -1.0
MOST_REQUESTS: Final = 80  # of which some twenty are watches: the embedded API server speaks HTTP/1.1
BINDING_GRACE: Final = 2.0
EVENT_GRACE: Final = 1.0


class UpScheduler:
    """`start` returns when it knows the cluster and decides; `failed` is called if it cannot go on."""

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        gates: FeatureGates,
        *,
        kubeconfig: Path,
        plugin_folder: Path | None,
        read_config: Callable[[], KubeSchedulerConfiguration] | None = None,
        clock: Clock,
        random: Random,
        attempts: AttemptObserver,
        decisions: DecisionMemory | None = None,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._gates = gates
        self._failed = failed
        metrics = SchedulerMetrics(CollectorRegistry())
        requests = RequestMetrics(metrics.rest_client)
        policy = PolicySource(config, read_config, plugin_folder)
        config, plugins = policy.load()
        connection = choose_connection(str(kubeconfig), clock, observer=requests)
        connection = replace(connection, most_requests=MOST_REQUESTS)
        # Its own API server next door needs no protection from us.
        client = replace(config.client_connection, qps=UNLIMITED)
        self.clients = Clients(connection, client, clock, random, requests)
        names = [profile.scheduler_name for profile in config.profiles]
        self._recorders = ProfileRecorders(
            self.clients.events, clock, random, scheduler_names=names, hostname=socket.gethostname()
        )
        self.assembled = build_scheduler(
            config,
            gates,
            Dependencies(
                api=PodWriter(self.clients.main, clock, random),
                recorder=self._recorders,
                clock=clock,
                random=random,
                extenders=connect_extenders(config, clock),
                plugins=plugins,
                attempt_observer=attempts,
                decision_observer=decisions,
            ),
        )
        if decisions is not None:
            decisions.follow(self.assembled.objects)
        self._watches = Watches(
            self.clients.main, clock, random, self.assembled.handlers, metrics.event_handling_duration
        )
        self._facts = PluginFacts(self.clients.main, clock, random, gates, self.assembled, self._watches)
        self._reloader: Reloader | None = None
        if read_config is not None:
            self._reloader = Reloader(self.assembled, policy, self._facts, self._recorders, clock)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def reloads(self) -> int:
        """How many changes of the configuration and its plugins were taken up."""
        return self._reloader.count if self._reloader is not None else 0

    async def start(self) -> None:
        self._recorders.start()
        await self._watches.start(watched_kinds(self._gates))
        await self._facts.follow()
        self._start(self.assembled.queue.run())
        self._start(self.assembled.scheduler.run())
        if self._reloader is not None:
            self._start(self._reloader.follow_files())

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.assembled.scheduler.tasks.stop(BINDING_GRACE)
        await self._recorders.stop(grace=EVENT_GRACE)
        await self._watches.stop()
        await self._facts.stop()
        await self.clients.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
