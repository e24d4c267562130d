"""Where the time of a slow decision went, in the log: from verbosity 2 on, in the words of k8s.io/utils/trace.

    Trace[61250417]: "Scheduling" namespace:default,name:web-1 (16-Nov-2026 09:30:01.250) (total time: 180ms):
    Trace[61250417]: ---"Computing predicates done" 160ms (09:30:01.410)
    Trace[61250417]: [180.2ms] [180.2ms] END

It covers what kube-scheduler's covers (schedulePod): filters and scores, with extenders, but not preemption.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kubesched.clock import Clock
from kubesched.config.duration import format_duration
from kubesched.objects import Pod
from kubesched.telemetry.logging import log

LONG: Final = 0.1
"""Seconds; from here on a decision is logged."""
TRACED_FROM: Final = 2
"""The verbosity below which nothing would be logged, and need not be measured."""
ALL_STEPS_FROM: Final = 4

FILTERED: Final = "Computing predicates done"
SCORED: Final = "Prioritizing done"


class DecisionTrace:
    """Begins with the decision."""

    __slots__ = ("_clock", "_pod", "_started", "_steps")

    def __init__(self, clock: Clock, pod: Pod) -> None:
        self._clock = clock
        self._pod = pod
        self._started = clock.monotonic()
        self._steps: list[tuple[str, float]] = []

    def step(self, name: str) -> None:
        """A step ends now."""
        self._steps.append((name, self._clock.monotonic()))

    def log_if_long(self) -> None:
        """The decision ends now."""
        ended = self._clock.monotonic()
        if ended - self._started >= LONG:
            number = int(self._started * 1e6) % 2**31  # holds the lines together; kube-scheduler throws dice for it
            log.text("\n".join(f"Trace[{number}]: {line}" for line in self._lines(ended)), v=TRACED_FROM)

    def _lines(self, ended: float) -> list[str]:
        metadata, wall_time_at_zero = self._pod.metadata, self._clock.time() - ended
        begin, seconds = _wall(wall_time_at_zero + self._started, "%d-%b-%Y %H:%M:%S"), ended - self._started
        what = f'"Scheduling" namespace:{metadata.namespace},name:{metadata.name}'
        lines = [f"{what} ({begin}) (total time: {_milliseconds(seconds)}ms):"]
        # Below this, a step took less than its share of the limit (calculateStepThreshold).
        share = 0.0 if log.loudest >= ALL_STEPS_FROM else LONG / (len(self._steps) + 1)
        before = self._started
        for name, end in self._steps:
            if end - before >= share:
                lines.append(
                    f'---"{name}" {_milliseconds(end - before)}ms ({_wall(wall_time_at_zero + end, "%H:%M:%S")})'
                )
            before = end
        total = format_duration(timedelta(seconds=seconds))
        return [*lines, f"[{total}] [{total}] END"]


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _wall(seconds: float, form: str) -> str:
    moment = datetime.fromtimestamp(seconds)
    return f"{moment.strftime(form)}.{moment.microsecond // 1000:03}"
