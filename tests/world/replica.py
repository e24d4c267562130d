"""A machine that runs a scheduler replica: `kubesched run`'s own code as one process, started again when it ends."""

from __future__ import annotations

from random import Random
from typing import Final

from tests.world.loop import Process, ProcessClock
from tests.world.network import Network, WorldTransport

from kubesched.apps.run.lifecycle import RunSettings, SchedulerProcess
from kubesched.apps.run.loop_thread import SameLoop
from kubesched.client.connection import Connection
from kubesched.scheduler.build import Assembled

SHORTEST_RESTART: Final = 0.5
LONGEST_RESTART: Final = 10.0


class Replica:
    """`name` is the machine's; each life of the process on it is numbered."""

    def __init__(self, name: str, settings: RunSettings, network: Network, random: Random, clock: ProcessClock) -> None:
        self.name = name
        self._settings = settings
        self._network = network
        self._random = random
        self._clock = clock
        self._lives = 0
        self._may_restart = True
        self.process: Process | None = None
        self.scheduler: SchedulerProcess | None = None

    def start(self) -> None:
        self._lives += 1
        process = self.process = Process(self._network.loop, f"{self.name}.{self._lives}")
        process.on_end[self._ended] = None
        process.start(self._live(process))

    def end_for_good(self) -> None:
        self._may_restart = False
        if self.process is not None:
            self.process.kill()

    @property
    def assembled(self) -> Assembled | None:
        return self.scheduler._scheduler._assembled if self.scheduler is not None else None

    @property
    def identity(self) -> str:
        return self.scheduler._election._lock.identity if self.scheduler is not None else ""

    async def _live(self, process: Process) -> None:
        roles = iter(("scheduler", "election"))

        def make_transport(_: Connection) -> WorldTransport:
            return WorldTransport(self._network, process, next(roles))

        history = self._network.history
        history.add(process.name, "starts")
        try:
            self.scheduler = SchedulerProcess(
                self._settings,
                self._clock,
                Random(self._random.getrandbits(64)),
                exit_now=lambda code: self._exit(process, code),
                home=SameLoop(),
                make_transport=make_transport,
                hears_signals=False,
                hostname=self.name,
            )
            self._network.watcher.scheduler_made(process.name, self.scheduler._scheduler._assembled)
            code = await self.scheduler.run()
        except Exception as error:
            history.violated(f"{process.name} failed: {error!r}")
            code = 1
        self._exit(process, code)

    def _exit(self, process: Process, code: int) -> None:
        self._network.history.add(process.name, f"exits with {code}")
        process.kill()

    def _ended(self) -> None:
        self.scheduler = None
        self.process = None
        if self._may_restart:
            self._network.loop.outside(self._random.uniform(SHORTEST_RESTART, LONGEST_RESTART), self._restart)

    def _restart(self) -> None:
        if self._may_restart and self.process is None:
            self.start()
