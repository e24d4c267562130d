"""One of several replicas leads: client-go's leader election on a Lease.

    standby ──(lease free or expired)──► leading ──(not renewed within the renew deadline)──► lost: run() returns
       ▲  │ every retry period                │ every retry period
       └──┘                                   ├─(another holder is read)──► lost
                                              └─(cancelled)──► lease released

Whether a lease has expired is judged by our own monotonic clock, from the moment when we saw it change; the times
written in the Lease are for people. Whoever loses the lease must end at once: another replica acts from then on. So
must a leader that reads another holder's name in it. (Client-go would try until its renew deadline.) A `Fence` keeps
back what a leader writes that does not know yet: it is open for a renew deadline from when a renewal was sent.

A coordinated election is the API server's: it writes the holder into the Lease, which the holder then renews until the
server names somebody else for the next term (CoordinatedLeaderElection).
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec

from kubesched.client.backoff import jittered
from kubesched.client.fence import Fence
from kubesched.client.lease_lock import LeaderRecord, LeaseLock
from kubesched.clock import Clock, utc
from kubesched.errors import ApiStatusError, ConfigurationError, KubeschedError
from kubesched.objects.base import MicroTime
from kubesched.telemetry.logging import log

JITTER: Final = 1.2
HEALTH_GRACE: Final = 20.0
"""How long after its expiry an unrenewed lease is still called healthy (kube-scheduler's watchdog)."""


class ElectionTiming(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. A leader gives up after `renew_deadline`, before others may take over after `lease_duration`."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def check(self) -> None:
        """ConfigurationError where two replicas could lead at once (NewLeaderElector)."""
        problems = []
        if self.lease_duration <= self.renew_deadline:
            problems.append("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= JITTER * self.retry_period:
            problems.append("renewDeadline must be greater than retryPeriod*JitterFactor")
        if min(self.lease_duration, self.renew_deadline, self.retry_period) <= 0:
            problems.append("leaseDuration, renewDeadline and retryPeriod must be greater than zero")
        if problems:
            raise ConfigurationError(problems)


def default_identity(hostname: str, rng: random.Random) -> str:
    """`hostname_uuid`: two processes on one machine must not look alike."""
    return f"{hostname}_{uuid.UUID(int=rng.getrandbits(128), version=4)}"


class _DeposedError(KubeschedError):
    """We led, and the lease names somebody else."""


class LeaderElector:
    """Runs for leader. Callbacks are plain functions that return soon:

    `on_started_leading()` once, when we lead; `on_stopped_leading()` always at the end, even without having led;
    `on_lost()` when the lease could not be renewed: at once, before the attempt to release it, since from then on
    somebody else may lead; `on_new_leader(identity)` for every leader seen, ourselves included; `on_slow_renewal()`
    when our own lease had to be read before it could be renewed; `on_event(message)` for the Lease's events.
    """

    def __init__(
        self,
        lock: LeaseLock,
        timing: ElectionTiming,
        clock: Clock,
        rng: random.Random,
        *,
        coordinated: bool = False,
        fence: Fence | None = None,
        on_started_leading: Callable[[], None],
        on_stopped_leading: Callable[[], None],
        on_lost: Callable[[], None] | None = None,
        on_new_leader: Callable[[str], None] | None = None,
        on_slow_renewal: Callable[[], None] | None = None,
        on_event: Callable[[str], None] | None = None,
    ) -> None:
        timing.check()
        self._lock = lock
        self._timing = timing
        self._clock = clock
        self._rng = rng
        self._coordinated = coordinated
        self._fence = fence or Fence(clock)
        self._leads = False
        self._on_started_leading = on_started_leading
        self._on_stopped_leading = on_stopped_leading
        self._on_lost = on_lost
        self._on_new_leader = on_new_leader
        self._on_slow_renewal = on_slow_renewal
        self._on_event = on_event
        self._observed = LeaderRecord()
        self._observed_at = clock.monotonic()
        self._last_read: LeaderRecord | None = None
        self._reported_leader = ""

    @property
    def is_leader(self) -> bool:
        return self._observed.holder == self._lock.identity

    def health_problem(self, grace: float = HEALTH_GRACE) -> str | None:
        """Why `/healthz/leaderElection` fails: we hold a lease that we should have renewed or left long ago."""
        overdue = self._clock.monotonic() - self._observed_at - self._timing.lease_duration
        if self.is_leader and overdue > grace:
            return f"failed election to renew leadership on lease {self._lock}"
        return None

    async def run(self) -> None:
        """Wait for the lease, then keep it. Returns when it is lost; when cancelled, releases it first."""
        try:
            await self._acquire()
            self._leads = True
            self._on_started_leading()
            try:
                await self._keep_renewing()
                self._fence.close()
                if self._on_lost is not None:
                    self._on_lost()
            finally:
                self._fence.close()
                self._report("stopped leading")
                # Also after a lost lease, as upstream: if it still is ours, nobody has to wait for its expiry.
                await self._within(self._timing.renew_deadline, self._release())
        finally:
            self._on_stopped_leading()

    async def _acquire(self) -> None:
        log.info("Attempting to acquire leader lease...", lock=str(self._lock))
        while True:
            acquired = await self._try_acquire_or_renew()
            self._report_leader()
            if acquired:
                break
            await self._clock.sleep(jittered(self._rng, self._timing.retry_period, JITTER))
        log.info("Successfully acquired lease", lock=str(self._lock))
        self._report("became leader")

    async def _keep_renewing(self) -> None:
        why = "timed out waiting for the condition"
        try:
            while await self._renew():
                self._report_leader()
                await self._clock.sleep(self._timing.retry_period)
        except _DeposedError as error:
            why = str(error)
        self._report_leader()
        log.info("Failed to renew lease", lock=str(self._lock), err=why)

    async def _renew(self) -> bool:
        """Try until it works, at most for the renew deadline: a request that hangs counts against it too."""
        return await self._within(self._timing.renew_deadline, self._try_until_renewed())

    async def _try_until_renewed(self) -> bool:
        while not await self._try_acquire_or_renew():
            await self._clock.sleep(self._timing.retry_period)
        return True

    async def _within(self, seconds: float, attempt: Coroutine[Any, Any, bool]) -> bool:
        """The attempt's result; False, and the attempt cancelled, when it takes longer."""
        running = asyncio.create_task(attempt)
        timer = asyncio.create_task(self._clock.sleep(seconds))
        try:
            await asyncio.wait({running, timer}, return_when=asyncio.FIRST_COMPLETED)
            return running.done() and running.result()
        finally:
            running.cancel()
            timer.cancel()
            # Not `await timer`: if we are cancelled at this moment, that would look like the timer's own end.
            await asyncio.wait({running, timer})

    async def _try_acquire_or_renew(self) -> bool:
        try:
            return await (self._renew_what_was_given() if self._coordinated else self._acquire_or_renew())
        except _DeposedError:
            raise
        except KubeschedError as error:
            log.error("Error retrieving or updating lease lock", error, lock=str(self._lock))
            return False

    async def _acquire_or_renew(self) -> bool:
        if self.is_leader and self._is_lease_valid() and await self._renew_optimistically():
            return True
        try:
            current = await self._lock.get()
        except ApiStatusError as error:
            if error.code != 404:
                raise
            await self._write(self._record(None, transitions=0), self._lock.create)
            return True
        self._take_notice(current)
        if current.holder and self._is_lease_valid() and not self.is_leader:
            log.info("Lease is held by and has not yet expired", v=4, lock=str(self._lock), holder=current.holder)
            return False
        if self.is_leader and self._on_slow_renewal is not None:
            self._on_slow_renewal()
        transitions = current.transitions + (0 if self.is_leader else 1)
        await self._write(self._record(current, transitions=transitions), self._lock.update)
        return True

    async def _renew_what_was_given(self) -> bool:
        """Renew the lease if the API server gave it to us, and has not ended our term (tryCoordinatedRenew)."""
        try:
            current = await self._lock.get()
        except ApiStatusError as error:
            if error.code != 404:
                raise
            log.info("Lease lock not found", lock=str(self._lock))
            return False
        self._take_notice(current)
        if not self._is_lease_valid():
            log.info("Lease has expired", lock=str(self._lock))
            return False
        if not self.is_leader:
            log.info("Lease is held and has not yet expired", v=6, lock=str(self._lock), holder=current.holder)
            return False
        if current.preferred_holder:
            log.info("Lease is marked as 'end of term'", v=4, lock=str(self._lock))
            return False
        if self._on_slow_renewal is not None:
            self._on_slow_renewal()
        mine = self._record(current, transitions=current.transitions, strategy=current.strategy)
        await self._write(mine, self._lock.update)
        return True

    async def _renew_optimistically(self) -> bool:
        """Write over what we wrote last, without reading first: right as long as nobody else wrote."""
        mine = self._record(self._observed, transitions=self._observed.transitions)
        try:
            await self._write(mine, self._lock.update)
        except KubeschedError as error:
            log.info("Failed to update lease optimistically, reading it first", v=2, lock=str(self._lock), err=error)
            return False
        return True

    async def _write(self, mine: LeaderRecord, write: Callable[[LeaderRecord], Awaitable[None]]) -> None:
        """Make the lease ours, or keep it so. Time counts from before the server heard of it."""
        sent_at = self._clock.since_boot()
        await write(mine)
        self._observe(mine)
        self._fence.keep_open(sent_at + self._timing.renew_deadline)

    async def _release(self) -> bool:
        """Give the lease back. A renewal that was under way when we were cancelled may arrive between our reading and
        our writing: the conflict says so, and who reads again sees it.
        """
        try:
            while self.is_leader and not await self._give_back():
                log.info("Lease was written meanwhile, reading it again", v=2, lock=str(self._lock))
        except KubeschedError as error:
            log.error("Failed to release lease", error, lock=str(self._lock))
            return False
        return True

    async def _give_back(self) -> bool:
        """False where the lease was written after we read it."""
        current = await self._lock.get()
        if current.holder != self._lock.identity:
            return True
        now = MicroTime.of(utc(self._clock))
        free = LeaderRecord(lease_seconds=1, acquire_time=now, renew_time=now, transitions=current.transitions)
        try:
            await self._lock.update(free)
        except ApiStatusError as error:
            if error.code != 409:
                raise
            return False
        self._observe(free)
        return True

    def _record(self, before: LeaderRecord | None, *, transitions: int, strategy: str = "") -> LeaderRecord:
        """What the lease shall say; without one before it (it may be deleted while we lead), it is acquired now."""
        now = MicroTime.of(utc(self._clock))
        return LeaderRecord(
            holder=self._lock.identity,
            lease_seconds=int(self._timing.lease_duration),
            acquire_time=before.acquire_time if before is not None and self.is_leader else now,
            renew_time=now,
            transitions=transitions,
            strategy=strategy,
        )

    def _take_notice(self, read: LeaderRecord) -> None:
        """Time counts from the moment at which what is read differs from what was read before."""
        if read != self._last_read:
            self._observe(read)
            self._last_read = read
        if self._leads and read.holder not in ("", self._lock.identity):
            raise _DeposedError(f"the lease is held by {read.holder}")

    def _observe(self, record: LeaderRecord) -> None:
        self._observed = record
        self._observed_at = self._clock.monotonic()

    def _is_lease_valid(self) -> bool:
        return self._observed_at + self._observed.lease_seconds > self._clock.monotonic()

    def _report_leader(self) -> None:
        if self._observed.holder == self._reported_leader:
            return
        self._reported_leader = self._observed.holder
        if self._on_new_leader is not None:
            self._on_new_leader(self._reported_leader)

    def _report(self, what: str) -> None:
        if self._on_event is not None:
            self._on_event(f"{self._lock.identity} {what}")
