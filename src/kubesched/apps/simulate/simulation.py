"""A scheduler without a cluster: objects in, placements and explanations out.

    from kubesched import Simulation
    from kubesched.testing import make_node, make_pod

    with Simulation() as simulation:
        simulation.add(make_node("n1", cpu="2"), make_pod("web", cpu="500m"))
        simulation.schedule()                  # {"default/web": "n1"}

It is the scheduler that runs clusters, with a virtual clock and memory in the API server's place.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final

from msgspec.structs import replace

from kubesched.apps.explain.explanation import Explanation, explain
from kubesched.apps.explain.text import as_text
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.own_loop import OwnLoop
from kubesched.clock import VirtualClock
from kubesched.config import (
    FeatureGates,
    KubeSchedulerConfiguration,
    default_config,
    load_config,
    load_config_file,
)
from kubesched.errors import ConfigurationError, InvalidObjectError, KubeschedError
from kubesched.objects import KIND_OF, Pod
from kubesched.objects.completion import completed
from kubesched.objects.manifests import SUFFIXES, decode_all, load_documents, read_documents, split_foreign
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.scheduler.framework import NodeInfo, PluginFactory
from kubesched.scheduler.plugin_loading import check_plugin, load_plugins
from kubesched.scheduler.state.snapshot import Snapshot

MOST_ROUNDS: Final = 1000
"""Of attempts at one moment, besides one for each pod: more, and they will never end."""


class Simulation:
    """`config` is a KubeSchedulerConfiguration: a file (`Path`), a text or a mapping; `plugins` are your own, by name.

    `seed` decides ties. Same objects, same order, same seed: same placements.
    """

    def __init__(
        self,
        config: str | Path | Mapping[str, Any] | None = None,
        *,
        feature_gates: str = "",
        emulated_version: str = "",
        plugins: Mapping[str, PluginFactory] | None = None,
        seed: int = 0,
    ) -> None:
        self.gates = gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
        loaded = _configuration(config, gates)
        self.clock = VirtualClock()
        self.events: list[tuple[str, str, str]] = []
        """(pod, reason, note) of every event that the scheduler recorded."""
        api = MemoryApi()
        random = Random(seed)  # noqa: S311 - chance that can be repeated is the point
        folder = config.parent if isinstance(config, Path) else None
        loaded, found = load_plugins(loaded, folder)
        registry: dict[str, PluginFactory] = dict(found)
        registry |= {name: check_plugin(name, plugin) for name, plugin in (plugins or {}).items()}
        dependencies = Dependencies(
            api=api, recorder=_EventList(self.events), clock=self.clock, random=random, plugins=registry
        )
        self._assembled = build_scheduler(loaded, gates, dependencies)
        api.connect(self._assembled.objects, self._assembled.handlers)
        self._snapshot = Snapshot(self._assembled.cache)
        self._loop = OwnLoop()
        self._closed = False

    def __repr__(self) -> str:
        placements = self.placements().values()
        waiting = sum(node is None for node in placements)
        return f"<Simulation: nodes {len(self.nodes())}, pods {len(placements)}, without a node {waiting}>"

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing can be scheduled or explained any more; placements and events can still be read. Idempotent."""
        self._closed = True
        self._loop.close()

    def add(self, *objects: Any) -> None:
        """Add objects, or replace those that exist. InvalidObjectError, and nothing is added, if one is no object.

        What an API server fills in is filled in: namespaces, names of schedulers, uids, requests for limits.
        """
        stores, handlers = self._assembled.objects, self._assembled.handlers
        for obj in objects:
            _check_object(obj)
        for obj in map(completed, objects):
            old = stores.of(type(obj)).get(obj.metadata.name, obj.metadata.namespace)
            if old is None:
                handlers.add(obj)
            else:
                # To the scheduler, an equal version means that nothing has changed.
                handlers.update(old, replace(obj, metadata=replace(obj.metadata, resource_version="")))

    def load(self, manifests: str | Path) -> None:
        """Add the objects of a YAML or JSON file, of a folder of such files (`Path`), or of a text (`str`).

        Kinds that scheduling does not look at are left out, with a warning. InvalidObjectError.
        """
        if isinstance(manifests, str) and _is_file_name(manifests):
            raise InvalidObjectError(f"{manifests!r} is a text without objects: to load a file, pass a Path")
        documents = read_documents(manifests) if isinstance(manifests, Path) else load_documents(manifests, "<text>")
        known, foreign = split_foreign(documents)
        if foreign:
            left_out = f"left out, since scheduling does not look at them: {', '.join(foreign)}"
            warnings.warn(left_out, stacklevel=2)
        self.add(*decode_all(known))

    def remove(self, obj: Any) -> None:
        """Delete the object of this kind, namespace and name. InvalidObjectError if there is none."""
        _check_object(obj)
        wanted = completed(obj)
        store = self._assembled.objects.of(type(obj))
        current = store.get(wanted.metadata.name, wanted.metadata.namespace)
        if current is None:
            raise InvalidObjectError("there is no such object", kind=type(obj).__name__, name=wanted.metadata.key)
        self._assembled.handlers.delete(current)

    def schedule(self) -> dict[str, str | None]:
        """Try every pod that is ready. Returns all pods by `namespace/name` with their node, None for those without."""
        self._check_open()
        self._loop.run(self._schedule())
        return self.placements()

    def advance(self, seconds: float) -> dict[str, str | None]:
        """Let virtual time pass (backoffs end, unschedulable pods are tried again) and schedule."""
        self._check_open()
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"time cannot advance by {seconds} seconds")
        self._loop.run(self._advance(seconds))
        return self.schedule()

    def nodes(self) -> list[NodeInfo]:
        """Every node with its pods and what is left of it, in zone round-robin order."""
        self._snapshot.refresh()
        return self._snapshot.all()

    def placements(self) -> dict[str, str | None]:
        """All pods with their nodes, as `schedule` returns them; nothing is tried."""
        return {pod.key: pod.spec.node_name or None for pod in self._assembled.objects.of(Pod)}

    def explain(self, pod: str | Pod) -> Explanation:
        """What every plugin says about a pod on every node: for a known pod by `namespace/name`, or any pod at all."""
        self._check_open()
        return self._loop.run(explain(self._assembled, self._pod(pod), seek_remedies=True))

    def why(self, pod: str | Pod) -> str:
        """The explanation as text."""
        return as_text(self.explain(pod))

    async def _schedule(self) -> None:
        for _ in range(MOST_ROUNDS + len(self._assembled.objects.of(Pod))):
            if not await self._assembled.scheduler.schedule_pending():
                return
        pod, _, note = self.events[-1]
        raise KubeschedError(f"scheduling does not come to rest: {pod} is tried again and again: {note}")

    async def _advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        self._assembled.queue.flush_backoff()
        self._assembled.queue.flush_unschedulable_leftover()

    def _check_open(self) -> None:
        if self._closed:
            raise KubeschedError("the simulation is closed")

    def _pod(self, pod: str | Pod) -> Pod:
        if isinstance(pod, Pod):
            whole: Pod = completed(pod)
            return whole
        if not isinstance(pod, str):
            raise InvalidObjectError(f"expected a pod or its name, got {type(pod).__name__}")
        namespace, _, name = pod.rpartition("/")
        found = self._assembled.objects.of(Pod).get(name, namespace or "default")
        if found is None:
            raise InvalidObjectError("there is no such pod, or it has ended", kind="Pod", name=pod)
        return found


