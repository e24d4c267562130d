"""What happened in a world, in order: lines with their time, a hash over them, and what must not have happened."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable
from typing import Final

from kubesched.telemetry.logging import Logger

_BUGS: Final = ("Background task crashed", "A handler failed", "Reconciling failed", "A simulated kubelet failed")
"""What is only ever logged if somebody wrote a bug."""


class History:
    def __init__(self, now: Callable[[], float], *, keeps: bool = True) -> None:
        self._now = now
        self._keeps = keeps
        self._hash = hashlib.sha256()
        self.lines: list[str] = []
        self.count = 0
        self.violations: list[str] = []
        self.on_violation: Callable[[], None] = lambda: None

    def add(self, who: str, what: str) -> None:
        line = f"{self._now():11.6f} {who:<10} {what}"
        self._hash.update(line.encode())
        self.count += 1
        if self._keeps:
            self.lines.append(line)

    def violated(self, what: str) -> None:
        """Something that must never happen."""
        self.violations.append(f"{self._now():.6f} s: {what}")
        self.add("VIOLATION", what)
        self.on_violation()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()[:16]


class LogLines(io.StringIO):
    """Where the program's log goes: into the history, without the real time and the process id."""

    def __init__(self, history: History, who: Callable[[], str]) -> None:
        super().__init__()
        self._history = history
        self._who = who

    def write(self, entry: str) -> int:
        text = entry.partition("] ")[2].strip()
        self._history.add(self._who(), f"log {entry[0]} {text}")
        if any(bug in text for bug in _BUGS):
            self._history.violated(text)
        return len(entry)


class LibraryErrors(logging.Handler):
    """The API server's log of requests that failed without a reason that a client could be given."""

    def __init__(self, history: History) -> None:
        super().__init__(logging.ERROR)
        self._history = history

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._history.violated(f"{record.name}: {record.getMessage()}: {error!r}")


class CapturedLogs:
    """While this is open, all that is logged is part of the history."""

    def __init__(self, history: History, log: Logger, who: Callable[[], str]) -> None:
        self._log = log
        self._stream = LogLines(history, who)
        self._handler = LibraryErrors(history)

    def __enter__(self) -> None:
        self._before, self._log._err = self._log._err, self._stream
        self._propagates = logging.getLogger("kubesched").propagate
        logging.getLogger("kubesched").propagate = False
        logging.getLogger("kubesched").addHandler(self._handler)

    def __exit__(self, *_: object) -> None:
        self._log._err = self._before
        logging.getLogger("kubesched").removeHandler(self._handler)
        logging.getLogger("kubesched").propagate = self._propagates
