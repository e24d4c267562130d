"""A replay: one workload under one configuration, on the virtual clock, from event to event.

    next event ► time moves there ► what happens by itself ► backoffs end ► the scheduler tries what is ready ► next

The scheduler is the one that runs clusters. Decisions take no time: what is measured is what the policy costs pods, not
what the scheduler's program costs. Same workload, configuration and seed: the same result, byte by byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from kubesched.apps.explain.explanation import Explanation, explain
from kubesched.apps.replay.cluster import ReplayedCluster
from kubesched.apps.replay.sampling import Sampler
from kubesched.apps.replay.workload import PodLife, Workload, workload_of
from kubesched.apps.simulate.own_loop import OwnLoop
from kubesched.apps.simulate.virtual_scheduler import Configuration, build_virtual_scheduler
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.reports.run import PodOutcome, RunResult
from kubesched.scheduler.build import Dependencies
from kubesched.scheduler.engine.ranking.ranking import Ranking
from kubesched.scheduler.framework import PluginFactory
from kubesched.traces import Change, Trace

Ties: TypeAlias = Literal["seed", "recorded"]
"""Which of several best nodes a pod gets: one by the seed, or the recorded one where it is among them."""

RECREATED_AFTER: Final = 1.0
"""Seconds until a controller makes a new pod in the place of a disrupted one, where the trace shows none."""

Action = Callable[[], None]


def replay(
    trace: Trace | Workload | str | Path,
    config: Configuration = None,
    *,
    name: str = "",
    seed: int = 0,
    ties: Ties = "seed",
    feature_gates: str = "",
    emulated_version: str = "",
    plugins: Mapping[str, PluginFactory] | None = None,
    explained: Collection[str] = (),
    on_progress: Callable[[float], None] = lambda share: None,
) -> RunResult:
    """Run a trace under one configuration. `explained`: pods (`namespace/name`) whose decision is kept with its scores.

    `on_progress` hears the share of the trace's time that has passed. TraceError; ConfigurationError, also if no pod
    asks for a scheduler of this configuration.
    """
    gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
    workload = trace if isinstance(trace, Workload) else workload_of(trace)
    run = _Replay(workload, config, gates, seed, ties, plugins, frozenset(explained))
    with closing(OwnLoop()) as loop:  # a notebook's cells run inside one already
        return loop.run(run.run(name, on_progress))


class _Replay:
    def __init__(
        self,
        workload: Workload,
        config: Configuration,
        gates: FeatureGates,
        seed: int,
        ties: Ties,
        plugins: Mapping[str, PluginFactory] | None,
        explained: frozenset[str],
    ) -> None:
        self._workload = workload
        self._seed = seed
        self._explained = explained
        self._explanations: dict[str, Explanation] = {}
        self._clock = VirtualClock(workload.started)
        self._cluster = ReplayedCluster()
        self._assembled = build_virtual_scheduler(
            config,
            gates,
            Dependencies(
                api=self._cluster,
                recorder=self._cluster,
                clock=self._clock,
                random=Random(seed),  # noqa: S311 - chance that can be repeated is the point
                choose=self._recorded_or_any if ties == "recorded" else None,
            ),
            plugins,
        )
        self._cluster.connect(self._assembled.objects, self._assembled.handlers)
        self._cluster.bound, self._cluster.preempted = self._bound, self._preempted
        self._lives: dict[str, PodLife] = {}  # of the pods that are there, by uid
        self._outcomes: dict[str, PodOutcome] = {}
        self._attempts: dict[str, int] = {}
        self._replacements = count(1)
        self._sequence = count()
        self._agenda: list[tuple[float, int, Action]] = []
        self._sampler = Sampler(self._assembled, self._clock, workload)

    async def run(self, name: str, on_progress: Callable[[float], None]) -> RunResult:
        workload, queue = self._workload, self._assembled.queue
        self._check_schedulers()
        self._script()
        length = max(workload.ended - workload.started, 1e-9)
        while (moment := self._next_moment()) is not None and moment <= length:
            await self._move_to(moment)
            while self._agenda and self._agenda[0][0] <= moment:
                heapq.heappop(self._agenda)[2]()
            queue.flush_backoff()
            queue.flush_unschedulable_leftover()
            await self._schedule()
            on_progress(moment / length)
        return self._result(name)

    def _recorded_or_any(self, pod: Pod, ranking: Ranking) -> str:
        """A `NodeChoice`: of several best nodes the recorded one, where it is among them."""
        life, nodes = self._lives.get(pod.metadata.uid), self._assembled.cache.cluster.nodes
        row = nodes.row_of.get(life.node) if life is not None else None
        return life.node if life is not None and row in ranking.best_rows() else ranking.best()

    # Time.

    def _next_moment(self) -> float | None:
        """Seconds since the start at which anything happens next: an event of the workload, a backoff, a timer."""
        times = [self._agenda[0][0]] if self._agenda else []
        times += [t for t in (self._assembled.queue.next_flush(), self._clock.next_wake()) if t is not None]
        return min(times, default=None)

    async def _move_to(self, moment: float) -> None:
        wakes, passed = self._clock.next_wake(), moment - self._clock.monotonic()
        if wakes is not None and wakes <= moment:
            await self._clock.advance(passed)
        elif passed > 0:
            self._clock.tick(passed)

    async def _schedule(self) -> None:
        """As `Scheduler.schedule_pending`, with a look at the decisions that are to be explained."""
        scheduler, queue = self._assembled.scheduler, self._assembled.queue
        while (queued := queue.try_pop()) is not None:
            self._attempts[queued.uid] = queued.attempts
            if queued.info.key in self._explained:
                self._explanations[queued.info.key] = await explain(self._assembled, queued.info.pod)
            await scheduler.schedule_one(queued)
        await scheduler.tasks.settle()

    # What happens by itself.

    def _script(self) -> None:
        """Put on the agenda what the workload has; the state at the start is there at once."""
        workload = self._workload
        for obj in workload.objects:
            self._assembled.handlers.add(obj)
        for life in workload.lives:
            if not life.is_replacement:
                self._at(life.arrives, partial(self._arrive, life))
        for change in workload.changes:
            self._at(change.time, partial(self._change, change))
        for pod_change in workload.pod_changes:
            self._at(pod_change.time, partial(self._cluster.change_pod, pod_change.pod))
        for time in self._sampler.times():
            self._at(time, self._sampler.take)

    def _at(self, time: float, action: Action) -> None:
        heapq.heappush(self._agenda, (max(time - self._workload.started, 0.0), next(self._sequence), action))

    def _arrive(self, life: PodLife) -> None:
        pod, now = life.pod, self._clock.time()
        self._lives[life.uid] = life
        is_ours = pod.spec.scheduler_name in self._assembled.profiles
        self._outcomes[life.uid] = PodOutcome(
            pod=pod.key,
            arrived=now,
            priority=pod.spec.priority or 0,
            recorded_node=life.node,
            is_scheduled_here=is_ours and not pod.spec.node_name,
        )
        self._cluster.know(pod)
        self._assembled.handlers.add(pod)
        if pod.spec.node_name:
            self._started(life, pod.spec.node_name)
        elif not is_ours and life.bound_at is not None:
            self._at(max(life.bound_at, now), partial(self._bind_as_recorded, life))
        if life.withdrawn is not None:
            self._at(max(life.withdrawn, now), partial(self._end, life))

    def _bind_as_recorded(self, life: PodLife) -> None:
        """Another scheduler's pod: it goes where the trace shows it."""
        current = self._cluster.pod(life.uid)
        if current is not None and not current.spec.node_name:
            self._cluster.place(current, life.node)
            self._started(life, life.node)

    def _change(self, change: Change) -> None:
        for uid in self._cluster.apply(change):
            self._disrupt(uid, "node")

    def _end(self, life: PodLife) -> None:
        if self._lives.pop(life.uid, None) is not None:
            outcome = self._outcomes[life.uid]
            outcome.ended = self._clock.time()
            self._cluster.remove(life.uid)

    # What the scheduler did.

    def _bound(self, uid: str, node: str) -> None:
        life = self._lives.get(uid)
        if life is not None:
            self._started(life, node)

    def _started(self, life: PodLife, node: str) -> None:
        now, outcome = self._clock.time(), self._outcomes[life.uid]
        outcome.bound_at, outcome.node = now, node
        if life.runs_for is not None:
            self._at(now + life.runs_for, partial(self._end, life))

    def _preempted(self, uid: str) -> None:
        self._disrupt(uid, "preempted")

    def _disrupt(self, uid: str, cause: str) -> None:
        """A pod is gone before its time: its controller makes another one. Nobody does for a pod without controller."""
        life = self._lives.pop(uid, None)
        if life is None:
            return
        now, outcome = self._clock.time(), self._outcomes[uid]
        outcome.ended, outcome.disrupted_by = now, cause
        self._cluster.remove(uid)
        if life.replacement is not None and life.disrupted_at is not None:
            delay = max(life.replacement.arrives - life.disrupted_at, 0.0)
            replacement = replace(life.replacement, arrives=now + delay)
        elif life.pod.metadata.controller_of is not None:
            replacement = self._recreated(life, outcome)
        else:
            return
        self._at(replacement.arrives, partial(self._arrive, replacement))

    def _recreated(self, life: PodLife, outcome: PodOutcome) -> PodLife:
        """A Job starts again from the beginning; whatever else goes on with the time that it had left."""
        now, metadata = self._clock.time(), life.pod.metadata
        owner = metadata.controller_of
        number = next(self._replacements)
        name = metadata.name if owner is not None and owner.kind == "StatefulSet" else f"{metadata.name}-r{number}"
        runs_for = life.runs_for
        if runs_for is not None and outcome.bound_at is not None and owner is not None and owner.kind != "Job":
            runs_for = max(runs_for - (now - outcome.bound_at), 0.0)
        pod = replace(
            life.pod,
            metadata=replace(metadata, name=name, uid=f"{metadata.uid}-r{number}"),
            spec=replace(life.pod.spec, node_name=""),
            status=replace(life.pod.status, conditions=(), nominated_node_name=""),
        )
        arrives = now + RECREATED_AFTER
        ends = None if runs_for is None else arrives + runs_for
        return PodLife(pod, arrives, bound_at=None if ends is None else arrives, ends=ends)

    # The outcome.

    def _check_schedulers(self) -> None:
        asked = {life.pod.spec.scheduler_name for life in self._workload.lives}
        if asked and not asked & self._assembled.profiles.keys():
            names = ", ".join(sorted(self._assembled.profiles))
            raise ConfigurationError(
                [f"no pod of the trace asks for {names}: they ask for {', '.join(sorted(asked))}; name a profile so"]
            )

    def _result(self, name: str) -> RunResult:
        for uid, outcome in self._outcomes.items():
            outcome.attempts = self._attempts.get(uid, 0)
            if (preemptor := self._cluster.preemptors.get(uid)) is not None and outcome.disrupted_by == "preempted":
                outcome.preempted_by = preemptor.metadata.key
            if outcome.bound_at is None and outcome.is_scheduled_here:
                outcome.message = self._cluster.messages.get(uid, "")
        return RunResult(
            name=name,
            seed=self._seed,
            started=self._workload.started,
            ended=self._workload.ended,
            pods=list(self._outcomes.values()),
            samples=self._sampler.samples,
            spread=self._sampler.spread(),
            image_hits=(self._cluster.image_hits[0], self._cluster.image_hits[1]),
            explanations=dict(self._explanations),
        )
