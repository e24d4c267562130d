"""Processes around a benchmark: schedulers under test, and the embedded API server."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from kubesched.errors import KubeschedError

KUBECONFIG: Final = "{kubeconfig}"
PATIENCE: Final = 10.0
"""Seconds until a process that was asked to stop is made to."""
STARTS_WITHIN: Final = 30.0


class Process:
    """A command with its log in a file. It does not outlive the benchmark's `stop`."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._log: IO[bytes] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._cpu_before = 0.0
        self._peak_before = 0.0

    async def start(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.DEVNULL, stdout=self._log, stderr=self._log
            )
        except OSError as error:
            self._log.close()
            raise KubeschedError(f"cannot start {self._command[0]}: {error.strerror}") from error

    async def stop(self) -> None:
        """End the process, if it runs. Idempotent."""
        if self._process is None:
            return
        self._cpu_before, self._peak_before = self.cpu_seconds(), self.peak_rss_mib()
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), PATIENCE)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        self._process = None
        if self._log is not None:
            self._log.close()

    async def ended(self) -> None:
        """Wait until the process ends by itself."""
        if self._process is not None:
            await self._process.wait()

    def raise_if_dead(self) -> None:
        if self._process is None or self._process.returncode is None or self._log is None:
            return
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        raise KubeschedError(
            f"{self._command[0]} ended with code {self._process.returncode}: {lines[-1] if lines else ''}"
        )

    def cpu_seconds(self) -> float:
        """CPU time of all runs so far; 0 where there is no /proc."""
        fields = self._proc("stat").rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0
        return self._cpu_before + ticks / os.sysconf("SC_CLK_TCK")

    def peak_rss_mib(self) -> float:
        lines = dict(line.partition(":")[::2] for line in self._proc("status").splitlines())
        now = int(lines["VmHWM"].split()[0]) / 1024 if "VmHWM" in lines else 0.0
        return max(self._peak_before, now)

    def _proc(self, file: str) -> str:
        if self._process is None:
            return ""
        try:
            return Path("/proc", str(self._process.pid), file).read_text()
        except OSError:
            return ""


def our_scheduler(kubeconfig: Path, gates: Mapping[str, bool], config: Path | None) -> list[str]:
    """`kubesched run` against an API server, without the limits and the election of production."""
    flags = {
        "leader-elect": "false",
        "secure-port": "0",
        "kubeconfig": str(kubeconfig),
        "kube-api-qps": "5000",
        "kube-api-burst": "5000",
        "feature-gates": ",".join(f"{name}={str(value).lower()}" for name, value in gates.items()),
        "config": str(config) if config else "",
    }
    given = [f"--{name}={value}" for name, value in flags.items() if value]
    return [sys.executable, "-P", "-m", "kubesched", "run", *given]


def other_scheduler(command: str, kubeconfig: Path) -> list[str]:
    """A user's command line, with the kubeconfig in its place."""
    return [word.replace(KUBECONFIG, str(kubeconfig)) for word in shlex.split(command)]


class EmbeddedServer:
    """The embedded API server, in a process and a folder of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.kubeconfig = Path(self._folder.name, "kubeconfig")
        module = ("-P", "-m", "kubesched.cluster.apiserver")
        command = [sys.executable, *module, "--detached", f"--kubeconfig={self.kubeconfig}"]
        self._process = Process(command)

    async def start(self) -> None:
        await self._process.start()
        async with asyncio.timeout(STARTS_WITHIN):
            while not self.kubeconfig.exists():
                self._process.raise_if_dead()
                await asyncio.sleep(0.05)

    async def stop(self) -> None:
        await self._process.stop()
        self._folder.cleanup()
