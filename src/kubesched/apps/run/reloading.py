"""Taking up a changed configuration, or changed plugins, without a restart.

a file changed, or SIGHUP ► read and import ► build beside the running one ► watch what it wants ► swap between
                                 └───────────── refused: one line, and the old one goes on        two decisions
"""

from __future__ import annotations

import asyncio
from typing import Final

from kubesched.apps.run.extenders import connect_extenders
from kubesched.apps.run.plugin_facts import PluginFacts
from kubesched.apps.run.policy_source import LoadedPolicy, PolicySource
from kubesched.apps.run.recorders import ProfileRecorders
from kubesched.clock import Clock
from kubesched.errors import ConfigurationError, KubeschedError
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.reload import Prepared, adopt, prepare
from kubesched.telemetry.logging import log

LOOK_SECONDS: Final = 0.3
"""How often files are looked at."""


class Reloader:
    """Reloads the policy of a running scheduler, one at a time."""

    def __init__(
        self,
        assembled: Assembled,
        source: PolicySource,
        facts: PluginFacts,
        recorders: ProfileRecorders,
        clock: Clock,
    ) -> None:
        self._assembled = assembled
        self._source = source
        self._facts = facts
        self._recorders = recorders
        self._clock = clock
        self._running = assembled.policy.config
        self._one_at_a_time = asyncio.Lock()
        self._problem = ""
        self.count = 0
        """How many were taken up."""

    async def reload_when_asked(self) -> None:
        """What SIGHUP does: as `reload`, and say so if nothing has changed."""
        self._problem = ""
        before = self.count
        if not await self.reload() and self.count == before and not self._problem:
            log.info("Nothing to reload: neither the configuration nor its plugins have changed")

    async def reload(self) -> bool:
        """Take up what has changed; whether there was anything. A broken version is refused with one line."""
        async with self._one_at_a_time:
            try:
                # In a thread: decisions go on while modules are imported.
                loaded = await asyncio.to_thread(self._source.load_again)
                if loaded is None:
                    return False
                await self._take_up(loaded)
            except KubeschedError as error:
                self._refuse("; ".join(error.problems) if isinstance(error, ConfigurationError) else str(error))
                return False
            self.count += 1
            self._problem = ""
            log.info("Reloaded the configuration and its plugins", profiles=", ".join(self._assembled.profiles))
            return True

    def _refuse(self, problem: str) -> None:
        if problem != self._problem:  # not again with every look at a file that stays broken
            log.error("Not reloaded, the running configuration stays", problem)
        self._problem = problem

    async def follow_files(self) -> None:
        """Reload whenever something has changed, until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if await asyncio.to_thread(self._source.has_settled):
                await self.reload()

    async def _take_up(self, loaded: LoadedPolicy) -> None:
        config = loaded.config
        if ignored := self._source.beyond_reload(config, self._running):
            log.warning("These fields of the configuration need a restart", fields=", ".join(ignored))
        prepared = prepare(self._assembled, config, loaded.plugins, connect_extenders(config, self._clock))
        await self._facts.follow()
        await self._between_decisions(prepared)
        self._recorders.serve(self._assembled.profiles)
        await self._facts.drop_others()

    async def _between_decisions(self, prepared: Prepared) -> None:
        adopted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def swap() -> None:
            if adopted.done():  # nobody waits for it any more: the scheduler is stopping
                return
            try:
                adopt(self._assembled, prepared)
            except Exception as error:
                adopted.set_exception(error)
            else:
                adopted.set_result(None)

        self._assembled.scheduler.between_decisions(swap)
        await adopted
