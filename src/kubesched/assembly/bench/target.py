"""Where a benchmark's objects go."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any, Protocol

from msgspec.structs import replace

from kubesched.assembly.build import Assembled, Outside, build_scheduler
from kubesched.assembly.memory_api import MemoryApi
from kubesched.clock import Clock
from kubesched.config import FeatureGates, default_config
from kubesched.config.feature_gates import CURRENT_VERSION, stage_at
from kubesched.framework import QueuedPod
from kubesched.objects import Node, Pod
from kubesched.objects.completion import completed


class Target(Protocol):
    """A scheduler under test with whatever stands for its API server."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def add(self, objects: Iterable[Any]) -> None: ...
    async def update(self, old: Any, new: Any) -> None: ...
    async def remove(self, obj: Any) -> None: ...
    def listed(self, kind: type) -> Collection[Any]: ...
    async def until_scheduled(self, pods: Collection[str]) -> None:
        """Wait until all these pods, by `namespace/name`, have a node."""
        ...

    async def until_attempted(self, pods: Collection[str]) -> None:
        """Wait until all these pods were tried at least once."""
        ...

    def bound_at(self) -> Mapping[str, float]:
        """When each pod was bound, on the monotonic clock."""
        ...


class QuietRecorder:
    """Events cost nothing in the core."""

    def event(self, *args: object, **kwargs: object) -> None: ...


class CoreTarget:
    """The scheduler in this process, with memory in the API server's place: everything but input and output."""

    def __init__(self, gates: Mapping[str, bool], clock: Clock, seed: int = 0) -> None:
        feature_gates = FeatureGates(changeable(gates))
        self._clock = clock
        self._api = MemoryApi()
        self._bound: dict[str, float] = {}
        self._attempted: set[str] = set()
        self._awaited: set[str] = set()
        self._counts_attempts = False
        self._arrived = asyncio.Event()
        outside = Outside(
            api=self._api,
            recorder=QuietRecorder(),
            clock=clock,
            random=Random(seed),  # noqa: S311 - chance that can be repeated
            attempts=self,
        )
        self.assembled: Assembled = build_scheduler(default_config(feature_gates), feature_gates, outside)
        self._api.connect(self.assembled.objects, self.assembled.handlers)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self.assembled.scheduler.run()),
            asyncio.create_task(self.assembled.queue.run()),
        ]

    async def stop(self) -> None:
        self.assembled.queue.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.assembled.scheduler.tasks.stop(grace=0)

    async def add(self, objects: Iterable[Any]) -> None:
        for obj in objects:
            self.assembled.handlers.add(_as_served(obj))

    async def update(self, old: Any, new: Any) -> None:
        self.assembled.handlers.update(old, _as_served(new))

    async def remove(self, obj: Any) -> None:
        self.assembled.handlers.delete(obj)

    def listed(self, kind: type) -> Collection[Any]:
        return list(self.assembled.objects.of(kind))

    async def until_scheduled(self, pods: Collection[str]) -> None:
        await self._until({pod for pod in pods if pod not in self._bound})

    async def until_attempted(self, pods: Collection[str]) -> None:
        gated = {queued.info.key for _, queued in self.assembled.queue.waiting() if queued.is_gated}
        missing = {pod for pod in pods if pod not in self._attempted and pod not in gated}
        await self._until(missing, counts_attempts=True)

    def bound_at(self) -> Mapping[str, float]:
        return self._bound

    async def _until(self, missing: set[str], *, counts_attempts: bool = False) -> None:
        if not missing:
            return
        self._awaited, self._counts_attempts = missing, counts_attempts
        self._arrived.clear()
        await self._arrived.wait()

    def _arrive(self, pod: str) -> None:
        self._attempted.add(pod)
        self._awaited.discard(pod)
        if not self._awaited:
            self._arrived.set()

    # ---- AttemptObserver -----------------------------------------------------------------------------------------

    def algorithm_ran(self, seconds: float) -> None: ...

    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None:
        key = queued.info.key
        self._bound[key] = self._clock.monotonic()
        self._arrive(key)

    def unschedulable(self, profile: str, seconds: float) -> None:
        self._notice_attempts()

    def failed(self, profile: str, seconds: float) -> None:
        self._notice_attempts()

    def _notice_attempts(self) -> None:
        for pod in self.assembled.queue.in_flight_pods():
            if self._counts_attempts:
                self._arrive(pod.key)
            else:
                self._attempted.add(pod.key)


def changeable(gates: Mapping[str, bool]) -> dict[str, bool]:
    """The gates of a workload that can be set: upstream's files also set some that are fixed since."""
    known = {name for name, _, _ in FeatureGates()}
    return {
        name: value for name, value in gates.items() if name in known and not stage_at(name, CURRENT_VERSION).locked
    }


def _as_served(obj: Any) -> Any:
    """As an API server would hand it out."""
    obj = completed(obj)
    if isinstance(obj, Node) and not obj.status.allocatable:
        obj = replace(obj, status=replace(obj.status, allocatable=obj.status.capacity))
    if isinstance(obj, Pod) and not obj.status.phase:
        obj = replace(obj, status=replace(obj.status, phase="Pending"))
    return obj
