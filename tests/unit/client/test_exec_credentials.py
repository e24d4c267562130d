"""Credential plugins: real processes, run by a small script."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kubesched.client.credentials import Credential
from kubesched.client.exec_credentials import ExecCredentials
from kubesched.client.kubeconfig import ExecConfig, ExecEnvVar
from kubesched.clock import VirtualClock
from kubesched.errors import ConfigurationError, TransportError

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

# Counts its runs in a file, and prints a token that tells the run and what it was given.
SCRIPT = """
import json, os, pathlib, sys
runs = pathlib.Path(sys.argv[1])
count = int(runs.read_text() or 0) + 1 if runs.exists() else 1
runs.write_text(str(count))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
(runs.parent / "info").write_text(json.dumps(info))
status = json.loads(os.environ["STATUS"]) if "STATUS" in os.environ else {"token": f"t{count}"}
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


class Plugin:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()

    def source(self, *, status: Any = None, terminal: bool = False, **config: Any) -> ExecCredentials:
        env = (ExecEnvVar(name="STATUS", value=json.dumps(status)),) if status is not None else ()
        settings: dict[str, Any] = {
            "command": sys.executable,
            "args": ("-c", SCRIPT, str(self.folder / "runs")),
            "env": env,
            "api_version": V1,
            "interactive_mode": "IfAvailable",
            **config,
        }
        return ExecCredentials(
            ExecConfig(**settings),
            self.clock,
            cluster={"server": "https://c"},
            is_terminal=lambda: terminal,
        )

    @property
    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = json.loads((self.folder / "info").read_text())
        return info


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


async def test_one_run_serves_all_until_the_server_rejects_it(plugin: Plugin) -> None:
    """Concurrent requests share a run; a rejected credential is fetched again."""
    source = plugin.source()
    assert source.at_hand() is None
    first, second = await asyncio.gather(source.current(), source.current())
    assert first is second is source.at_hand()
    assert first.authorization == "Bearer t1"
    source.rejected(first)
    third = await source.current()
    assert third.authorization == "Bearer t2"
    source.rejected(first)
    assert await source.current() is third


async def test_an_expired_credential_is_fetched_anew(plugin: Plugin) -> None:
    """By the wall clock that the plugin speaks of."""
    source = plugin.source(status={"token": "t", "expirationTimestamp": "2023-11-14T23:13:20Z"})
    first = await source.current()
    plugin.clock.tick(3599)
    assert await source.current() is first
    plugin.clock.tick(2)
    assert source.at_hand() is None
    assert await source.current() is not first


async def test_a_client_certificate_from_the_plugin(plugin: Plugin) -> None:
    """Certificate and key, as one PEM."""
    source = plugin.source(status={"clientCertificateData": "CERT", "clientKeyData": "KEY"})
    assert (await source.current()).client_pem == b"CERT\nKEY"


async def test_null_stands_for_not_set(plugin: Plugin) -> None:
    """As in Go."""
    unset = {"expirationTimestamp": None, "clientCertificateData": None, "clientKeyData": None}
    assert await plugin.source(status={"token": "t", **unset}).current() == Credential(authorization="Bearer t")
    given = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    assert await plugin.source(status={"token": None, **given}).current() == Credential(client_pem=b"CERT\nKEY")


@pytest.mark.parametrize(
    ("config", "terminal", "spec"),
    [
        pytest.param({}, False, {"interactive": False}, id="no terminal"),
        pytest.param({}, True, {"interactive": True}, id="a terminal, if available"),
        pytest.param({"interactive_mode": "Never"}, True, {"interactive": False}, id="never, even with a terminal"),
        pytest.param(
            {"provide_cluster_info": True},
            False,
            {"interactive": False, "cluster": {"server": "https://c"}},
            id="with the cluster's data",
        ),
    ],
)
async def test_what_the_plugin_is_told(
    plugin: Plugin, config: dict[str, Any], terminal: bool, spec: dict[str, Any]
) -> None:
    """In KUBERNETES_EXEC_INFO."""
    await plugin.source(terminal=terminal, **config).current()
    assert plugin.info == {"kind": "ExecCredential", "apiVersion": V1, "spec": spec}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(
            {"command": "/does/not/exist", "install_hint": "get it\nthere"},
            r"getting credentials: exec: executable /does/not/exist not found \(get it there\)",
            id="no such command",
        ),
        pytest.param(
            {"args": ("-c", "raise SystemExit(3)")}, "exec: executable .* failed with exit code 3", id="it fails"
        ),
        pytest.param({"args": ("-c", "print(1)")}, "decoding stdout: Expected `object`", id="it prints nonsense"),
        pytest.param(
            {"args": ("-c", f'print(\'{{"apiVersion":"{V1BETA1}"}}\')')},
            f"configured to use API version {V1}, plugin returned version {V1BETA1}",
            id="another version",
        ),
        pytest.param(
            {"args": ("-c", f'print(\'{{"apiVersion":"{V1}"}}\')')}, "didn't return a status field", id="no status"
        ),
        pytest.param({"status": {}}, "didn't return a token or cert/key pair", id="an empty status"),
        pytest.param(
            {"status": {"clientKeyData": "k"}}, "returned only certificate or key, not both", id="half a certificate"
        ),
        pytest.param(
            {"interactive_mode": "Always"}, "standard input is not a terminal", id="interactive without a terminal"
        ),
    ],
)
async def test_failures_are_told(plugin: Plugin, config: dict[str, Any], message: str) -> None:
    """As client-go tells them; nothing was sent to the server, and the next request tries again."""
    source = plugin.source(**config)
    for _ in range(2):
        with pytest.raises(TransportError, match=message) as failed:
            await source.current()
        assert not failed.value.request_sent


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param({"command": ""}, "exec.command must be specified", id="no command"),
        pytest.param({"api_version": "v9"}, 'invalid apiVersion "v9"', id="an unknown version"),
        pytest.param(
            {"env": (ExecEnvVar(value="x"),)}, "env variable name must be specified", id="a nameless variable"
        ),
        pytest.param({"interactive_mode": ""}, 'invalid interactiveMode ""', id="v1 wants the mode said"),
        pytest.param(
            {"interactive_mode": "Maybe", "api_version": V1BETA1}, 'invalid interactiveMode "Maybe"', id="unknown mode"
        ),
    ],
)
def test_mistakes_in_the_configuration(plugin: Plugin, config: dict[str, Any], message: str) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigurationError, match=message):
        plugin.source(**config)


async def test_v1beta1_needs_no_mode(plugin: Plugin) -> None:
    """It defaults to "if available"."""
    source = plugin.source(api_version=V1BETA1, interactive_mode="")
    assert (await source.current()).authorization == "Bearer t1"
    assert plugin.info["apiVersion"] == V1BETA1
