"""Looks at a replayed cluster at regular moments: what is allocated, what is stranded, who waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from kubesched.apps.replay.workload import PodLife, Workload
from kubesched.clock import Clock
from kubesched.objects import Node, Pod
from kubesched.objects.pod import TERMINAL_PHASES
from kubesched.objects.pod_resources import incoming_requests
from kubesched.objects.selectors import compile_label_selector
from kubesched.reports.run import Sample, SpreadOutcome
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns import Booleans, Integers

SAMPLES: Final = 240
"""Per replay: a curve on a screen has no more points."""
MOST_SHAPES: Final = 20
"""Typical pods: the most frequent combinations of requests among those that arrive."""


class Sampler:
    def __init__(self, assembled: Assembled, clock: Clock, workload: Workload) -> None:
        self._assembled = assembled
        self._clock = clock
        self._workload = workload
        self._shapes = _typical_shapes(workload.lives)
        self.samples: list[Sample] = []

    def times(self) -> Iterator[float]:
        started, length = self._workload.started, self._workload.ended - self._workload.started
        for number in range(SAMPLES + 1):
            yield started + length * number / SAMPLES

    def take(self) -> None:
        table = self._assembled.cache.cluster.nodes
        rows = np.flatnonzero(table.exists[: len(table)])
        names = self._resources()
        offered = {name: table.allocatable[table.resource_id(name)][rows] for name in names}
        taken = {name: table.requested[table.resource_id(name)][rows] for name in names}
        room = table.allowed_pods[rows] > table.pod_count[rows]
        free = {name: np.maximum(offered[name] - taken[name], 0) for name in names}
        waiting = len(self._assembled.queue.waiting())
        self.samples.append(
            Sample(
                time=self._clock.time(),
                pending=waiting,
                running=int(table.pod_count[rows].sum()),
                nodes=len(rows),
                nodes_in_use=int(np.count_nonzero(table.pod_count[rows])),
                allocatable={name: int(offered[name].sum()) for name in names},
                requested={name: int(taken[name].sum()) for name in names},
                stranded={name: self._stranded(name, free, room) for name in names},
            )
        )

    def spread(self) -> list[SpreadOutcome]:
        """For every spread constraint that pods carry: the skew that was asked for, and the one at the end."""
        stores = self._assembled.objects
        nodes = {node.metadata.name: node.metadata.labels for node in stores.of(Node)}
        pods = [
            pod for pod in stores.of(Pod) if pod.spec.node_name in nodes and pod.status.phase not in TERMINAL_PHASES
        ]
        asked: dict[tuple[str, str, str], tuple[Pod, int]] = {}
        for pod in pods:
            for index, constraint in enumerate(pod.spec.topology_spread_constraints):
                selector = str(compile_label_selector(constraint.label_selector))
                asked.setdefault((pod.metadata.namespace, constraint.topology_key, selector), (pod, index))
        outcomes = []
        for (namespace, topology, selector), (pod, index) in sorted(asked.items(), key=lambda item: item[0]):
            constraint = pod.spec.topology_spread_constraints[index]
            matches = compile_label_selector(constraint.label_selector).matches
            counts = Counter({labels[topology]: 0 for labels in nodes.values() if topology in labels})
            for other in pods:
                if other.metadata.namespace == namespace and matches(other.metadata.labels):
                    domain = nodes[other.spec.node_name].get(topology)
                    if domain is not None:
                        counts[domain] += 1
            if counts:
                skew = max(counts.values()) - min(counts.values())
                outcomes.append(
                    SpreadOutcome(
                        namespace=namespace,
                        topology_key=topology,
                        selector=selector,
                        is_hard=constraint.when_unsatisfiable != "ScheduleAnyway",
                        max_skew=constraint.max_skew,
                        skew=skew,
                    )
                )
        return outcomes

    def _resources(self) -> list[str]:
        """Those that some node offers, without huge pages and the like that nobody asks for."""
        asked = {name for shape, _ in self._shapes for name, _ in shape}
        return [name for name in ("cpu", "memory", *sorted(asked - {"cpu", "memory"})) if name != "pods"]

    def _stranded(self, resource: str, free: dict[str, Integers], room: Booleans) -> float:
        """The share of what is free that typical pods cannot use, because the rest of the node is full.

        Averaged over the shapes that ask for this resource, by their frequency.
        """
        total = int(free[resource].sum())
        users = [(dict(shape), weight) for shape, weight in self._shapes if dict(shape).get(resource)]
        if not total or not users:
            return 0.0
        stranded = 0.0
        for shape, weight in users:
            fits = room.copy()
            for name, amount in shape.items():
                if name in free:
                    fits &= free[name] >= amount
            stranded += weight * float(free[resource][~fits].sum())
        return stranded / (total * sum(weight for _, weight in users))


def _typical_shapes(lives: Iterable[PodLife]) -> list[tuple[tuple[tuple[str, int], ...], int]]:
    counts = Counter(tuple(sorted(incoming_requests(life.pod).items())) for life in lives)
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return by_frequency[:MOST_SHAPES]
