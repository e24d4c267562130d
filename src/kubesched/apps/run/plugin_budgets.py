"""Plugins that take too long, or fail again and again: named in the log and in the metrics.

TimeBudget      the mean time per pod of each plugin, over the attempts that are timed (one in ten)
PluginFailures  how often each plugin raised, and who is to be taken out of the profiles for it
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from typing import Final

from kubesched.clock import Clock
from kubesched.telemetry.logging import log

PODS_PER_LOOK: Final = 20
"""Timed attempts between two looks at the means."""
LOG_SECONDS: Final = 300.0
"""A plugin that stays slow is named again after this time."""
FAILURE_WINDOW: Final = 60.0


class TimeBudget:
    """Plugins of the user's own have `seconds` per pod; who takes more is named."""

    def __init__(self, clock: Clock, seconds: float, own: Callable[[], Collection[str]]) -> None:
        """`own` are the plugins that are not kube-scheduler's. 0 seconds: no budget."""
        self._clock = clock
        self._seconds = seconds
        self._own = own
        self._taken: defaultdict[str, float] = defaultdict(float)
        self._pods = 0
        self._named_at: dict[str, float] = {}

    def next_pod(self) -> None:
        """Another attempt is timed."""
        self._pods += 1
        if self._seconds and self._pods % PODS_PER_LOOK == 0:
            self._look()

    def took(self, plugin: str, seconds: float) -> None:
        self._taken[plugin] += seconds

    def means(self) -> Mapping[str, float]:
        """Seconds per pod, by plugin."""
        return {plugin: taken / max(1, self._pods) for plugin, taken in self._taken.items()}

    def _look(self) -> None:
        now = self._clock.monotonic()
        for plugin, mean in self.means().items():
            if mean <= self._seconds or plugin not in self._own():
                continue
            if now - self._named_at.get(plugin, -LOG_SECONDS) >= LOG_SECONDS:
                self._named_at[plugin] = now
                log.warning(
                    "A plugin is slow",
                    plugin=plugin,
                    millisecondsPerPod=round(mean * 1000, 3),
                    budget=round(self._seconds * 1000, 3),
                )


class PluginFailures:
    """Reports 10, 100, 1000, ... failures of a plugin; `limit` within a minute call `trip` (0: never)."""

    def __init__(
        self,
        clock: Clock,
        count: Callable[[str], None],
        *,
        limit: int = 0,
        own: Callable[[], Collection[str]] = lambda: (),
        trip: Callable[[str], None] = lambda plugin: None,
    ) -> None:
        self._clock = clock
        self._count = count
        self._limit = limit
        self._own = own
        self._trip = trip
        self._total = Counter[str]()
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)

    def failed(self, plugin: str, problem: str) -> None:
        self._count(plugin)
        self._total[plugin] += 1
        total = self._total[plugin]
        if total >= 10 and str(total).strip("0") == "1":
            log.error("A plugin fails again and again", problem, plugin=plugin, failures=total)
        if not self._limit or plugin not in self._own():
            return
        now, recent = self._clock.monotonic(), self._recent[plugin]
        recent.append(now)
        while recent[0] < now - FAILURE_WINDOW:
            recent.popleft()
        if len(recent) >= self._limit:
            recent.clear()
            self._trip(plugin)
