"""Names the plugin that keeps the scheduler's loop busy, while it does: nobody else would say so.

Everything up to Permit runs within the loop. A plugin that waits there for a network, or computes for seconds, holds up
all pods. The loop is asked for a sign of life from another thread; if none comes, its stack says where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from kubesched.apps.run.loop_thread import Home
from kubesched.clock import Clock
from kubesched.scheduler.framework import Plugin
from kubesched.telemetry.logging import log

PAUSE: Final = 0.5
LOOK: Final = 0.1
FIRST_REPORT: Final = 1.0


class AtWork(NamedTuple):
    """A plugin's method that is running, and the line that it has come to."""

    plugin: str
    method: str
    line: str


class Watchdog:
    """`blocked` gets the plugin and the seconds when a stretch of a second or more has ended."""

    def __init__(self, home: Home, clock: Clock, blocked: Callable[[str, float], None]) -> None:
        self._home = home
        self._clock = clock
        self._blocked = blocked

    async def run(self) -> None:
        while True:
            await self._clock.sleep(PAUSE)
            await self.wait_for_a_sign()

    async def wait_for_a_sign(self) -> None:
        """Ask once, and report for as long as no answer comes."""
        signs: list[bool] = []
        self._home.soon(signs.append, True)
        started, report_at = self._clock.monotonic(), FIRST_REPORT
        culprit: AtWork | None = None
        while not signs:
            await self._clock.sleep(LOOK)
            waited = self._clock.monotonic() - started
            if waited < report_at or signs:
                continue
            report_at *= 4
            culprit = at_work(self._home.stack()) or culprit
            if culprit is not None:
                log.error(
                    "A plugin blocks the scheduler",
                    f"{culprit.method} has not ended after {waited:.1f} seconds",
                    plugin=culprit.plugin,
                    line=culprit.line,
                )
        if culprit is not None:
            self._blocked(culprit.plugin, self._clock.monotonic() - started)


def at_work(frame: FrameType | None) -> AtWork | None:
    """The plugin in whose method a thread is; None if it is in none."""
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Plugin):
            code = frame.f_code
            return AtWork(type(owner).name, code.co_name, f"{Path(code.co_filename).name}:{frame.f_lineno}")
        frame = frame.f_back
    return None
