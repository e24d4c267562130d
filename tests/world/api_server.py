"""The API server of a world with its controllers, kubelets and disk: the embedded cluster's own code, as one process.

Its disk outlives it. It may be full for a while, and a crash may tear the write that is under way: what is on it then
is what a real SQLite database finds after a power failure.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Final

from tests.world.history import History
from tests.world.loop import Process, ProcessClock, VirtualLoop
from tests.world.network import Message

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.http.app import ApiServerApp
from kubesched.cluster.apiserver.storage import SqliteJournal, Store
from kubesched.cluster.apiserver.storage.journal import Row
from kubesched.cluster.apiserver.verbs.expiry import EventExpiry
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.manager import ControllerManager
from kubesched.cluster.controllers.table import make_controllers
from kubesched.cluster.informer import Informer
from kubesched.cluster.kubelet.kubelets import SimulatedKubelets
from kubesched.cluster.kubelet.timings import Timings
from kubesched.cluster.records import NodeRecord, PodRecord

CONTROLLER_PAUSE: Final = 0.25
DATABASE: Final = "objects.sqlite3"


class Disk:
    """The folder that a server finds again after a crash."""

    def __init__(self, folder: Path, random: Random, history: History) -> None:
        self._folder = folder
        self._random = random
        self._history = history
        self._generation = 0
        self.is_full = False
        self.tears_next = False
        self.crash: Callable[[], None] = lambda: None

    @property
    def path(self) -> Path:
        return self._folder / str(self._generation)

    def after_crash(self, *, write_ahead_log: bytes | None = None) -> None:
        """Keep what is on disk now: the old process may still have its files open."""
        old, self._generation = self.path, self._generation + 1
        self.path.mkdir()
        for name in (DATABASE, f"{DATABASE}-wal"):
            if (old / name).exists():
                shutil.copyfile(old / name, self.path / name)
        if write_ahead_log is not None:
            (self.path / f"{DATABASE}-wal").write_bytes(write_ahead_log)

    def latency(self) -> float:
        return self._random.expovariate(1000.0)


class FaultyJournal:
    """The real journal on a disk that fails."""

    def __init__(self, disk: Disk, history: History) -> None:
        self._disk = disk
        self._history = history
        self._journal = SqliteJournal(disk.path)
        self._is_lost = False

    def load(self) -> tuple[int, Iterable[Row]]:
        return self._journal.load()

    async def commit(self, rows: Sequence[Row]) -> None:
        disk = self._disk
        await asyncio.sleep(disk.latency())
        if disk.is_full:
            database = self._journal._database
            [pages] = database.execute("PRAGMA page_count").fetchone()
            database.execute(f"PRAGMA max_page_count={pages}")
        if disk.tears_next:
            await self._tear(rows)
        await self._journal.commit(rows)
        await asyncio.sleep(disk.latency())

    def close(self) -> None:
        self._journal.close()

    async def _tear(self, rows: Sequence[Row]) -> None:
        """The power fails while these rows are written: a part of them is on disk."""
        disk = self._disk
        disk.tears_next = False
        log = disk.path / f"{DATABASE}-wal"
        before = log.read_bytes() if log.exists() else b""
        await self._journal.commit(rows)
        after = log.read_bytes()
        kept = disk._random.randrange(len(after) + 1)
        disk.after_crash(write_ahead_log=after[:kept] + before[kept:])
        self._history.add("disk", f"torn after {kept} of {len(after)} bytes")
        disk.crash()
        await asyncio.get_running_loop().create_future()


class ApiServerProcess:
    """One life of the API server. Made by `start`, ended by `crash`."""

    def __init__(
        self, loop: VirtualLoop, name: str, disk: Disk, random: Random, history: History, changes: int
    ) -> None:
        """`changes`: how many a watch may be late before it has to list again."""
        self.process = Process(loop, name)
        self.clock = ProcessClock(loop)
        self._disk = disk
        self._random = random
        self._history = history
        self._changes = changes
        self._app: Callable[..., Awaitable[None]] | None = None

    def start(self, on_loaded: Callable[[int, Iterable[Row]], None]) -> None:
        """`on_loaded` is given what the disk has."""
        self.process.run(self._start, on_loaded)

    def _start(self, on_loaded: Callable[[int, Iterable[Row]], None]) -> None:
        disk, clock, random = self._disk, self.clock, self._random
        self.journal = FaultyJournal(disk, self._history)
        on_loaded(*self.journal.load())
        self.store = Store(journal=self.journal, history=self._changes)
        self.api = api = Api(store=self.store, clock=clock, rng=random)
        bootstrap(api)
        self._app = ApiServerApp(api, token="", address="world", rng=random)
        pods, nodes = Informer(api, "pods", PodRecord), Informer(api, "nodes", NodeRecord)
        kubelets = SimulatedKubelets(api, pods, nodes, random, Timings())
        context = ControllerContext(api, pods, nodes)
        manager = ControllerManager(context, make_controllers(context))
        expiry = EventExpiry(self.store, clock, api.catalog.named("events"))
        for work in (kubelets.run(), self._control(manager), expiry.run()):
            self.process.start(self._guarded(work))

    async def _control(self, manager: ControllerManager) -> None:
        while True:
            await manager.round()
            await asyncio.sleep(CONTROLLER_PAUSE)

    async def _guarded(self, work: Awaitable[None]) -> None:
        """A part that fails ends the whole, as in `kubesched up`; that a disk is full is no bug."""
        try:
            await work
        except OSError as error:
            self._history.add(self.process.name, f"cannot go on: {error}")
            self._disk.crash()
        except Exception as error:
            self._history.violated(f"a part of the embedded cluster crashed: {error!r}")

    async def app(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        assert self._app is not None
        await self._app(scope, receive, send)
