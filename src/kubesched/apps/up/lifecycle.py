"""`kubesched up`: a cluster in a process beside this one, and the scheduler in this one as its client."""

from __future__ import annotations

import asyncio
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kubesched.apps.page.configuration import configuration_text
from kubesched.apps.page.decision_memory import DecisionMemory
from kubesched.apps.page.policies import RunningPolicy
from kubesched.apps.page.server import PageServer
from kubesched.apps.page.source import PageSource
from kubesched.apps.up.announcement import Announcement
from kubesched.apps.up.cluster import ClusterOptions
from kubesched.apps.up.picture import AttemptCounts, ClusterMonitor, LastEvents
from kubesched.apps.up.process import ClusterProcess
from kubesched.apps.up.scheduler import UpScheduler
from kubesched.client.reflector import Reflector
from kubesched.clock import Clock, SystemClock
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.errors import TransportError
from kubesched.objects import Event
from kubesched.scheduler.build import Assembled


@dataclass(frozen=True, kw_only=True)
class UpSettings:
    cluster: ClusterOptions
    """With the kubeconfig's path filled in: the scheduler finds the cluster by it."""
    config: KubeSchedulerConfiguration
    gates: FeatureGates
    plugin_folder: Path | None = None
    config_file: Path | None = None
    """Where `config` comes from, if not from the defaults."""
    flags: str = ""
    """`--feature-gates` and `--emulated-version` as they were given, for others to see."""
    page_port: int | None = 0
    """Of the page; 0: any free one; None: no page."""
    read_config: Callable[[], KubeSchedulerConfiguration] | None = None
    """Reads `config` again: given, changes of it and of its plugins are taken up."""


@dataclass(frozen=True, kw_only=True)
class Up:
    """A running cluster, for whoever shows it."""

    address: str
    kubeconfig: Path
    monitor: ClusterMonitor
    clock: Clock
    page: str = ""
    """The link to the page, if there is one."""


Show = Callable[[Up], Awaitable[None]]


async def run_up(settings: UpSettings, show: Show) -> None:
    """Start everything, `show` it until a signal comes, and stop everything. KubeschedError if it cannot go on."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _finish, over, None)
    cluster = await ClusterProcess.start(settings.cluster)
    try:
        watching = asyncio.ensure_future(_watch_process(cluster, over))
        try:
            await _schedule(settings, cluster.address, show, over)
        finally:
            watching.cancel()
    finally:
        await cluster.stop()


async def _schedule(settings: UpSettings, address: str, show: Show, over: asyncio.Future[None]) -> None:
    clock, random = SystemClock(), Random(settings.cluster.seed)  # noqa: S311 - decides ties
    attempts, events = AttemptCounts(clock), LastEvents()
    memory = DecisionMemory(clock) if settings.page_port is not None else None
    scheduler = UpScheduler(
        settings.config,
        settings.gates,
        kubeconfig=Path(settings.cluster.kubeconfig),
        plugin_folder=settings.plugin_folder,
        read_config=settings.read_config,
        clock=clock,
        random=random,
        attempts=attempts,
        decisions=memory,
        failed=lambda error: _finish(over, error),
    )
    tasks = []
    page: PageServer | None = None
    try:
        if not await _unless_over(scheduler.start(), over):
            return
        tasks.append(asyncio.ensure_future(_announcement(settings, scheduler, clock).run()))
        tasks.append(asyncio.ensure_future(Reflector(scheduler.clients.main, Event, events, clock, random).run()))
        monitor = ClusterMonitor(scheduler.assembled, attempts, events)
        if settings.page_port is not None:
            source = _page_source(settings, scheduler.assembled, attempts, memory, clock)
            page = PageServer(source, settings.page_port)
            page.start()
        up = Up(
            address=address,
            kubeconfig=Path(settings.cluster.kubeconfig),
            monitor=monitor,
            clock=clock,
            page=page.link if page is not None else "",
        )
        await _unless_over(show(up), over)
    finally:
        if page is not None:
            await page.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await scheduler.stop()


def _announcement(settings: UpSettings, scheduler: UpScheduler, clock: Clock) -> Announcement:
    taken_up: dict[int, str] = {}

    def configuration() -> str:
        """The file as it was when it was last taken up: a version that was refused is not what decides."""
        if scheduler.reloads not in taken_up:
            taken_up[scheduler.reloads] = configuration_text(settings.config_file, settings.gates)
        return taken_up[scheduler.reloads]

    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    return Announcement(
        scheduler.clients.main, clock, identity=identity, flags=settings.flags, configuration=configuration
    )


def _page_source(
    settings: UpSettings, assembled: Assembled, attempts: AttemptCounts, memory: DecisionMemory | None, clock: Clock
) -> PageSource:
    return PageSource(
        title=f"kubesched up{f' --demo {settings.cluster.demo}' if settings.cluster.demo else ''}",
        kind="up",
        assembled=assembled,
        clock=clock,
        policy=RunningPolicy(assembled, settings.gates),
        schedules=True,
        placements=attempts.placements,
        memory=memory,
    )


async def _unless_over(work: Awaitable[None], over: asyncio.Future[None]) -> bool:
    """Wait for `work`, but no longer than until everything is over; whether it ended. What went wrong is raised."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()
        await asyncio.wait({task})
    if over.done():
        over.result()
        return False
    task.result()
    return True


async def _watch_process(cluster: ClusterProcess, over: asyncio.Future[None]) -> None:
    code = await cluster.ended()
    _finish(over, TransportError(f"the embedded cluster ended (exit code {code})"))


def _finish(over: asyncio.Future[None], error: BaseException | None) -> None:
    if over.done():
        return
    if error is None:
        over.set_result(None)
    else:
        over.set_exception(error)
