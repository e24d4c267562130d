"""One world from one seed: an API server, scheduler replicas and users, for some minutes of virtual time.

    build ──► trouble (users act, things break) ──► heal (nothing breaks any more) ──► settle ──► look at everything

The same seed is the same world, callback by callback: `Outcome.digest` is a hash of all that happened in it.
"""

from __future__ import annotations

import asyncio
import gc
import shutil
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
from tests.world.api_server import ApiServerProcess, Disk
from tests.world.end_state import EndState, fitting
from tests.world.faults import Faults
from tests.world.history import CapturedLogs, History
from tests.world.invariants import Invariants
from tests.world.loop import EndedError, ProcessClock, StalledError, VirtualLoop, current_process, run
from tests.world.network import Network
from tests.world.plan import Plan
from tests.world.replica import Replica
from tests.world.trouble import Trouble
from tests.world.users import Users

from kubesched.apps.run.lifecycle import RunSettings
from kubesched.apps.run.serving import EndpointOptions
from kubesched.config import FeatureGates, default_config
from kubesched.config.model import ClientConnectionConfiguration
from kubesched.serving.server import ServingOptions
from kubesched.telemetry.logging import log

MEMORY: Final = Path("/dev/shm")
"""A disk that costs no time, where there is one."""
SETTLE_SECONDS: Final = 400.0
"""How long it may take at most: leases end, backoffs and watches run out, what fits nowhere is tried again."""
SHORTEST_SETTLE: Final = 20.0
LOOK_SECONDS: Final = 10.0
_GATES: Final = FeatureGates()
_SETTINGS: Final = RunSettings(
    config=msgspec.structs.replace(
        default_config(_GATES), client_connection=ClientConnectionConfiguration(qps=500.0, burst=1000)
    ),
    gates=_GATES,
    master="http://world",
    endpoints=EndpointOptions(serving=ServingOptions(port=0)),
    max_unschedulable=timedelta(seconds=60),
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a seed."""

    seed: int
    digest: str
    seconds: float
    """Of virtual time."""
    violations: list[str]
    lines: list[str]
    bound: int


def run_world(
    seed: int, *, keeps_lines: bool = False, plan: Plan | None = None, until_violated: bool = False
) -> Outcome:
    """Play the world of that seed to its end, or until something happens that must not."""
    thresholds = gc.get_threshold()
    loop = VirtualLoop()
    folder = Path(tempfile.mkdtemp(prefix="kubesched-world-", dir=MEMORY if MEMORY.is_dir() else None))
    history = History(loop.time, keeps=keeps_lines)
    if until_violated:
        history.on_violation = partial(setattr, loop, "ends_now", True)
    world = World(loop, plan or Plan.of(seed), folder, history)
    try:
        with CapturedLogs(history, log, _who):
            try:
                run(loop, world.play())
            except EndedError:
                pass
            except StalledError as error:
                history.violated(str(error))
            except Exception as error:
                history.violated("".join(traceback.format_exception(error)))
        for failure in loop.failures:
            history.violated(failure)
        if not history.violations:
            for pod in fitting(world.objects):
                history.violated(f"{pod}, and it still waits")
        return Outcome(
            seed=seed,
            digest=history.digest,
            seconds=loop.time(),
            violations=list(history.violations),
            lines=list(history.lines),
            bound=world.invariants.bindings,
        )
    finally:
        with CapturedLogs(History(loop.time, keeps=False), log, _who), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a process was about to await when it ended
            loop.abandon()
        shutil.rmtree(folder)
        gc.unfreeze()  # what a scheduler has set up for a process of its own
        gc.set_threshold(*thresholds)


def _who() -> str:
    process = current_process()
    return process.name if process is not None else "world"


class World:
    def __init__(self, loop: VirtualLoop, plan: Plan, folder: Path, history: History) -> None:
        self._loop = loop
        self._plan = plan
        self.history = history
        chance = Random(plan.seed)
        self._server_random = Random(chance.getrandbits(64))
        self.disk = Disk(folder, Random(chance.getrandbits(64)), history)
        self.disk.path.mkdir()
        self.disk.crash = self.crash_server
        faults = Faults(Random(chance.getrandbits(64)), plan.message_faults, plan.share, slowest=plan.slowest)
        self.invariants = Invariants(self, history)
        self.network = Network(loop, Random(chance.getrandbits(64)), faults, history, self.invariants)
        self._users = Users(Random(chance.getrandbits(64)), history, plan.nodes, plan.most_pods)
        self._trouble = Trouble(self, plan, Random(chance.getrandbits(64)))
        self.random = Random(chance.getrandbits(64))
        self.replicas = [
            Replica(
                f"replica-{number}",
                _SETTINGS,
                self.network,
                Random(chance.getrandbits(64)),
                ProcessClock(loop, rate=clock.rate, ahead=clock.ahead, booted=clock.booted),
            )
            for number, clock in enumerate(plan.clocks)
        ]
        self.server: ApiServerProcess | None = None
        self._server_lives = 0
        self.objects: list[Any] = []
        """All nodes and pods in the end."""

    async def play(self) -> None:
        self.history.add("world", f"{self._plan}")
        self.start_server()
        assert self.server is not None
        self.server.process.run(self._users.begin, self.server.api)
        for replica in self.replicas:
            self._loop.outside(self.random.uniform(0.0, 3.0), replica.start)
        looking = self._loop.create_task(self._keep_looking())
        troubling = self._loop.create_task(self._trouble.run())
        await self._let_users_act()
        troubling.cancel()
        await self._heal()
        await self._settle()
        looking.cancel()

    async def _settle(self) -> None:
        """Wait until everything is as it should be in the end, and not for ever."""
        ends, problems = self._loop.time() + SETTLE_SECONDS, ["nobody looked"]
        await asyncio.sleep(SHORTEST_SETTLE)
        while problems and self._loop.time() < ends:
            await asyncio.sleep(LOOK_SECONDS)
            if self.server is None:  # it found out late that its disk had been full, and is about to start again
                continue
            state = EndState(self)
            problems, self.objects = state.problems(), state.objects()
        for problem in problems:
            self.history.violated(problem)

    async def _let_users_act(self) -> None:
        while self._loop.time() < self._plan.seconds:
            await asyncio.sleep(self.random.expovariate(1.0 / self._plan.pause))
            if self.server is not None and not self.server.store.failed:
                self.server.process.run(self._users.act, self.server.api)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.invariants.check()

    async def _heal(self) -> None:
        self.history.add("world", "heals")
        self._trouble.end()
        self.network.heal()
        while self.server is None or self.server.store.failed:  # noqa: ASYNC110 - virtual time costs nothing
            await asyncio.sleep(1.0)
        self.server.process.run(self._users.end, self.server.api)

    # ---- the server's lives ----

    def start_server(self) -> None:
        """Start the server on what the disk has."""
        self._server_lives += 1
        self.disk.is_full = False
        random = Random(self._server_random.getrandbits(64))
        name = f"server.{self._server_lives}"
        self.server = ApiServerProcess(self._loop, name, self.disk, random, self.history, self._plan.changes_kept)
        self.history.add(name, "starts")
        self.server.start(self.invariants.disk_loaded)
        self.network.server = self.server
        self.invariants.server_started(self.server)

    def crash_server(self) -> None:
        """The process is gone with all that it had not written; somebody starts it again a little later."""
        server, self.server = self.server, None
        if server is None:
            return
        self.history.add(server.process.name, "dies")
        self.invariants.server_dies(server)
        self.network.server = None
        server.process.kill()
        server.journal.close()
        self._loop.outside(self.random.uniform(0.1, 8.0), self.start_server)
