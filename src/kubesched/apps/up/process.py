"""The process of the embedded cluster, seen from the one that started it."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process

import msgspec

from kubesched.apps.up.cluster import ClusterAnswer, ClusterOptions
from kubesched.errors import ConfigurationError, TransportError

STOP_WITHIN = 8.0


class ClusterProcess:
    """A cluster in a process of its own, which ends with ours even if we are killed."""

    def __init__(self, process: Process, address: str, relay: asyncio.Task[None]) -> None:
        self._process = process
        self._relay = relay
        self.address = address

    @classmethod
    async def start(cls, options: ClusterOptions) -> ClusterProcess:
        """Return when its API server answers; ConfigurationError if it could not start."""
        process = await asyncio.create_subprocess_exec(
            # -P: modules come from where they are installed, not from the current folder
            *(sys.executable, "-P", "-m", "kubesched.apps.up.cluster"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,  # a Ctrl-C is for us: we end the process when we are done with it
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        relay = asyncio.ensure_future(_relay(process.stderr))
        process.stdin.write(msgspec.json.encode(options) + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:
            code = await process.wait()
            await relay
            raise TransportError(f"the embedded cluster did not start (exit code {code})", request_sent=False)
        answer = msgspec.json.decode(line, type=ClusterAnswer)
        if answer.problems:
            await process.wait()
            await relay
            raise ConfigurationError(answer.problems)
        return cls(process, answer.address, relay)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> int:
        """Wait for the process; it ends by itself only if it crashed."""
        return await self._process.wait()

    async def stop(self) -> None:
        if self._process.returncode is not None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_WITHIN)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._relay


async def _relay(lines: asyncio.StreamReader) -> None:
    """What the process logs goes through our own standard error, so that a live view is not torn."""
    while line := await lines.readline():
        sys.stderr.write(line.decode(errors="replace"))
