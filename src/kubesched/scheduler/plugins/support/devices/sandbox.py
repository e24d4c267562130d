"""A process of its own for CEL expressions that may take much time or memory.

Nothing in the CEL library can be interrupted, and no thread of this process runs while it evaluates. So what is not
known to be cheap is evaluated elsewhere, by a process that may be killed: it kills itself when an expression takes too
much time or memory (`sandbox_process`). It starts when it is needed for the first time, serves all schedulers of this
process, and ends with it.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import weakref
from functools import cache
from typing import Final

import msgspec

from kubesched.clock import SystemClock
from kubesched.scheduler.plugins.support.devices.budget import Budget

STOPPED: Final = "runtime error: operation cancelled: it takes more time or memory than a selector may"
_MODULE: Final = "kubesched.scheduler.plugins.support.devices.sandbox_process"
_MOST_SECONDS: Final = 20.0
"""The process counts its own CPU time; this is for one that does not even get that."""
_LOOK_SECONDS: Final = 0.02
_MOST_ANSWERS: Final = 64
_MOST_BYTES_AT_ONCE: Final = 1 << 16
_machine: Final = SystemClock()
"""Not that of a simulation: another process is waited for."""

Answer = bool | str
"""Whether the device is selected, or what the problem is."""


class Question(msgspec.Struct, array_like=True, frozen=True):
    expression: str
    lists: bool
    driver: str
    shared: bool
    attributes: dict[str, dict[str, object]]
    capacity: dict[str, dict[str, bytes]]
    problem: str


class Sandbox:
    """One process, one question at a time. An answer that nobody waited for is there when it is asked for again."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[..., Sandbox] | None = None
        self._owner = os.getpid()
        self._pending: bytes | None = None
        self._asked_at = 0.0
        self._received = bytearray()
        self._answers: dict[bytes, Answer] = {}

    @property
    def process_id(self) -> int | None:
        """None while there is none."""
        return self._process.pid if self._process is not None else None

    def ask(self, question: Question, budget: Budget | None) -> Answer:
        """BudgetSpent if the answer is not there in time: ask again later."""
        if self._owner != os.getpid():  # after a fork, it is the parent's
            self.__init__()  # type: ignore[misc]  # from the beginning
        asked = msgspec.msgpack.encode(question)
        while asked not in self._answers:
            if self._pending is None:
                self._send(asked)
            self._wait()
            if budget is not None and asked not in self._answers:
                budget.spend(0)
        return self._answers.pop(asked)

    def close(self) -> None:
        """Idempotent. The next question starts another process."""
        if self._end is not None:
            self._end()
        self._process = self._end = self._pending = None
        self._received.clear()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - our own module, by the interpreter that runs this one
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is none of its business
        )
        self._end = weakref.finalize(self, _kill, process, os.getpid())
        return process

    def _send(self, asked: bytes) -> None:
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin is not None
        self._pending, self._asked_at = asked, _machine.monotonic()
        try:
            self._process.stdin.write(len(asked).to_bytes(4, "big") + asked)
        except OSError:
            self._give_up()

    def _wait(self) -> None:
        """For an answer, or for a moment."""
        if self._process is None:
            return
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], _LOOK_SECONDS)
        if readable:
            data = self._process.stdout.read(_MOST_BYTES_AT_ONCE)
            self._received += data
            size = int.from_bytes(self._received[:4], "big")
            if not data:
                self._give_up()
            elif len(self._received) >= 4 + size:
                self._note(msgspec.msgpack.decode(bytes(self._received[4 : 4 + size]), type=Answer))
        elif _machine.monotonic() - self._asked_at > _MOST_SECONDS:
            self._give_up()

    def _give_up(self) -> None:
        """The process is gone, or has to go."""
        pending = self._pending
        self.close()
        self._pending = pending
        self._note(STOPPED)

    def _note(self, answer: Answer) -> None:
        assert self._pending is not None
        self._answers[self._pending] = answer
        if len(self._answers) > _MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._pending = None
        self._received.clear()


@cache
def shared_sandbox() -> Sandbox:
    """That of this process."""
    return Sandbox()


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner != os.getpid():
        return
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
