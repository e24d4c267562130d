"""A running server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import stat
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched.cluster.apiserver.server import ApiServer
from kubesched.errors import ConfigurationError
from kubesched.open_files import raise_open_files_limit
from kubesched.testing.api_server_process import ApiServerProcess


async def fetch(server: ApiServer, path: str, *, token: str | None = None, body: Any = None) -> tuple[int, Any]:
    """A request over the network, from a thread: the server shares this loop."""

    def send() -> tuple[int, Any]:
        context = ssl.create_default_context(cadata=server.certificate.decode()) if server.certificate else None
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(server.address + path, data, {"Content-Type": "application/json"})
        request.add_header("Authorization", f"Bearer {server.token if token is None else token}")
        try:
            with urllib.request.urlopen(request, context=context, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    return await asyncio.to_thread(send)


async def test_tls_and_token(tmp_path: Path) -> None:
    """Clients verify the server with its own certificate; without the token they get nothing."""
    server = ApiServer()
    await server.start()
    try:
        assert server.address.startswith("https://127.0.0.1:")
        assert (await fetch(server, "/api/v1/namespaces/default"))[0] == 200
        assert (await fetch(server, "/api/v1/namespaces/default", token="other"))[0] == 401
        server.write_kubeconfig(tmp_path / "kube" / "config")
        written = yaml.safe_load((tmp_path / "kube" / "config").read_text())
        assert written["users"][0]["user"]["token"] == server.token
        assert stat.S_IMODE((tmp_path / "kube" / "config").stat().st_mode) == 0o600
    finally:
        await server.stop()
    await server.stop()


async def test_a_kubeconfig_of_another_cluster_is_left_alone(tmp_path: Path) -> None:
    """It may be the only way to that cluster; our own is replaced, and closed to others."""
    server = ApiServer(insecure_http=True)
    await server.start()
    try:
        config = tmp_path / "config"
        config.write_text("users: [{name: production}]")
        with pytest.raises(ConfigurationError, match="another cluster"):
            server.write_kubeconfig(config)
        assert config.read_text() == "users: [{name: production}]"
        config.write_text("users: [{name: kubesched-admin}]")
        config.chmod(0o644)
        server.write_kubeconfig(config)
        assert yaml.safe_load(config.read_text())["clusters"][0]["cluster"]["server"] == server.address
        assert stat.S_IMODE(config.stat().st_mode) == 0o600
    finally:
        await server.stop()


async def test_plain_http_needs_no_token() -> None:
    """For curl on loopback."""
    server = ApiServer(insecure_http=True)
    await server.start()
    try:
        assert server.address.startswith("http://")
        assert (await fetch(server, "/version", token=""))[1]["gitVersion"] == "v1.37.1"
    finally:
        await server.stop()


async def test_a_port_that_is_taken_is_an_error() -> None:
    """Not a silent second choice."""
    first = ApiServer(insecure_http=True)
    await first.start()
    second = ApiServer(insecure_http=True, port=first.port)
    with pytest.raises(OSError, match="in use"):
        await second.start()
    await first.stop()


async def test_a_data_directory_keeps_objects_certificate_and_token(tmp_path: Path) -> None:
    """A kubeconfig file stays valid over a restart, and versions go on."""
    seen = []
    for attempt in range(2):
        server = ApiServer(data_dir=tmp_path, port=0)
        await server.start()
        name = f"m{attempt}"
        code, made = await fetch(server, "/api/v1/namespaces/default/configmaps", body={"metadata": {"name": name}})
        assert code == 201
        names = [item["metadata"]["name"] for item in (await fetch(server, "/api/v1/configmaps"))[1]["items"]]
        seen.append((server.token, server.certificate, names, int(made["metadata"]["resourceVersion"])))
        await server.stop()
    assert seen[0][:2] == seen[1][:2]
    assert seen[1][2] == ["m0", "m1"]
    assert seen[1][3] > seen[0][3]


async def test_a_data_directory_belongs_to_one_server(tmp_path: Path) -> None:
    """The second one does not start, and says why; with the first one gone, it does."""
    first = ApiServer(data_dir=tmp_path, insecure_http=True)
    await first.start()
    with pytest.raises(ConfigurationError, match=rf"{tmp_path} is in use by another process \(pid {os.getpid()}\)"):
        ApiServer(data_dir=tmp_path, insecure_http=True)
    await first.stop()
    second = ApiServer(data_dir=tmp_path, insecure_http=True)
    await second.start()
    await second.stop()


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    """One clear line."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"file is a file$"):
        ApiServer(data_dir=tmp_path / "file")


async def test_a_process_of_its_own(tmp_path: Path) -> None:
    """It serves, writes its kubeconfig and goes when it is told to."""
    process = await ApiServerProcess.start(tmp_path / "config", insecure_http=True)
    try:
        assert process.kubeconfig.exists()
        with await asyncio.to_thread(urllib.request.urlopen, f"{process.address}/readyz") as answer:
            assert answer.read() == b"ok"
    finally:
        await process.stop()


async def test_idle_clients_do_not_delay_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not even over TLS, where a client that does not read cannot take leave."""
    server = await ApiServerProcess.start(tmp_path / "config")
    port = int(server.address.rpartition(":")[2])
    client = ssl._create_unverified_context().wrap_socket(socket.create_connection(("127.0.0.1", port)))
    with client:
        await server.stop()
    assert "timeout graceful shutdown exceeded" not in capfd.readouterr().err


async def test_silent_connections_hold_nobody_up(tmp_path: Path) -> None:
    """A thousand connections that send nothing, or half a request, cost others nothing."""
    raise_open_files_limit()
    server = await ApiServerProcess.start(tmp_path / "config", insecure_http=True)
    port = int(server.address.rpartition(":")[2])
    writers = []
    try:
        for index in range(1000):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            if index % 2:
                writer.write(b"POST /api/v1/namespaces HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
            writers.append(writer)
        for _ in range(20):
            with await asyncio.to_thread(
                urllib.request.urlopen, f"{server.address}/api/v1/namespaces", timeout=60
            ) as got:
                assert got.status == 200
    finally:
        for writer in writers:
            writer.close()
        await server.stop()
