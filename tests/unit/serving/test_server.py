"""Real HTTPS on loopback: certificates, tokens, renewal, stopping."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from kubesched.clock import Clock, SystemClock
from kubesched.errors import ConfigurationError, TransportError
from kubesched.serving.app import Pages, build_app
from kubesched.serving.authentication import Authenticator
from kubesched.serving.authorization import AuthorizationOptions, Authorizer
from kubesched.serving.connection import HEAD_BYTES
from kubesched.serving.server import SecureServer, ServingOptions, bind
from kubesched.serving.tls import ServingCertificates, TlsOptions
from kubesched.serving.trust import AuthenticationOptions, TrustLoader
from kubesched.telemetry.logging import Logger
from kubesched.telemetry.metrics import SchedulerMetrics

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Authority, FakeReviews

LOOPBACK = ServingOptions(bind_address="127.0.0.1", port=0)


@asynccontextmanager
async def serving(
    reviews: FakeReviews,
    tls: TlsOptions,
    read_config_map: Callable[[], Mapping[str, str]],
    clock: Clock | None = None,
) -> AsyncIterator[SecureServer]:
    clock = clock or SystemClock()

    async def read() -> Mapping[str, str]:
        return read_config_map()

    loader = TrustLoader(AuthenticationOptions(), read)
    authenticator = Authenticator(
        trust=await loader.load(), reviews=reviews, token_cache_ttl=timedelta(seconds=10), clock=clock
    )
    server = SecureServer(
        listener=bind(LOOPBACK),
        certificates=ServingCertificates(tls, clock),
        authenticator=authenticator,
        trust_loader=loader,
        clock=clock,
    )
    registry = CollectorRegistry()
    pages = Pages(
        registry=registry,
        reset_metrics=SchedulerMetrics(registry).reset,
        config=dict,
        pods=list,
        is_leader=lambda: True,
    )
    authorizer = Authorizer(AuthorizationOptions(), reviews=reviews, clock=clock)
    app = build_app(pages, authenticator=authenticator, authorizer=authorizer, clock=clock, log=Logger())
    task = asyncio.create_task(server.serve(app), name="serving")
    try:
        yield server
    finally:
        server.stop()
        await asyncio.wait([task])


async def get(
    server: SecureServer,
    path: str,
    *,
    ca_pem: str = "",
    client: tuple[str, str] | None = None,
    token: str = "",
) -> tuple[int, str]:
    """GET over a new connection, off the loop's thread."""

    def request() -> tuple[int, str]:
        context = ssl.create_default_context(cadata=ca_pem) if ca_pem else ssl._create_unverified_context()
        if client is not None:
            context.load_cert_chain(*client)
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    return await asyncio.to_thread(request)


async def test_clients_with_certificates_tokens_and_nothing(
    cluster_ca: Authority, reviews: FakeReviews, tmp_path: Path
) -> None:
    """One server, each kind of client; the serving certificate is verified by the client, too."""
    cert_file, key_file = cluster_ca.issue("scheduler", dns=("localhost",)).write(tmp_path, "serving")
    prometheus = cluster_ca.issue("prometheus").write(tmp_path, "prometheus")
    strangers = [
        type(cluster_ca)("intruder-ca").issue("prometheus").write(tmp_path, "intruder"),
        cluster_ca.issue("prometheus", only_for_serving=True).write(tmp_path, "server"),
    ]
    published = {"client-ca-file": cluster_ca.pem}
    async with serving(reviews, TlsOptions(cert_file=cert_file, key_file=key_file), lambda: published) as server:
        assert await get(server, "/livez", ca_pem=cluster_ca.pem) == (200, "ok")
        status, body = await get(server, "/metrics", ca_pem=cluster_ca.pem)
        assert (status, json.loads(body)["reason"]) == (403, "Forbidden")
        status, body = await get(server, "/metrics", client=prometheus)
        assert status == 200
        assert "scheduler_preemption_attempts_total 0.0" in body
        assert (await get(server, "/metrics", token="good"))[0] == 200
        assert (await get(server, "/metrics", token="bad"))[0] == 401
        for stranger in strangers:
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                await get(server, "/metrics", client=stranger)


async def test_renewed_certificates_and_authorities_need_no_restart(
    cluster_ca: Authority, proxy_ca: Authority, reviews: FakeReviews, tmp_path: Path
) -> None:
    """Files and the cluster's ConfigMap are looked at again; new connections see the change."""
    cert_file, key_file = cluster_ca.issue("old", dns=("localhost",)).write(tmp_path, "serving")
    prometheus = proxy_ca.issue("prometheus").write(tmp_path, "prometheus")
    published: dict[str, str] = {}
    async with serving(reviews, TlsOptions(cert_file=cert_file, key_file=key_file), lambda: published) as server:
        assert (await get(server, "/metrics", client=prometheus))[0] == 403
        published["client-ca-file"] = proxy_ca.pem
        proxy_ca.issue("new", dns=("localhost",)).write(tmp_path, "serving")
        await server.refresh()
        assert (await get(server, "/metrics", ca_pem=proxy_ca.pem, client=prometheus))[0] == 200


