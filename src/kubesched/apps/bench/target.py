"""Where a benchmark's objects go: a scheduler under test, with whatever stands for its API server."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from kubesched.apps.bench.templates import Manifest
from kubesched.clock import Clock
from kubesched.errors import KubeschedError


class PodProgress:
    """What became of pods, by `namespace/name`: a target notes it, operations wait for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._missing: set[str] = set()
        self._arrived = asyncio.Event()
        self._counts_attempts = False
        self._failure: KubeschedError | None = None
        self.bound_at: dict[str, float] = {}
        """When each pod was seen to have a node, on the monotonic clock."""
        self.attempted: set[str] = set()
        """Pods that were tried in vain at least once, or are gated."""

    def note_bound(self, pod: str) -> None:
        self.bound_at[pod] = self._clock.monotonic()
        self._arrive(pod)

    def note_attempted(self, pod: str) -> None:
        self.attempted.add(pod)
        if self._counts_attempts:
            self._arrive(pod)

    def fail(self, error: KubeschedError) -> None:
        """Nothing will become of pods any more: whoever waits, now or later, gets this error."""
        self._failure = error
        self._arrived.set()

    async def until_scheduled(self, pods: Collection[str]) -> None:
        """Wait until all these pods have a node."""
        await self._until({pod for pod in pods if pod not in self.bound_at}, counts_attempts=False)

    async def until_attempted(self, pods: Collection[str]) -> None:
        """Wait until all these pods were tried at least once."""
        missing = {pod for pod in pods if pod not in self.bound_at and pod not in self.attempted}
        await self._until(missing, counts_attempts=True)

    def waiting_for(self) -> str:
        """Who is still awaited, in a few words; empty if nobody is."""
        if not self._missing:
            return ""
        stage = "tried" if self._counts_attempts else "scheduled"
        return f"{len(self._missing)} pods were not {stage}, {min(self._missing)} among them"

    async def _until(self, missing: set[str], *, counts_attempts: bool) -> None:
        self._missing, self._counts_attempts = missing, counts_attempts
        if missing and self._failure is None:
            self._arrived.clear()
            await self._arrived.wait()
        if self._failure is not None:
            raise self._failure

    def _arrive(self, pod: str) -> None:
        if pod in self._missing:
            self._missing.discard(pod)
            if not self._missing:
                self._arrived.set()


class Target(Protocol):
    """Takes objects as manifests with a name and, where the kind has one, a namespace."""

    @property
    def pods(self) -> PodProgress: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def prepare(self, manifest: Manifest) -> Any:
        """The manifest in the form that `create` takes: work of the benchmark that is not to be measured."""
        ...

    async def create(self, prepared: Sequence[Any]) -> None: ...

    async def update(self, manifest: Manifest, subresources: Sequence[str] = ()) -> None:
        """Replace an object that exists. ConfigurationError if it does not."""
        ...

    async def delete(self, kind: str, name: str, namespace: str = "", *, at_once: bool = False) -> None:
        """Delete an object, if it is there; a pod gracefully, unless it is to be gone at once."""
        ...

    async def hold(self) -> None:
        """Stop the scheduler: pods that are created from now on wait."""
        ...

    async def release(self) -> None:
        """Start the scheduler that `hold` stopped."""
        ...

    def settle(self) -> None:
        """A measurement begins: put in order what earlier operations left behind."""
        ...

    def cpu_seconds(self) -> float:
        """CPU time that the scheduler has used so far."""
        ...

    def peak_rss_mib(self) -> float:
        """The most memory that the scheduler held so far."""
        ...

    def durations(self) -> Mapping[tuple[tuple[str, str], ...], Sequence[float]]:
        """Seconds of attempts and extension points since the last call, by the labels of their dataItems."""
        ...
