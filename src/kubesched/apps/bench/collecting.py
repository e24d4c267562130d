"""What is measured, and when."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kubesched.apps.bench.results import Collected
from kubesched.apps.bench.stages import StageSampler
from kubesched.apps.bench.target import Target
from kubesched.clock import Clock
from kubesched.errors import KubeschedError


class Collector:
    """Notes which pods are bound between `start` and `stop`, and what time and CPU that takes."""

    def __init__(self, clock: Clock, target: Target, sampler: StageSampler | None = None) -> None:
        self._clock = clock
        self._target = target
        self._sampler = sampler
        self._started = 0.0
        self._cpu = 0.0
        self._namespaces: frozenset[str] = frozenset()
        self._labels: Mapping[str, str] = {}
        self._from_first = False
        self._current: Collected | None = None
        self.labels_of: Callable[[str], Mapping[str, str]] = lambda pod: {}
        """How the labels of a pod that an operation made are found."""
        self.collected: list[Collected] = []

    def start(
        self, name: str, namespaces: Collection[str], labels: Mapping[str, str], *, from_first: bool = False
    ) -> None:
        """Measure the pods of some namespaces that have all these labels.

        With `from_first`, time begins with the first binding: a process needs a while to start.
        """
        if self._current is not None:
            raise KubeschedError("metrics are being collected already")
        self._target.settle()
        self._current = Collected(name)
        self._namespaces, self._labels, self._from_first = frozenset(namespaces), labels, from_first
        self._target.durations()
        self._cpu = self._target.cpu_seconds()
        if self._sampler is not None:
            self._sampler.start()
        self._started = self._clock.monotonic()

    def stop(self) -> None:
        if self._current is None:
            raise KubeschedError("no metrics are being collected")
        current, self._current = self._current, None
        if self._sampler is not None:
            self._sampler.stop()
        stopped = self._clock.monotonic()
        every = self._target.pods.bound_at.items()
        bound = [at for pod, at in every if at >= self._started and self._counts(pod)]
        if self._from_first:
            self._started = min(bound, default=self._started)
        current.bound_at = [at - self._started for at in bound]
        current.wall_seconds = max(current.bound_at, default=stopped - self._started)
        current.cpu_seconds = self._target.cpu_seconds() - self._cpu
        current.durations = {labels: sorted(seconds) for labels, seconds in self._target.durations().items()}
        self.collected.append(current)

    def stop_early(self) -> None:
        """The workload did not end: its figures so far, if any are being collected."""
        if self._current is not None:
            self.stop()

    def _counts(self, pod: str) -> bool:
        namespace = pod.partition("/")[0]
        return namespace in self._namespaces and self._labels.items() <= self.labels_of(pod).items()