def _configuration(config: str | Path | Mapping[str, Any] | None, gates: FeatureGates) -> KubeSchedulerConfiguration:
    if config is None:
        return default_config(gates)
    if isinstance(config, Path):
        return load_config_file(config, gates)
    if isinstance(config, Mapping):
        try:
            text = json.dumps(dict(config))
        except (TypeError, ValueError) as error:
            raise ConfigurationError([f"the configuration cannot be written as JSON: {error}"]) from error
        return load_config(text, gates)
    if _is_file_name(config):
        raise ConfigurationError([f"{config!r} is no configuration: to load a file, pass a Path"])
    return load_config(config, gates)


def _is_file_name(text: str) -> bool:
    """Whether somebody who wrote this meant a file, not its content."""
    return text.endswith(SUFFIXES) and "\n" not in text


def _check_object(obj: Any) -> None:
    if type(obj) not in KIND_OF:
        advice = ""
        if isinstance(obj, Mapping):
            advice = "; manifests are loaded by load()"
        elif isinstance(obj, Iterable) and not isinstance(obj, str):
            advice = "; write add(*objects) for several"
        raise InvalidObjectError(f"not an object that scheduling knows: {type(obj).__name__}{advice}")
    if not obj.metadata.name:
        raise InvalidObjectError("it has no name", kind=type(obj).__name__, path="metadata.name")


class _EventList:
    """The recorder of a simulation."""

    def __init__(self, events: list[tuple[str, str, str]]) -> None:
        self._events = events

    def event(self, regarding: Pod, event_type: str, reason: str, action: str, note: str, **_: object) -> None:
        self._events.append((regarding.key, reason, note))
