"""Processes that a test starts, with their output in files, and waiting for things to become true."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# A wait ends when its condition holds; this is only when to give up, on a machine that may be slow and shared.
PATIENCE = 120.0

_chance = random.SystemRandom()  # not seeded: several test runs may share the machine


class Process:
    """A child process. Its output goes to a file that a failing test can show."""

    def __init__(self, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None) -> None:
        self.log_file = log
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env=environ,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code."""
        return self._child.wait(seconds)

    def stop(self, seconds: float = PATIENCE) -> int:
        """End it kindly; the exit code. A process that does not end by itself is killed, and fails the test."""
        if self.is_running:
            self._child.terminate()
            try:
                return self._child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"{self.log_file.name}: asked to stop, and did not in {seconds:g} s") from None
        return self._child.wait()

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()


def free_port() -> int:
    """A port for a program that cannot choose one itself, and binds it some seconds from now.

    It is below those that the kernel gives to outgoing connections, any of which could take it in the meantime.
    """
    while True:
        port = _chance.randrange(20_000, 32_000)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


def eventually(look: Callable[[], T | None], what: str, seconds: float = PATIENCE, every: float = 0.05) -> T:
    """The first truthy answer of `look`; fails the test, with the last answer, when none came in time."""
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"after {seconds:g} s still not so: {what} (last seen: {answer!r})"
        time.sleep(every)
