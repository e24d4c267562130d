"""What plugins ask for besides what every scheduler watches: informers of other kinds, and facts over HTTP."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

from kubesched.apps.run.informers import AccessCheck, Watches, selections_for_plugins, watched_kinds
from kubesched.client.fact_fetcher import FactFetcher
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.config import FeatureGates
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.framework.listers import EVERYTHING


class PluginFacts:
    """Follows what the plugins of now want."""

    def __init__(
        self,
        rest: RestClient,
        clock: Clock,
        random: Random,
        gates: FeatureGates,
        assembled: Assembled,
        watches: Watches,
    ) -> None:
        self._rest = rest
        self._gates = gates
        self._assembled = assembled
        self._watches = watches
        self._fetcher = FactFetcher(rest, clock, random)
        self._waiting: list[asyncio.Task[None]] = []

    async def follow(self) -> None:
        """Watch and fetch what is wanted and is not followed yet; returns when it is at hand.

        A kind that the server does not have is taken as empty until it has it. ConfigurationError, ClientError.
        """
        selections = selections_for_plugins(self._gates, self._assembled.objects.watched)
        new = [kind for kind in selections if self._watches.selection_of(kind) not in (selections[kind], EVERYTHING)]
        if new:
            check = AccessCheck(self._rest, new, selections)
            served = await check.served_kinds()
            for kind in served:
                await self._watches.drop(kind)
            await self._watches.start(served, {kind: selections[kind] for kind in new})
            missing = [kind for kind in new if kind not in served]
            if missing:
                waiting = self._watches.start_once_served(missing, check)
                self._waiting.append(asyncio.create_task(waiting, name="kinds of plugins that are missing"))
        await self._fetcher.follow(self._assembled.fetches)

    async def drop_others(self) -> None:
        """Follow no longer what only plugins wanted that are gone."""
        wanted = watched_kinds(self._gates, self._assembled.objects.watched)
        for kind in self._watches.kinds.difference(wanted):
            await self._watches.drop(kind)
        await self._fetcher.follow(self._assembled.fetches)

    async def stop(self) -> None:
        for task in self._waiting:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._fetcher.stop()
