"""The embedded API server in a process of its own: for tests of whatever speaks to one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

from kubesched.errors import KubeschedError

STARTS_WITHIN: Final = 30.0
STOPS_WITHIN: Final = 10.0


class ServerProcessError(KubeschedError):
    """The API server's process ended before it served."""


class ApiServerProcess:
    """Runs `python -m kubesched.cluster.apiserver`. The child stops when this process does, however it ends."""

    def __init__(self, process: asyncio.subprocess.Process, address: str, kubeconfig: Path) -> None:
        self._process = process
        self.address = address
        self.kubeconfig = kubeconfig

    @classmethod
    async def start(
        cls,
        kubeconfig: Path,
        *,
        data_dir: Path | None = None,
        insecure_http: bool = False,
    ) -> ApiServerProcess:
        """Return when the server serves and its kubeconfig file is written."""
        arguments = ["-P", "-m", "kubesched.cluster.apiserver", "--kubeconfig", str(kubeconfig)]
        if data_dir is not None:
            arguments += ["--data-dir", str(data_dir)]
        if insecure_http:
            arguments.append("--insecure-http")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=pipe, stdout=pipe)
        assert process.stdout is not None
        async with asyncio.timeout(STARTS_WITHIN):
            line = await process.stdout.readline()
        if not line:
            code = await process.wait()
            raise ServerProcessError(f"the API server's process ended with code {code} before it served")
        return cls(process, line.decode().strip(), kubeconfig)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def stop(self) -> None:
        """Let the server end its watches and close its store; kill it if that takes too long."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(STOPS_WITHIN):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
