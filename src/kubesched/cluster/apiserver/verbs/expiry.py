"""Events are kept for an hour after their last write (`--event-ttl` upstream).

No entry carries a time: the store's version is noted every minute, and what was last written before the version of an
hour ago goes.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from kubesched.clock import Clock
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.storage import Store

EVENT_LIFETIME: Final = 3600.0
INTERVAL: Final = 60.0


class EventExpiry:
    def __init__(self, store: Store, clock: Clock, events: Resource, lifetime: float = EVENT_LIFETIME) -> None:
        self._store = store
        self._clock = clock
        self._events = events
        self._lifetime = lifetime
        self._noted: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        while True:
            self.sweep()
            await self._clock.sleep(INTERVAL)

    def sweep(self) -> None:
        now = self._clock.monotonic()
        self._noted.append((now, self._store.version))
        horizon = 0
        while self._noted[0][0] <= now - self._lifetime:
            horizon = self._noted.popleft()[1]
        if not horizon:
            return
        bucket = self._store.bucket(self._events.bucket_name, self._events.read_fields)
        for entry in [entry for entry in bucket.entries.values() if entry.version <= horizon]:
            self._store.remove(bucket, entry.decode())
