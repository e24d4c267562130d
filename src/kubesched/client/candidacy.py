"""Standing for election: with CoordinatedLeaderElection the API server chooses who leads, among those who stand.

A candidate says which version it is, and that it is still there: every few minutes, and whenever the API server asks
before it chooses (`pingTime`). Client-go's LeaseCandidate.
"""

from __future__ import annotations

import asyncio
import random
from typing import Final

from msgspec.structs import replace

from kubesched.client.informer import Informer
from kubesched.client.rest import RestClient
from kubesched.clock import Clock, utc
from kubesched.errors import ClientError
from kubesched.objects import LeaseCandidate, to_builtins
from kubesched.objects.base import MicroTime
from kubesched.objects.coordination import LeaseCandidateSpec
from kubesched.objects.meta import ObjectMeta
from kubesched.telemetry.logging import log

RENEW_SECONDS: Final = 300.0
OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"
# workqueue's default rate limiter
_FIRST_DELAY: Final = 0.005
_LONGEST_DELAY: Final = 1000.0


class Candidacy:
    """One process's LeaseCandidate: made if it is not there, and kept fresh while `run` runs."""

    def __init__(
        self,
        rest: RestClient,
        clock: Clock,
        rng: random.Random,
        *,
        namespace: str,
        name: str,
        lease: str,
        binary_version: str,
        emulation_version: str,
    ) -> None:
        """`name` is the identity with which the process runs for the `lease`."""
        self._rest = rest
        self._clock = clock
        self._rng = rng
        self._metadata = ObjectMeta(name=name, namespace=namespace)
        self._spec = LeaseCandidateSpec(
            lease_name=lease,
            binary_version=binary_version,
            emulation_version=emulation_version,
            strategy=OLDEST_EMULATION_VERSION,
        )
        self._asked = asyncio.Event()
        self._informer: Informer[LeaseCandidate] = Informer(LeaseCandidate)
        self._informer.add_handler(self)

    async def run(self) -> None:
        """Stand until cancelled."""
        namespace, name = self._metadata.namespace, self._metadata.name
        selection = {"namespace": namespace, "field_selector": f"metadata.name={name}"}
        following = asyncio.create_task(self._informer.run(self._rest, self._clock, self._rng, **selection))
        try:
            await self._informer.wait_for_sync()
            await self._keep_standing()
        finally:
            following.cancel()

    async def _keep_standing(self) -> None:
        delay = _FIRST_DELAY
        while True:
            self._asked.clear()
            try:
                await self._stand()
            except ClientError as error:
                log.error("Ensuring lease failed", error, candidate=self._metadata.key)
                await self._clock.sleep(delay)
                delay = min(2 * delay, _LONGEST_DELAY)
            else:
                delay = _FIRST_DELAY
                await self._asked_or_time_is_up()

    async def _stand(self) -> None:
        now = MicroTime.of(utc(self._clock))
        known = self._informer.get(self._metadata.name, self._metadata.namespace)
        if known is None:
            log.info("Creating lease candidate", v=2, candidate=self._metadata.key)
            await self._rest.create(LeaseCandidate(metadata=self._metadata, spec=replace(self._spec, renew_time=now)))
            return
        log.info("Lease candidate exists. Renewing.", v=2, candidate=self._metadata.key)
        renewal = {
            "metadata": {"resourceVersion": known.metadata.resource_version},
            "spec": {"renewTime": to_builtins(now)},
        }
        await self._rest.patch(LeaseCandidate, self._metadata.name, renewal, namespace=self._metadata.namespace)

    async def _asked_or_time_is_up(self) -> None:
        asked = asyncio.create_task(self._asked.wait())
        timer = asyncio.create_task(self._clock.sleep(RENEW_SECONDS))
        try:
            await asyncio.wait({asked, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
            timer.cancel()

    # ---- what the informer delivers ----------------------------------------------------------------------------------

    def on_add(self, value: LeaseCandidate, is_initial: bool) -> None: ...

    def on_update(self, old: LeaseCandidate, new: LeaseCandidate) -> None:
        pinged, renewed = new.spec.ping_time, new.spec.renew_time
        if pinged is not None and (renewed is None or pinged > renewed):
            self._asked.set()

    def on_delete(self, last_known: LeaseCandidate, maybe_stale: bool) -> None: ...
