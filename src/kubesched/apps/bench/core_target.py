"""The scheduler in this process, with memory in the API server's place: everything but input and output."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from kubesched.apps.bench.target import PodProgress
from kubesched.apps.bench.templates import Manifest
from kubesched.apps.run.scheduler import GC_THRESHOLDS
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import Clock, utc
from kubesched.config import FeatureGates, default_config, load_config_file
from kubesched.config.feature_gates import stage_at
from kubesched.config.gate_table import DEPENDENCIES
from kubesched.config.versions import CURRENT_VERSION
from kubesched.errors import ConfigurationError
from kubesched.objects import KINDS, Node, Pod, decode_object
from kubesched.objects.completion import completed
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import NominatingInfo, QueuedPod

Durations = dict[tuple[tuple[str, str], ...], list[float]]


class QuietRecorder:
    """Events cost nothing in the core."""

    def event(self, regarding: Pod, event_type: str, reason: str, action: str, note: str, **_: object) -> None: ...


class ObservedApi(MemoryApi):
    """Notes which pods were tried in vain: an API server's clients would see their condition."""

    def __init__(self, pods: PodProgress) -> None:
        super().__init__()
        self._pods = pods

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        await super().patch_pod_status(pod, condition, nominating)
        if condition is not None:
            self._pods.note_attempted(pod.key)


class CoreTarget:
    """A `Target`. `gates` are such as can be set (see `changeable`)."""

    def __init__(
        self,
        gates: Mapping[str, bool],
        clock: Clock,
        *,
        config: Path | None = None,
    ) -> None:
        feature_gates = FeatureGates(gates)
        self._clock = clock
        self.pods = PodProgress(clock)
        self._attempts: dict[str, list[float]] = defaultdict(list)
        self._points: dict[str, list[float]] = defaultdict(list)
        api = ObservedApi(self.pods)
        dependencies = Dependencies(
            api=api,
            recorder=QuietRecorder(),
            clock=clock,
            random=Random(0),  # noqa: S311 - chance that can be repeated
            attempt_observer=self,
            plugin_observer=self,
        )
        loaded = load_config_file(config, feature_gates) if config else default_config(feature_gates)
        self.assembled: Assembled = build_scheduler(loaded, feature_gates, dependencies)
        api.connect(self.assembled.objects, self.assembled.handlers)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        gc.set_threshold(*GC_THRESHOLDS)
        await self.release()

    async def stop(self) -> None:
        self.assembled.queue.close()
        await self.hold()
        await self.assembled.scheduler.tasks.stop(grace=0)

    def prepare(self, manifest: Manifest) -> Any:
        obj: Any = completed(decode_object(manifest))
        if isinstance(obj, Node) and not obj.status.allocatable:
            obj = replace(obj, status=replace(obj.status, allocatable=obj.status.capacity))
        if isinstance(obj, Pod):
            gated = PodCondition(type="PodScheduled", status="False", reason="SchedulingGated")
            conditions = (gated,) if obj.spec.scheduling_gates else ()
            obj = replace(obj, status=replace(obj.status, phase="Pending", conditions=conditions))
        return obj

    async def create(self, prepared: Sequence[Any]) -> None:
        for obj in prepared:
            self.assembled.handlers.add(obj)
            if isinstance(obj, Pod) and obj.spec.scheduling_gates:
                self.pods.note_attempted(obj.key)

    async def update(self, manifest: Manifest, subresources: Sequence[str] = ()) -> None:
        new: Any = self.prepare(manifest)
        old: Any = self._stored(type(new), new.metadata.name, new.metadata.namespace)
        if old is None:
            raise ConfigurationError([f"updateAny: there is no {manifest['kind']} {new.metadata.key}"])
        new = replace(new, metadata=replace(new.metadata, uid=old.metadata.uid))
        if isinstance(new, Pod):
            # A pod keeps its node, and its labels unless the update is one of the pod itself.
            new = replace(new, spec=replace(new.spec, node_name=old.spec.node_name), status=old.status)
            if subresources:
                new = replace(new, metadata=old.metadata)
        self.assembled.handlers.update(old, new)

    async def delete(self, kind: str, name: str, namespace: str = "", *, at_once: bool = False) -> None:
        obj = self._stored(KINDS[kind].struct, name, namespace)
        if obj is None:
            return
        if isinstance(obj, Pod) and not at_once and self._lingers(obj):
            metadata = replace(obj.metadata, deletion_timestamp=utc(self._clock))
            self.assembled.handlers.update(obj, replace(obj, metadata=metadata))
        else:
            self.assembled.handlers.delete(obj)

    @staticmethod
    def _lingers(pod: Pod) -> bool:
        """Whether a deleted pod stays until a kubelet or its finalizers let it go. There are no kubelets here."""
        grace = pod.spec.termination_grace_period_seconds
        return bool(pod.metadata.finalizers) or bool(pod.spec.node_name and grace != 0)

    def _stored(self, kind: type, name: str, namespace: str) -> Any:
        return self.assembled.objects.of(kind).get(name, namespace)

    async def hold(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def release(self) -> None:
        self._tasks = [
            asyncio.create_task(self.assembled.scheduler.run()),
            asyncio.create_task(self.assembled.queue.run()),
        ]

    def settle(self) -> None:
        """As `kubesched run` does after its first sync."""
        gc.collect()
        gc.freeze()

    def cpu_seconds(self) -> float:
        return time.process_time()

    def peak_rss_mib(self) -> float:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024

    def durations(self) -> Mapping[tuple[tuple[str, str], ...], Sequence[float]]:
        taken: Durations = {}
        for name, label, seconds in (
            ("scheduler_scheduling_attempt_duration_seconds", "result", self._attempts),
            ("scheduler_framework_extension_point_duration_seconds", "extension_point", self._points),
        ):
            taken |= {(("Metric", name), (label, value)): list(found) for value, found in seconds.items()}
            seconds.clear()
        return taken

    # ---- AttemptObserver -----------------------------------------------------------------------------------------

    def algorithm_ran(self, seconds: float) -> None: ...

    def scheduled(self, profile: str, queued: QueuedPod, seconds: float) -> None:
        self.pods.note_bound(queued.info.pod.key)
        self._attempts["scheduled"].append(seconds)

    def unschedulable(self, profile: str, seconds: float) -> None:
        self._attempts["unschedulable"].append(seconds)

    def failed(self, profile: str, seconds: float) -> None:
        self._attempts["error"].append(seconds)

    # ---- PluginObserver ------------------------------------------------------------------------------------------

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        self._points[point].append(seconds)

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None: ...

    def evaluated(self, plugins: Iterable[str], point: str, profile: str) -> None: ...

    def permit_wait(self, result: str, seconds: float) -> None: ...


def changeable(gates: Mapping[str, bool]) -> dict[str, bool]:
    """The gates of a workload that can be set: upstream's files also set some that are fixed since.

    Gates that depend on one that is off are off, too: upstream's tests do not check that, a scheduler does.
    """
    known = {name for name, _, _ in FeatureGates()}
    chosen = {
        name: value for name, value in gates.items() if name in known and not stage_at(name, CURRENT_VERSION).locked
    }
    off = {name for name, value in chosen.items() if not value}
    while dependent := {name for name, needed in DEPENDENCIES.items() if off.intersection(needed)} - off:
        off |= dependent
    return chosen | dict.fromkeys(sorted(off), False)
