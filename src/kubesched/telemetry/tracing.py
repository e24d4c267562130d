"""Where the time of one operation went, logged only when it took long (k8s.io/utils/trace)."""

from __future__ import annotations

from datetime import UTC, datetime

from kubesched.clock import Clock
from kubesched.telemetry.logging import Logger


class Trace:
    """Steps of one operation. Taking a step costs one clock reading; formatting happens only for a slow operation.

    trace = Trace("Scheduling", clock, subject="default/web-1")
    ...
    trace.step("Snapshotting scheduler cache and node infos done")
    trace.log_if_longer(0.1, log)
    """

    __slots__ = ("_clock", "_name", "_start", "_steps", "_subject")

    def __init__(self, name: str, clock: Clock, *, subject: str) -> None:
        self._name = name
        self._clock = clock
        self._subject = subject
        self._start = clock.monotonic()
        self._steps: list[tuple[float, str]] = []

    def step(self, done: str) -> None:
        """Note that something is done now."""
        self._steps.append((self._clock.monotonic(), done))

    def log_if_longer(self, seconds: float, log: Logger) -> None:
        """Log the trace if the operation has taken at least this long, as one entry with a line per step."""
        total = self._clock.monotonic() - self._start
        if total >= seconds:
            steps = self._describe(total)
            log.info("Trace", name=self._name, subject=self._subject, total=_milliseconds(total), steps=steps)

    def _describe(self, total: float) -> str:
        began = self._clock.time() - total
        lines, previous = [], self._start
        for at, done in self._steps:
            clock_time = datetime.fromtimestamp(began + at - self._start, UTC)
            lines.append(f'---"{done}" {_milliseconds(at - previous)} ({clock_time:%H:%M:%S.%f})')
            previous = at
        lines.append(f"[{_milliseconds(total)}] END")
        return "\n".join(lines)


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
