"""What happens to processes, disks and connections besides single messages, from the seed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.world.plan import Plan
from tests.world.replica import Replica

if TYPE_CHECKING:
    from tests.world.world import World


class Trouble:
    def __init__(self, world: World, plan: Plan, random: Random) -> None:
        self._world = world
        self._plan = plan
        self._random = random
        self._is_over = False
        self._kinds: dict[str, Callable[[], str | None]] = {
            "server crashes": self._crash_server,
            "journal tears": self._tear,
            "disk fills": self._fill_disk,
            "replica killed": self._kill,
            "replica stopped": self._stop,
            "replica paused": self._pause,
            "replica partitioned": self._partition,
            "watch cut": self._cut,
            "watch silent": self._silence,
            "watch expired": self._expire,
        }

    async def run(self) -> None:
        while self._plan.troubles:
            await asyncio.sleep(self._random.expovariate(1.0 / self._plan.trouble_pause))
            kind = self._random.choice(self._plan.troubles)
            if (what := self._kinds[kind]()) is not None:
                self._world.history.add("trouble", what)

    def end(self) -> None:
        """Whatever was done to processes is undone; what is dead comes back by itself."""
        self._is_over = True
        self._world.disk.is_full = self._world.disk.tears_next = False
        for replica in self._world.replicas:
            if replica.process is not None and replica.process.is_paused:
                replica.process.resume()

    # ---- the server ----

    def _crash_server(self) -> str | None:
        if self._world.server is None:
            return None
        self._world.disk.after_crash()
        self._world.crash_server()
        return "the server crashes"

    def _tear(self) -> str | None:
        self._world.disk.tears_next = True
        return "the next write to the disk tears"

    def _fill_disk(self) -> str | None:
        self._world.disk.is_full = True
        return "the disk is full"

    # ---- replicas ----

    def _kill(self) -> str | None:
        if (replica := self._any_replica()) is None or replica.process is None:
            return None
        name = replica.process.name
        replica.process.kill()
        return f"{name} is killed"

    def _stop(self) -> str | None:
        if (replica := self._any_replica()) is None or replica.process is None or replica.scheduler is None:
            return None
        name = replica.process.name
        replica.process.run(replica.scheduler.ask_to_stop)
        return f"{name} is asked to stop"

    def _pause(self) -> str | None:
        if (replica := self._any_replica()) is None or replica.process is None or replica.process.is_paused:
            return None
        process, seconds = replica.process, self._random.choice((1.0, 8.0, 12.0, 16.0, 22.0)) * self._random.random()
        process.pause()
        self._later(seconds, lambda: process.resume() if process.is_alive else None)
        return f"{process.name} is stopped for {seconds:.3f} s"

    def _partition(self) -> str | None:
        if (replica := self._any_replica()) is None or replica.process is None:
            return None
        name, seconds = replica.process.name, self._random.uniform(0.5, 30.0)
        network = self._world.network
        network.cut_off[name] = None
        self._later(seconds, lambda: network.reconnect(name))
        return f"{name} is cut off for {seconds:.3f} s"

    # ---- watches ----

    def _cut(self) -> str | None:
        if (stream := self._world.network.random_stream()) is not None:
            stream.cut()
        return None

    def _silence(self) -> str | None:
        if (stream := self._world.network.random_stream()) is not None:
            stream.silence()
            self._later(self._random.uniform(0.5, 40.0), stream.unsilence)
        return None

    def _expire(self) -> str | None:
        if (stream := self._world.network.random_stream()) is not None:
            stream.expire()
        return None

    def _any_replica(self) -> Replica | None:
        alive = [replica for replica in self._world.replicas if replica.process is not None]
        return self._random.choice(alive) if alive else None

    def _later(self, seconds: float, undo: Callable[[], object]) -> None:
        self._world.network.loop.outside(seconds, undo)
