"""Exec credential plugins: a command prints an ExecCredential (client.authentication.k8s.io v1 or v1beta1).

The answer is kept until it expires or the server rejects it; concurrent requests wait for one run.
Messages are those of client-go's exec authenticator.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from kubesched.client.credentials import Credential, bearer, credentials_failed
from kubesched.client.kubeconfig import ExecConfig
from kubesched.clock import Clock
from kubesched.errors import ConfigurationError

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_INFO: Final = "KUBERNETES_EXEC_INFO"
TIME_LIMIT: Final = 60.0


class ExecObserver(Protocol):
    """Who counts plugin runs (`rest_client_exec_plugin_*`)."""

    def exec_plugin_called(self, *, exit_code: int, call_status: str) -> None: ...


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    """Plugins may write null for what they do not set."""

    expiration_timestamp: datetime | None = None
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class ExecCredentials:
    """Credentials from a plugin. `cluster` is what `provideClusterInfo` hands to it."""

    def __init__(
        self,
        plugin: ExecConfig,
        clock: Clock,
        *,
        cluster: Mapping[str, Any] | None = None,
        observer: ExecObserver | None = None,
        environ: Mapping[str, str] = os.environ,
        is_terminal: Callable[[], bool] = sys.stdin.isatty,
    ) -> None:
        problems = check(plugin)
        if problems:
            raise ConfigurationError(problems)
        self._plugin = plugin
        self._clock = clock
        self._cluster = cluster
        self._observer = observer
        self._environ = environ
        self._is_terminal = is_terminal
        self._credential: Credential | None = None
        self._expires_at: float | None = None
        self._running: asyncio.Task[Credential] | None = None

    def at_hand(self) -> Credential | None:
        if self._expires_at is None or self._clock.time() <= self._expires_at:
            return self._credential
        return None

    async def current(self) -> Credential:
        if (credential := self.at_hand()) is not None:
            return credential
        if self._running is None:
            self._running = asyncio.create_task(self._refresh())
        # Shielded: a request that is given up must not take the run away from the others.
        return await asyncio.shield(self._running)

    def rejected(self, credential: Credential) -> None:
        if credential is self._credential:
            self._credential = None

    async def _refresh(self) -> Credential:
        try:
            answer = _parse(self._plugin.api_version, await self._run())
        finally:
            self._running = None
        self._expires_at = answer.expiration_timestamp.timestamp() if answer.expiration_timestamp else None
        pem = f"{answer.client_certificate_data}\n{answer.client_key_data}" if answer.client_key_data else ""
        self._credential = Credential(authorization=bearer(answer.token or ""), client_pem=pem.encode())
        return self._credential

    async def _run(self) -> bytes:
        interactive = self._interactive()
        environ = {**self._environ, **{variable.name: variable.value for variable in self._plugin.env}}
        environ[EXEC_INFO] = msgspec.json.encode(self._info(interactive=interactive)).decode()
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                env=environ,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            self._count(
                1, "plugin_not_found_error" if isinstance(error, FileNotFoundError) else "client_internal_error"
            )
            raise credentials_failed(self._start_failed(error)) from error
        return await self._output(process)

    async def _output(self, process: asyncio.subprocess.Process) -> bytes:
        try:
            async with asyncio.timeout(TIME_LIMIT):
                output, _ = await process.communicate()
        except TimeoutError:
            problem = f"exec: executable {self._plugin.command} did not finish within {TIME_LIMIT:g}s"
            raise credentials_failed(problem) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
        code = process.returncode or 0
        self._count(code, "plugin_execution_error" if code else "no_error")
        if code:
            raise credentials_failed(f"exec: executable {self._plugin.command} failed with exit code {code}")
        return output

    def _info(self, *, interactive: bool) -> dict[str, Any]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.provide_cluster_info and self._cluster is not None:
            spec["cluster"] = self._cluster
        return {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}

    def _interactive(self) -> bool:
        if self._plugin.interactive_mode == "Never":
            return False
        terminal = self._is_terminal()
        if self._plugin.interactive_mode == "Always" and not terminal:
            raise credentials_failed("exec plugin cannot support interactive mode: standard input is not a terminal")
        return terminal

    def _start_failed(self, error: OSError) -> str:
        if not isinstance(error, FileNotFoundError):
            return f"exec: executable {self._plugin.command}: {error.strerror}"
        problem = f"exec: executable {self._plugin.command} not found"
        hint = " ".join(self._plugin.install_hint.split())
        return f"{problem} ({hint})" if hint else problem

    def _count(self, exit_code: int, call_status: str) -> None:
        if self._observer is not None:
            self._observer.exec_plugin_called(exit_code=exit_code, call_status=call_status)


def check(plugin: ExecConfig) -> list[str]:
    """What is wrong with a plugin's configuration (clientcmd's validateAuthInfo)."""
    problems = []
    if not plugin.command:
        problems.append("exec.command must be specified")
    if plugin.api_version not in API_VERSIONS:
        problems.append(f'exec.apiVersion: exec plugin: invalid apiVersion "{plugin.api_version}"')
    if any(not variable.name for variable in plugin.env):
        problems.append("exec.env: env variable name must be specified")
    unsaid_is_fine = plugin.api_version == API_VERSIONS[1]  # v1beta1 defaults to IfAvailable, v1 wants it said
    if plugin.interactive_mode not in ("Never", "IfAvailable", "Always") and (
        plugin.interactive_mode or not unsaid_is_fine
    ):
        problems.append(f'exec.interactiveMode: invalid interactiveMode "{plugin.interactive_mode}"')
    return problems


def _parse(api_version: str, output: bytes) -> _Status:
    try:
        credential = msgspec.json.decode(output, type=_ExecCredential)
    except msgspec.MsgspecError as error:
        raise credentials_failed(f"decoding stdout: {error}") from error
    problem = _problem(api_version, credential)
    if problem:
        raise credentials_failed(problem)
    assert credential.status is not None
    return credential.status


def _problem(api_version: str, credential: _ExecCredential) -> str:
    status = credential.status
    if credential.api_version != api_version:
        return (
            f"exec plugin is configured to use API version {api_version}, "
            f"plugin returned version {credential.api_version}"
        )
    if status is None:
        return "exec plugin didn't return a status field"
    if not (status.token or status.client_certificate_data or status.client_key_data):
        return "exec plugin didn't return a token or cert/key pair"
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        return "exec plugin returned only certificate or key, not both"
    return ""
