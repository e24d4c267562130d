"""Runs all controllers in one task."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.workqueue import Key
from kubesched.errors import RequestRefusedError
from kubesched.telemetry.logging import log

SHORTEST_PAUSE: Final = 0.02
LONGEST_PAUSE: Final = 0.25
WRITES_BETWEEN_TURNS: Final = 50
KEYS_BETWEEN_TURNS: Final = 100
"""Some 10 ms of work: then others (requests, kubelets) get the loop."""


class Controller(Protocol):
    def reconcile(self, namespace: str, name: str) -> None:
        """Look at the object (it may be gone) and do what is missing. Idempotent; a refusal is tried again."""
        ...


class ControllerManager:
    def __init__(self, context: ControllerContext, controllers: Mapping[str, Controller]) -> None:
        self._context = context
        self._controllers = controllers

    async def run(self) -> None:
        """Reconcile whatever changes, until cancelled."""
        clock = self._context.clock
        while True:
            started = clock.monotonic()
            await self.round()
            # A pause as long as the work: with many pods, one look at all of them then covers many changes.
            await clock.sleep(min(LONGEST_PAUSE, max(SHORTEST_PAUSE, clock.monotonic() - started)))

    async def round(self) -> int:
        """Reconcile what is due now, and say how many keys that were. What they cause waits for the next round."""
        queue, store = self._context.queue, self._context.api.store
        queue.release_due()
        keys = queue.take_all()
        await store.settled()
        turn_began = store.version
        for number, key in enumerate(keys, start=1):
            self._reconcile(key)
            if store.version - turn_began > WRITES_BETWEEN_TURNS or number % KEYS_BETWEEN_TURNS == 0:
                await asyncio.sleep(0)
                await store.settled()
                turn_began = store.version
        return len(keys)

    def _reconcile(self, key: Key) -> None:
        queue = self._context.queue
        try:
            self._controllers[key.controller].reconcile(key.namespace, key.name)
        except RequestRefusedError as refusal:
            delay = queue.failed(key)
            log.info("Reconciling is tried again", v=2, key=key, delay=delay, err=refusal)
        except Exception as error:  # one bad object must not stop the others
            delay = queue.failed(key)
            log.error("Reconciling failed", error, key=key, delay=delay)
        else:
            queue.succeeded(key)
