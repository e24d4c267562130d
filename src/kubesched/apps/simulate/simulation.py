"""A scheduler without a cluster: objects in, placements and explanations out.

    from kubesched import Simulation
    from kubesched.testing import make_node, make_pod

    with Simulation() as simulation:
        simulation.add(make_node("n1", cpu="2"), make_pod("web", cpu="500m"))
        simulation.schedule()                  # {"default/web": "n1"}

It is the scheduler that runs clusters, with a virtual clock and memory in the API server's place.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from kubesched.apps.explain.explanation import Explanation, explain
from kubesched.apps.explain.text import as_text
from kubesched.apps.simulate.chance import Chance, Tie
from kubesched.apps.simulate.changes import ChangeLog
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.own_loop import OwnLoop
from kubesched.apps.simulate.virtual_scheduler import (
    Configuration,
    build_virtual_scheduler,
    is_file_name,
    reload_virtual_scheduler,
)
from kubesched.clock import Clock, VirtualClock
from kubesched.config import (
    FeatureGates,
)
from kubesched.errors import InvalidObjectError, KubeschedError
from kubesched.objects import KIND_OF, Pod, PodGroup, convert, is_kind, to_builtins
from kubesched.objects.completion import completed
from kubesched.objects.manifests import decode_all, load_documents, read_documents, split_declared, split_foreign
from kubesched.scheduler.build import Dependencies
from kubesched.scheduler.framework import NodeInfo, PluginFactory
from kubesched.scheduler.state.queue import SubQueue
from kubesched.scheduler.state.snapshot import Snapshot

if TYPE_CHECKING:
    from kubesched.apps.plan.capacity import CapacityReport
    from kubesched.apps.plan.defrag.goals import Goal
    from kubesched.apps.plan.defrag.plan import DefragPlan
    from kubesched.apps.plan.each import EachReport
    from kubesched.apps.plan.hypotheses import Hypothesis
    from kubesched.apps.plan.rollout import RolloutReport
    from kubesched.apps.plan.what_if import WhatIfReport

T = TypeVar("T")

MOST_ROUNDS: Final = 1000
"""Of attempts at one moment, besides one for each pod: more, and they will never end."""
LONGEST_WAIT: Final = 60
"""Seconds that `settle` waits for backoffs to end."""


class Preemption(NamedTuple):
    """A pod that was evicted for another one, or for a pod group. `tie`: nodes where that would have cost as much."""

    victim: Pod
    preemptor: str
    tie: Tie | None


class Simulation:
    """`config` is a KubeSchedulerConfiguration: a file (`Path`), a text or a mapping; `plugins` are your own, by name.

    `seed` decides ties, as chance does in kube-scheduler; with `ties="first"`, the node that was added first wins them.
    Same objects, same order, same seed: same placements.
    """

    def __init__(
        self,
        config: Configuration = None,
        *,
        feature_gates: str | FeatureGates = "",
        emulated_version: str = "",
        plugins: Mapping[str, PluginFactory] | None = None,
        seed: int = 0,
        ties: Literal["random", "first"] = "random",
    ) -> None:
        if ties not in ("random", "first"):
            raise ValueError(f"ties: expected 'random' or 'first', got {ties!r}")
        self._settings: dict[str, Any] = {
            "feature_gates": feature_gates,
            "emulated_version": emulated_version,
            "plugins": plugins,
            "seed": seed,
            "ties": ties,
        }
        if isinstance(feature_gates, str):
            feature_gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
        self.gates = gates = feature_gates
        self.clock = VirtualClock()
        self.events: list[tuple[str, str, str]] = []
        """(pod, reason, note) of every event that the scheduler recorded."""
        self.preemptions: list[Preemption] = []
        self._chance = Chance(seed)
        self._chance.by_name, self._chance.notes_ties = ties == "first", ties == "random"
        self._branches: list[int] = []  # how many events there were when each began
        api = MemoryApi()
        dependencies = Dependencies(
            api=api,
            recorder=_Recorder(self.events, self.preemptions, self._chance),
            clock=self.clock,
            random=self._chance,
            choose=self._chance.choose,
        )
        self._assembled = assembled = build_virtual_scheduler(config, gates, dependencies, plugins)
        self._chance.nodes = assembled.cache.cluster.nodes
        self._changes = ChangeLog(assembled.objects, assembled.handlers, assembled.cache.cluster.pods)
        api.connect(self._assembled.objects, self._changes)
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

    def with_config(self, config: str | Path | Mapping[str, Any] | None) -> Simulation:
        """Another simulation of the same objects, where they are now: only its configuration differs."""
        other = Simulation(config, **self._settings)
        other.add(*(obj for store in self._assembled.objects for obj in store))
        return other

    def reload(self, config: Configuration = None, *, plugins: Mapping[str, PluginFactory] | None = None) -> None:
        """Go on with another configuration, or other versions of plugins, as a scheduler does that reloads its own.

        Pods that wait, are assumed or wait on permit stay where they are. ConfigurationError, and nothing has changed.
        Objects of a kind that a plugin declares are read again as the new version declares it.
        """
        self._check_open()
        stores = self._assembled.objects
        before: dict[type, list[Any]] = {kind: list(stores.of(kind)) for kind in stores.watched}
        self._loop.run(self._reload(config, plugins))
        now = {KIND_OF[kind].group_kind: kind for kind in stores.watched if kind not in before}
        for kind, objects in before.items():
            successor = now.get(KIND_OF[kind].group_kind)
            if successor is not None and kind not in stores.watched:
                self.add(*(convert(to_builtins(obj), successor) for obj in objects))

    async def _reload(self, config: Configuration, plugins: Mapping[str, PluginFactory] | None) -> None:
        reload_virtual_scheduler(self._assembled, config, plugins)

    def close(self) -> None:
        """Nothing can be scheduled or explained any more; placements and events can still be read. Idempotent."""
        self._closed = True
        self._loop.close()

    def add(self, *objects: Any) -> None:
        """Add objects, or replace those that exist. InvalidObjectError, and nothing is added, if one is no object.

        What an API server fills in is filled in: namespaces, names of schedulers, uids, requests for limits.
        """
        stores, handlers = self._assembled.objects, self._changes
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

        Kinds that neither scheduling nor a plugin looks at are left out, with a warning. InvalidObjectError.
        """
        if isinstance(manifests, str) and is_file_name(manifests):
            raise InvalidObjectError(f"{manifests!r} is a text without objects: to load a file, pass a Path")
        documents = read_documents(manifests) if isinstance(manifests, Path) else load_documents(manifests, "<text>")
        declared, others = split_declared(documents, self._assembled.objects.watched)
        known, foreign = split_foreign(others)
        if foreign:
            left_out = f"left out, since scheduling does not look at them: {', '.join(foreign)}"
            warnings.warn(left_out, stacklevel=2)
        self.add(*decode_all(known), *declared)

    def publish(self, url: str, content: Any) -> None:
        """What a plugin that fetches this address (`Handle.fetch`) gets, from now on: JSON, as data or as bytes.

        InvalidObjectError if no plugin does.
        """
        if not self._assembled.fetches.publish(url, content):
            raise InvalidObjectError(f"no plugin fetches {url}")

    def remove(self, obj: Any) -> None:
        """Delete the object of this kind, namespace and name. InvalidObjectError if there is none."""
        _check_object(obj)
        wanted = completed(obj)
        store = self._assembled.objects.of(type(obj))
        current = store.get(wanted.metadata.name, wanted.metadata.namespace)
        if current is None:
            raise InvalidObjectError("there is no such object", kind=type(obj).__name__, name=wanted.metadata.key)
        self._changes.delete(current)

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

    def settle(self, *, retry: bool = False) -> None:
        """Schedule until nothing more happens by itself: pods whose backoff keeps them waiting are tried, too.

        With `retry`, every pod that still waits then is tried once more, also where nothing happened that may help it:
        what it waits for is afterwards what the cluster lacks now.
        """
        self._check_open()
        self._loop.run(self._settle())
        queue = self._assembled.queue
        if retry and (waiting := queue.waiting()):
            queue.activate([queued.info for _, queued in waiting])
            self._loop.run(self._settle())

    @contextmanager
    def branch(self, *, notes_ties: bool = True) -> Iterator[None]:
        """A hypothesis: everything that happens inside, to objects and to placements, is undone at the end.

        Ties go to the first node by name inside, so that an outcome does not depend on what was tried before; `ties`
        tells where that mattered. Without `notes_ties` they go to the first node in the table: that is faster.
        Branches may be nested. Undoing costs as much as what has changed, not as much as the cluster. Time is not
        turned back.
        """
        self._check_open()
        chance, events, preemptions = self._chance, len(self.events), len(self.preemptions)
        kept = chance.getstate(), chance.by_name, chance.notes_ties, chance.ties, chance.preemption_ties
        self._branches.append(events)
        chance.by_name, chance.notes_ties, chance.ties, chance.preemption_ties = True, notes_ties, {}, {}
        waiting = self._assembled.queue.checkpoint()
        self._changes.begin()
        try:
            yield
        finally:
            self._changes.withdraw()
            self._loop.run(self._assembled.scheduler.tasks.settle())
            self._changes.restore()
            self._assembled.queue.restore(waiting)
            self._branches.pop()
            del self.events[events:], self.preemptions[preemptions:]
            state, chance.by_name, chance.notes_ties, chance.ties, chance.preemption_ties = kept
            chance.setstate(state)

    def changed_pods(self) -> dict[str, tuple[Pod | None, Pod | None]]:
        """Before and now, of the pods that changed since the innermost branch began, by `namespace/name`."""
        return self._changes.changed_pods()

    def events_of_branch(self) -> list[tuple[str, str, str]]:
        """The events since the innermost branch began."""
        return self.events[self._branches[-1] :]

    @property
    def ties(self) -> Mapping[str, Tie]:
        """By pod: the nodes that were equally good when it was last placed inside this branch."""
        return self._chance.ties

    def objects(self, kind: type[T]) -> list[T]:
        """All objects of a kind."""
        return list(self._assembled.objects.of(kind))

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        return self._assembled.objects.of(kind).get(name, namespace)

    @property
    def kinds_of_plugins(self) -> tuple[type, ...]:
        """The kinds that plugins of this simulation have informers of."""
        return tuple(self._assembled.objects.watched)

    def pods_on(self, node_name: str) -> list[Pod]:
        """The pods that count on a node, sorted by name."""
        cluster = self._assembled.cache.cluster
        row = cluster.nodes.row_of.get(node_name)
        return (
            sorted([info.pod for info in cluster.pods.on_node(row)], key=lambda pod: pod.key) if row is not None else []
        )

    def nodes(self) -> list[NodeInfo]:
        """Every node with its pods and what is left of it, in zone round-robin order."""
        self._snapshot.refresh()
        return self._snapshot.all()

    def weights(self) -> dict[str, dict[str, int]]:
        """By scheduler name: the weight of each score plugin."""
        return {name: dict(profile.score_weights) for name, profile in self._assembled.profiles.items()}

    def placements(self) -> dict[str, str | None]:
        """All pods with their nodes, as `schedule` returns them; nothing is tried."""
        return {pod.key: pod.spec.node_name or None for pod in self._assembled.objects.of(Pod)}

    def explain(self, pod: str | Pod, *, seek_remedies: bool = True, stopwatch: Clock | None = None) -> Explanation:
        """What every plugin says about a pod on every node: for a known pod by `namespace/name`, or any pod at all.

        With a `stopwatch`, also what filters say of nodes that others reject, and how long each plugin takes.
        """
        self._check_open()
        explained = explain(self._assembled, self._pod(pod), seek_remedies=seek_remedies, stopwatch=stopwatch)
        return self._loop.run(explained)

    def why(self, pod: str | Pod) -> str:
        """The explanation as text."""
        return as_text(self.explain(pod))

    def what_if(self, *hypotheses: Hypothesis) -> WhatIfReport:
        """What would happen if these were done one after the other (`kubesched.apps.plan.hypotheses`).

        ConfigurationError if one makes no sense here, as for a node that is not there.
        """
        from kubesched.apps.plan.what_if import what_if  # not at the top: plans are made of simulations

        return what_if(self, hypotheses)

    def what_if_each(self, by: str = "node") -> EachReport:
        """What the loss of each node, `zone` or value of a label would do, the worst first."""
        from kubesched.apps.plan.each import each_loss

        return each_loss(self, by)

    def capacity(self, *pods: Pod, most: int = 0) -> CapacityReport:
        """How many more sets of these pods fit, up to `most` if given, and what stops the next one."""
        from kubesched.apps.inputs.workloads import WorkloadManifest
        from kubesched.apps.plan.capacity import MixPart, capacity

        wanted = [completed(pod) for pod in pods]
        mix = [MixPart(WorkloadManifest("Pod", pod.metadata.name, pod, 1), 1) for pod in wanted]
        return capacity(self, mix, most=most)

    def defrag(self, goal: Goal) -> DefragPlan:
        """The fewest moves that reach a goal (`kubesched.apps.plan.defrag.goals`), or why there is no such plan."""
        from kubesched.apps.plan.defrag.plan import defrag

        return defrag(self, goal)

    def rollout(self, pool: str = "", *, surge: int = 0, max_unavailable: int = 1) -> RolloutReport:
        """A node upgrade of a pool (a name or a selector; all nodes, if empty) in virtual time, in the best order."""
        from kubesched.apps.plan.rollout import Order, Pace, best_order, rollout

        pace = Pace(surge=surge, max_unavailable=max_unavailable)
        return best_order([rollout(self, pool, pace, order) for order in Order])

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

    async def _settle(self) -> None:
        for _ in range(LONGEST_WAIT):
            await self._schedule()
            if not self._assembled.queue.counts()[SubQueue.BACKOFF]:
                return
            await self._advance(1.0)

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


def _check_object(obj: Any) -> None:
    if not is_kind(type(obj)):
        advice = ""
        if isinstance(obj, Mapping):
            advice = "; manifests are loaded by load()"
        elif isinstance(obj, Iterable) and not isinstance(obj, str):
            advice = "; write add(*objects) for several"
        raise InvalidObjectError(f"not an object that scheduling knows: {type(obj).__name__}{advice}")
    if not obj.metadata.name:
        raise InvalidObjectError("it has no name", kind=type(obj).__name__, path="metadata.name")


class _Recorder:
    """Files the scheduler's events, and who preempted whom."""

    def __init__(self, events: list[tuple[str, str, str]], preemptions: list[Preemption], chance: Chance) -> None:
        self._events = events
        self._preemptions = preemptions
        self._chance = chance

    def event(
        self,
        regarding: Pod,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *,
        related: Pod | PodGroup | None = None,
        reporter: str = "",
    ) -> None:
        self._events.append((regarding.key, reason, note))
        if reason == "Preempted" and related is not None:
            tie = self._chance.preemption_ties.get(regarding.spec.node_name)
            self._preemptions.append(Preemption(regarding, related.metadata.key, tie))