async def test_authorities_that_are_not_known_yet_are_looked_for_more_often(
    cluster_ca: Authority, reviews: FakeReviews
) -> None:
    """When a control plane boots, the API server may be later than we are."""

    class Noted(SystemClock):
        def __init__(self) -> None:
            self.pauses: list[float] = []
            self.has_seen_enough = asyncio.Event()

        async def sleep(self, seconds: float) -> None:
            self.pauses.append(seconds)
            if len(self.pauses) == 5:
                self.has_seen_enough.set()
            await asyncio.sleep(0.001)

    def read() -> Mapping[str, str]:
        if len(clock.pauses) < 3:
            raise TransportError("connection refused")
        return {"client-ca-file": cluster_ca.pem}

    clock = Noted()
    async with serving(reviews, TlsOptions(), read, clock):
        await asyncio.wait_for(clock.has_seen_enough.wait(), timeout=60)
    assert clock.pauses[:5] == [5.0, 5.0, 5.0, 60.0, 60.0]


async def test_stopping_closes_the_port(reviews: FakeReviews) -> None:
    """Graceful termination ends with the server: nobody is accepted afterwards."""
    async with serving(reviews, TlsOptions(), dict) as server:
        port = server.port
        assert (await get(server, "/healthz"))[0] == 200
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_a_taken_port_is_one_clear_line() -> None:
    """At start, before anything else."""
    with bind(LOOPBACK) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"failed to listen on 127.0.0.1:{port}: Address already in use"):
            bind(ServingOptions(bind_address="127.0.0.1", port=port))


def test_a_port_can_be_shared_if_asked_for() -> None:
    """--permit-port-sharing: SO_REUSEPORT, for a rolling restart on the host network."""
    options = ServingOptions(bind_address="127.0.0.1", port=0, permit_port_sharing=True)
    with bind(options) as first:
        port = first.getsockname()[1]
        bind(ServingOptions(bind_address="127.0.0.1", port=port, permit_port_sharing=True)).close()


@pytest.mark.parametrize("address", ["0.0.0.0", "::", ""])
def test_an_unspecified_address_means_all_interfaces(address: str) -> None:
    """Reachable by IPv4, whatever the family of the wildcard."""
    with bind(ServingOptions(bind_address=address, port=0)) as listener:
        socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=1).close()


def test_a_wrong_address_is_refused() -> None:
    """Host names are none."""
    with pytest.raises(ConfigurationError, match="--bind-address: 'localhost' does not appear to be"):
        bind(ServingOptions(bind_address="localhost"))


async def test_a_cancelled_server_leaves_no_port_open(reviews: FakeReviews) -> None:
    """However the scheduler ends."""
    async with serving(reviews, TlsOptions(), dict) as server:
        port = server.port
        assert (await get(server, "/healthz"))[0] == 200
        (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "serving"]
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1)


async def converse(server: SecureServer, *parts: bytes) -> bytes:
    """Send these bytes as a stranger, and read what comes until the server hangs up."""
    tls = ssl._create_unverified_context()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
    try:
        with contextlib.suppress(ConnectionError):  # the server need not read to the end
            for part in parts:
                writer.write(part)
                await writer.drain()
        return await asyncio.wait_for(reader.read(), timeout=30)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_head_without_end_is_not_kept_in_memory(reviews: FakeReviews) -> None:
    """Header fields beyond a mebibyte end the connection, whoever sends them; what follows is not read."""
    async with serving(reviews, TlsOptions(), dict) as server:
        head = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Filler: "
        answer = await converse(server, head, b"a" * HEAD_BYTES)
        assert answer.startswith(b"HTTP/1.1 431 ")
        # Who goes on sending meets a closed connection, and may not get to see the answer.
        assert not (await converse(server, head, *[b"a" * HEAD_BYTES] * 8)).startswith(b"HTTP/1.1 200")
        assert await get(server, "/livez") == (200, "ok")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((), id="nothing at all"),
        pytest.param((b"GET /livez HTTP/1.1\r\nHost: x\r\n",), id="a head that never ends"),
    ],
)
async def test_a_connection_that_asks_nothing_is_closed(
    reviews: FakeReviews, monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    """Idle strangers would use up the process's open files."""
    monkeypatch.setattr("kubesched.serving.connection.HEAD_SECONDS", 0.05)
    async with serving(reviews, TlsOptions(), dict) as server:
        assert await converse(server, *parts) == b""


async def test_requests_in_turn_each_have_their_own_time_and_room(reviews: FakeReviews) -> None:
    """The bounds are those of one head, not of a connection."""
    async with serving(reviews, TlsOptions(), dict) as server:
        request = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Filler: " + b"a" * (1 << 19) + b"\r\n"
        last = request + b"Connection: close\r\n"
        answer = await converse(server, *(head + b"\r\n" for head in (request, request, request, last)))
        assert answer.count(b"HTTP/1.1 200 OK") == 4
