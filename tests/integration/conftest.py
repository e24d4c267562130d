"""`kubesched up` as a user starts it: a process, its output, its kubeconfig."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from kubesched.client.connect import from_kubeconfig
from kubesched.client.http_transport import HttpTransport
from kubesched.client.kubeconfig import load
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.errors import ApiStatusError
from kubesched.objects.base import Json

# A wait ends when its condition holds; this is only when to give up.
TIME_LIMIT = 120.0


class RunningUp:
    """A `kubesched up` process. `get` asks its API server with the project's own client."""

    def __init__(self, process: subprocess.Popen[str], kubeconfig: Path) -> None:
        self.process = process
        self.kubeconfig = kubeconfig
        self.lines: list[str] = []

    def read_until(self, text: str) -> None:
        """Read the output up to a line that contains `text`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return
        raise AssertionError(f"{text!r} never came: {self.lines}")

    def get(self, path: str) -> Json:
        return asyncio.run(self._call("GET", path))

    def send(self, method: str, path: str, value: Json) -> Json:
        return asyncio.run(self._call(method, path, msgspec.json.encode(value)))

    def wait_for(self, path: str, condition: Callable[[Json], bool]) -> Json:
        """Ask again until the object is as it should be; an object that is not there yet is an empty one."""

        async def wait() -> Json:
            clock = SystemClock()
            end = clock.monotonic() + TIME_LIMIT
            while True:
                try:
                    value = await self._call("GET", path)
                except ApiStatusError as error:
                    if error.code != 404:
                        raise
                    value = {}
                if condition(value):
                    return value
                assert clock.monotonic() < end, f"not as wished in {TIME_LIMIT} seconds: {value}"
                await clock.sleep(0.1)

        return asyncio.run(wait())

    def kubectl(self, *arguments: str) -> str:
        done = subprocess.run(
            ["kubectl", f"--kubeconfig={self.kubeconfig}", *arguments],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=TIME_LIMIT)

    async def _call(self, method: str, path: str, body: bytes | None = None) -> Json:
        clock = SystemClock()
        transport = HttpTransport(from_kubeconfig(load(str(self.kubeconfig)), clock))
        try:
            answer = await RestClient(transport, clock, Random(1)).call(method, path, body=body)
        finally:
            await transport.close()
        return msgspec.json.decode(answer, type=Json)


Start = Callable[..., RunningUp]


@pytest.fixture
def start_up(tmp_path: Path) -> Iterator[Start]:
    """Starts `kubesched up --quiet` on a free port with these arguments, and returns when it is up."""
    started: list[RunningUp] = []

    def start(*arguments: str, ready: bool = True) -> RunningUp:
        kubeconfig = tmp_path / "kubeconfig"
        command = [sys.executable, "-m", "kubesched", "up", "--quiet", "--kubeconfig", str(kubeconfig)]
        if "--port" not in arguments:
            command += ["--port", "0"]
        process = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        up = RunningUp(process, kubeconfig)
        started.append(up)
        if ready:
            up.read_until("export KUBECONFIG=")
        return up

    yield start
    for up in started:
        if up.process.poll() is None:
            up.process.kill()
        up.process.wait()
        assert up.process.stdout is not None
        up.process.stdout.close()
