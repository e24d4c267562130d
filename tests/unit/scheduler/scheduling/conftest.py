"""A whole scheduler over memory, and what it did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config, load_config
from kubesched.config.versions import Version
from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import NominatingInfo, Plugin
from kubesched.scheduler.runtime.observer import PluginObserver
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.observer import AttemptObserver, SilentAttempts
from kubesched.testing.recording import RecordingRecorder


class WholeScheduler:
    """The default configuration with some gates, fed by hand."""

    def __init__(
        self,
        runner: asyncio.Runner,
        *gates: str,
        profiles: Sequence[str] = ("default-scheduler",),
        extenders: Sequence[Any] = (),
        version: Version = Version(1, 36),  # noqa: B008 - a value
    ) -> None:
        enabled = FeatureGates(dict.fromkeys(gates, True), version=version)
        config = default_config(enabled)
        config = replace(config, profiles=tuple(replace(config.profiles[0], scheduler_name=name) for name in profiles))
        self.clock, self.recorder, api = VirtualClock(), RecordingRecorder(), MemoryApi()
        random = Random(0)
        dependencies = Dependencies(
            api=api, recorder=self.recorder, clock=self.clock, random=random, extenders=extenders
        )
        self._runner = runner
        self.parts: Assembled = build_scheduler(config, enabled, dependencies)
        api.connect(self.parts.objects, self.parts.handlers)

    def add(self, *objects: Any) -> None:
        async def deliver() -> None:
            for obj in objects:
                self.parts.handlers.add(obj)

        self._runner.run(deliver())

    def update(self, old: Any, new: Any) -> None:
        async def deliver() -> None:
            self.parts.handlers.update(old, new)

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


class HoldingApi(MemoryApi):
    """Memory that can refuse a pod's binding, or hold it until it is let go; by pod name. Claims can be held, too."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[str, Exception] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.claims_held: asyncio.Event | None = None
        self.statuses: list[tuple[str, PodCondition | None, NominatingInfo | None]] = []

    async def bind(self, pod: Pod, node_name: str) -> None:
        if (held := self.held.get(pod.metadata.name)) is not None:
            await held.wait()
        if (error := self.errors.get(pod.metadata.name)) is not None:
            raise error
        await super().bind(pod, node_name)

    async def patch(self, kind: Any, *where: Any, **options: Any) -> Any:
        if kind is ResourceClaim and self.claims_held is not None:
            await self.claims_held.wait()
        return await super().patch(kind, *where, **options)

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        self.statuses.append((pod.metadata.name, condition, nominating))
        await super().patch_pod_status(pod, condition, nominating)


class Bench:
    """A scheduler with plugins of the test beside the default ones, inside a running loop."""

    def __init__(
        self,
        *plugins: type[Plugin],
        profiles: Sequence[str] = ("default-scheduler",),
        extenders: Sequence[Any] = (),
        percentage: int | None = None,
        gates: FeatureGates | None = None,
        attempts: AttemptObserver | None = None,
        calls: PluginObserver | None = None,
    ) -> None:
        self.gates = gates or FeatureGates()
        enabled = [{"name": plugin.name} for plugin in plugins]
        config = load_config(
            json.dumps(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "percentageOfNodesToScore": percentage,
                    "profiles": [
                        {"schedulerName": name, "plugins": {"multiPoint": {"enabled": enabled}}} for name in profiles
                    ],
                }
            ),
            self.gates,
        )
        self.clock, self.recorder, self.api = VirtualClock(), RecordingRecorder(), HoldingApi()
        dependencies = Dependencies(
            api=self.api,
            recorder=self.recorder,
            clock=self.clock,
            random=Random(0),
            extenders=extenders,
            plugins={plugin.name: plugin for plugin in plugins},
            attempt_observer=attempts or SilentAttempts(),
            plugin_observer=calls,
        )
        self.parts: Assembled = build_scheduler(config, self.gates, dependencies)
        self.cache, self.queue, self.handlers = self.parts.cache, self.parts.queue, self.parts.handlers
        self.scheduler = self.parts.scheduler
        self.api.connect(self.parts.objects, self.handlers)

    @property
    def profile(self) -> Profile:
        return next(iter(self.parts.profiles.values()))

    def add(self, *objects: Any) -> None:
        for obj in objects:
            self.handlers.add(obj)

    def pod(self, name: str) -> Pod:
        pod = self.parts.objects.of(Pod).get(name, "default")
        assert pod is not None, name
        return pod

    async def schedule(self, *, after: float = 0.0) -> None:
        await self.clock.advance(after)
        self.queue.flush_backoff()
        await self.scheduler.schedule_pending()

    def places(self) -> dict[str, str]:
        """Where every pod is: a node's name, or where in the queue, or `binding`."""
        found = {pod.metadata.name: pod.spec.node_name for pod in self.parts.objects.of(Pod)}
        for place, queued in self.queue.waiting():
            found[queued.info.pod.metadata.name] = str(place)
        for name, pod in ((pod.metadata.name, pod) for pod in self.parts.objects.of(Pod)):
            if self.cache.is_assumed(pod.metadata.uid):
                found[name] = "binding"
        return found

    def notes(self, reason: str) -> list[str]:
        return [note for _, _, found, note in self.recorder.events if found == reason]


@pytest.fixture
def new_bench() -> type[Bench]:
    """Makes schedulers with plugins of the test."""
    return Bench
