"""What is measured, and when."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from kubesched.assembly.bench.results import Collected
from kubesched.clock import Clock


class Collector:
    """Notes which pods are bound between `start` and `stop`, and what time and CPU that takes."""

    def __init__(self, clock: Clock, bound_at: Callable[[], Mapping[str, float]]) -> None:
        self._clock = clock
        self._bound_at = bound_at
        self._started = 0.0
        self._cpu = 0.0
        self._namespaces: frozenset[str] = frozenset()
        self._current: Collected | None = None
        self.collected: list[Collected] = []

    def start(
        self, name: str, namespaces: Sequence[str] | None = None, labels: Mapping[str, str] | None = None
    ) -> None:
        """Measure the pods of some namespaces; of the one called `name` if none are given."""
        self._current = Collected(name)
        self._namespaces = frozenset(namespaces or (name,))
        self._cpu = time.process_time()
        self._started = self._clock.monotonic()

    def stop(self) -> None:
        if self._current is None:
            return
        bound = self._bound_at()
        since = [at - self._started for pod, at in bound.items() if self._counts(pod) and at >= self._started]
        self._current.bound_at = since
        self._current.wall_seconds = max(since, default=0.0)
        self._current.cpu_seconds = time.process_time() - self._cpu
        self.collected.append(self._current)
        self._current = None

    def _counts(self, pod: str) -> bool:
        return pod.partition("/")[0] in self._namespaces
