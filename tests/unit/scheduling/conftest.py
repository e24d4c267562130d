"""A whole scheduler over memory, and what it did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from kubesched.assembly.build import Assembled, Outside, build_scheduler
from kubesched.assembly.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.objects import Pod
from kubesched.testing.recording import RecordingRecorder


class WholeScheduler:
    """The default configuration with some gates, fed by hand."""

    def __init__(self, runner: asyncio.Runner, *gates: str, profiles: Sequence[str] = ("default-scheduler",)) -> None:
        enabled = FeatureGates(dict.fromkeys(gates, True))
        config = default_config(enabled)
        config = replace(config, profiles=tuple(replace(config.profiles[0], scheduler_name=name) for name in profiles))
        self.clock, self.recorder, api = VirtualClock(), RecordingRecorder(), MemoryApi()
        random = Random(0)
        outside = Outside(api=api, recorder=self.recorder, clock=self.clock, random=random)
        self._runner = runner
        self.parts: Assembled = build_scheduler(config, enabled, outside)
        api.connect(self.parts.objects, self.parts.handlers)

    def add(self, *objects: Any) -> None:
        async def deliver() -> None:
            for obj in objects:
                self.parts.handlers.add(obj)

        self._runner.run(deliver())

    def schedule(self, *, after: float = 0.0) -> None:
        """Let time pass, then try all pods that are ready."""

        async def run() -> None:
            await self.clock.advance(after)
            self.parts.queue.flush_backoff()
            await self.parts.scheduler.schedule_pending()

        self._runner.run(run())

    def placements(self) -> dict[str, str]:
        return {pod.metadata.name: pod.spec.node_name for pod in self.parts.objects.of(Pod) if pod.spec.node_name}

    def notes(self, reason: str) -> dict[str, str]:
        """The last note of each pod's events with this reason."""
        return {pod: note for pod, _, found, note in self.recorder.events if found == reason}

    def find(self, kind: type[Any], name: str) -> Any:
        return self.parts.objects.of(kind).get(name, "default")


NewScheduler: TypeAlias = Callable[..., WholeScheduler]


@pytest.fixture
def new_scheduler() -> Iterator[NewScheduler]:
    """Makes schedulers; name the feature gates to be on."""
    with asyncio.Runner() as runner:
        yield partial(WholeScheduler, runner)
