"""The transport against a real server on the loopback: answers, streams, TLS, credentials."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pyreqwest.exceptions import PyreqwestError, RequestError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kubesched.client import connect, http_transport, kubeconfig
from kubesched.client.authorities import AuthorityFile
from kubesched.client.connection import Connection, Impersonation, TLSOptions
from kubesched.client.credentials import RECHECK_SECONDS, Credential, FileCredentials, FixedCredentials
from kubesched.client.http_transport import HttpTransport
from kubesched.client.rest import RestClient
from kubesched.client.transport import raise_for_status
from kubesched.clock import VirtualClock
from kubesched.errors import ApiStatusError, ConfigurationError, TransportError


class ApiServer:
    """Echoes requests, streams two events and then waits, refuses tokens that it does not know."""

    def __init__(self) -> None:
        self.token = ""
        self.stop = asyncio.Event()
        self.seen: list[Request] = []
        self.app = Starlette(
            routes=[
                Route("/echo/{rest:path}", self.echo, methods=["GET", "POST", "PATCH"]),
                Route("/busy", self.busy),
                Route("/slow", self.slow),
                Route("/watch", self.watch),
                Route("/gone", self.gone),
            ]
        )

    def refused(self, request: Request) -> Response | None:
        self.seen.append(request)
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return JSONResponse({"reason": "Unauthorized", "message": "who are you"}, 401)
        return None

    async def echo(self, request: Request) -> Response:
        body = await request.body()
        refusal = self.refused(request)
        headers = request.headers
        content = {
            "method": request.method,
            "query": request.url.query,
            "body": body.decode(),
            "type": headers.get("content-type", ""),
            "groups": headers.getlist("impersonate-group"),
            "extra": headers.get("impersonate-extra-a%2fb", ""),
            "host": headers["host"],
        }
        return refusal or JSONResponse(content)

    async def busy(self, request: Request) -> Response:
        return JSONResponse({"reason": "TooManyRequests", "message": "later"}, 429, {"Retry-After": "7"})

    async def slow(self, request: Request) -> Response:
        await self.stop.wait()
        return Response()

    async def gone(self, request: Request) -> Response:
        return JSONResponse({"code": 410, "reason": "Expired", "message": "too old"}, 410)

    async def watch(self, request: Request) -> Response:
        async def events() -> AsyncGenerator[bytes, None]:
            yield b'{"n":1}\n{"n":2}\n'
            await self.stop.wait()

        return self.refused(request) or StreamingResponse(events())


class Running:
    def __init__(self, api: ApiServer, port: int) -> None:
        self.api = api
        self.port = port
        self._transports: list[HttpTransport] = []

    def connect(self, *, https: bool = False, **options: Any) -> HttpTransport:
        scheme = "https" if https else "http"
        options.setdefault("server", f"{scheme}://127.0.0.1:{self.port}")
        transport = HttpTransport(Connection(**options))
        self._transports.append(transport)
        return transport

    async def close(self) -> None:
        self.api.stop.set()
        for transport in self._transports:
            await transport.close()


@asynccontextmanager
async def serving(**tls: Any) -> AsyncIterator[Running]:
    api = ApiServer()
    config = uvicorn.Config(
        api.app,
        host="127.0.0.1",
        port=0,
        log_level="critical",
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
        **tls,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.005)
    running = Running(api, server.servers[0].sockets[0].getsockname()[1])
    try:
        yield running
    finally:
        await running.close()
        server.should_exit = True
        await task


async def answer(transport: HttpTransport, path: str = "/echo/x", **options: Any) -> dict[str, Any]:
    response = await transport.request("GET", path, time_limit=60.0, **options)
    raise_for_status(response, method="GET", url=path)
    parsed: dict[str, Any] = json.loads(response.body)
    return parsed


async def test_sends_and_receives() -> None:
    """Method, query, body and its type."""
    async with serving() as running:
        transport = running.connect()
        response = await transport.request(
            "PATCH",
            "/echo/x",
            query="a=b%20c",
            body=b"{}",
            content_type="application/merge-patch+json",
            time_limit=60.0,
        )
        assert response.status == 200
        assert b'"method":"PATCH","query":"a=b%20c","body":"{}","type":"application/merge-patch+json"' in response.body
        assert transport.host == f"127.0.0.1:{running.port}"


async def test_an_answer_that_nobody_wants_is_not_read() -> None:
    """Its length is known; a failure is told in the server's words all the same."""
    async with serving() as running:
        transport = running.connect()
        read = await transport.request("GET", "/echo/x", time_limit=60.0)
        discarded = await transport.request("GET", "/echo/x", time_limit=60.0, discard=True)
        assert (discarded.status, discarded.body, discarded.discarded_bytes) == (200, b"", len(read.body))
        refused = await transport.request("GET", "/busy", time_limit=60.0, discard=True)
        assert (refused.status, refused.discarded_bytes) == (429, 0)
        assert b"later" in refused.body


async def test_a_path_in_the_servers_url_comes_first() -> None:
    """As clusters behind a gateway have it."""
    async with serving() as running:
        transport = running.connect(server=f"http://127.0.0.1:{running.port}/echo")
        assert (await answer(transport, "/deeper"))["method"] == "GET"


async def test_impersonates() -> None:
    """Groups are repeated, keys of extra values escaped."""
    async with serving() as running:
        who = Impersonation(user="u", groups=("g1", "g2"), extra={"a/b": ("c",)})
        got = await answer(running.connect(impersonate=who))
        assert (got["groups"], got["extra"]) == (["g1", "g2"], "c")


async def test_failures_come_with_the_servers_words() -> None:
    """Status body and Retry-After."""
    async with serving() as running:
        response = await running.connect().request("GET", "/busy", time_limit=60.0)
        with pytest.raises(ApiStatusError, match="429 TooManyRequests: later") as refused:
            raise_for_status(response, method="GET", url="/busy")
        assert refused.value.retry_after == 7.0


async def test_a_closed_port_is_told_as_not_sent() -> None:
    """Nothing was sent: even a create may be tried again."""
    async with serving() as running:
        port = running.port
    with pytest.raises(TransportError, match=f"GET http://127.0.0.1:{port}/x: .*Connection refused") as failed:
        await HttpTransport(Connection(server=f"http://127.0.0.1:{port}")).request("GET", "/x", time_limit=60.0)
    assert not failed.value.request_sent


async def test_a_connection_that_closes_under_a_request_may_have_been_heard() -> None:
    """The server read the request and died: a create must not be repeated blindly."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        transport = HttpTransport(Connection(server=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        with pytest.raises(TransportError, match="connection closed before message completed") as failed:
            await transport.request("POST", "/x", body=b"{}", time_limit=60.0)
        assert failed.value.request_sent
        await transport.close()


async def test_a_silent_server_times_out() -> None:
    """Told as such, with the request as sent."""
    async with serving() as running:
        with pytest.raises(TransportError, match="timed out") as failed:
            await running.connect().request("GET", "/slow", time_limit=0.5)
        assert failed.value.timed_out
        assert failed.value.request_sent


async def test_events_arrive_without_waiting_for_more() -> None:
    """The last event of a burst is not held back; closing the stream ends it."""
    async with serving() as running:
        received = b""
        async with asyncio.timeout(60), aclosing(running.connect().stream("/watch", time_limit=60.0)) as chunks:
            async for chunk in chunks:
                received += chunk
                if received.count(b"\n") == 2:
                    break
        assert received == b'{"n":1}\n{"n":2}\n'


class DeafLibrary:
    """Client, request, answer and body of a library that ends when it is cancelled: with an answer, or a failure."""

    status = 200

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails
        self.started = asyncio.Event()

    def request(self, method: str, url: str) -> DeafLibrary:
        return self

    build = build_streamed = lambda self: self
    streamed_read_buffer_limit = timeout = lambda self, value: self
    body_reader = property(lambda self: self)

    async def __aenter__(self) -> DeafLibrary:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    async def send(self) -> DeafLibrary:
        await self.read_chunk()
        return self

    async def bytes(self) -> DeafLibrary:
        return self

    def to_bytes(self) -> object:
        return b"an answer"

    async def read_chunk(self) -> None:
        self.started.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        if self._fails:
            raise PyreqwestError("connection refused")


GOAWAY = ("client error (SendRequest)", "http2 error", "connection error received: not a result of an error")
DROPPED = ("client error (SendRequest)", "dispatch task is gone", "runtime dropped the dispatch task")
BROKEN = ("client error (SendRequest)", "connection closed before message completed")


class FailingLibrary(DeafLibrary):
    """Fails so often, with these causes, and answers then."""

    def __init__(self, causes: tuple[str, ...], *, times: int) -> None:
        super().__init__(fails=True)
        self._causes = causes
        self._times = times
        self.sent = 0

    async def send(self) -> DeafLibrary:
        self.sent += 1
        if self.sent <= self._times:
            raise RequestError("", {"causes": [{"message": cause} for cause in self._causes]})
        return self


@pytest.mark.parametrize(
    ("causes", "times", "sent", "outcome"),
    [
        pytest.param(GOAWAY, 1, 2, 200, id="cut off by a connection's end"),
        pytest.param(DROPPED, 1, 2, 200, id="still waiting for its turn"),
        pytest.param(GOAWAY, 2, 2, False, id="twice in a row: for the caller to decide"),
        pytest.param(BROKEN, 1, 1, True, id="perhaps done: not again"),
    ],
)
async def test_what_a_server_left_undone_is_sent_again(
    causes: tuple[str, ...], times: int, sent: int, outcome: int | bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that wants its clients on another connection says so in the middle of their requests."""
    library = FailingLibrary(causes, times=times)
    monkeypatch.setattr(http_transport, "build_client", lambda *args: library)
    transport = HttpTransport(Connection(server="https://nowhere"))
    try:
        result: int | bool = (await transport.request("POST", "/binding", time_limit=30.0)).status
    except TransportError as error:
        result = error.request_sent
    assert (library.sent, result) == (sent, outcome)


async def ask(transport: HttpTransport) -> None:
    await transport.request("GET", "/", time_limit=60.0)


async def follow(transport: HttpTransport) -> None:
    async with aclosing(transport.stream("/", time_limit=60.0)) as chunks:
        async for _ in chunks:
            pass


@pytest.mark.parametrize("use", [pytest.param(ask, id="a request"), pytest.param(follow, id="a stream")])
@pytest.mark.parametrize("fails", [pytest.param(False, id="by an answer"), pytest.param(True, id="by a failure")])
async def test_a_cancellation_that_the_library_swallows_is_raised_after_all(
    use: Callable[[HttpTransport], Coroutine[Any, Any, None]], fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes in the same moment must not let a cancelled task go on."""
    library = DeafLibrary(fails=fails)
    monkeypatch.setattr(http_transport, "build_client", lambda *args: library)
    task = asyncio.create_task(use(HttpTransport(Connection(server="http://nowhere"))))
    await library.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cleaning_up_after_a_cancellation_may_still_send() -> None:
    """Only a cancellation during the request counts, not one before it."""
    sent = []
    async with serving() as running:
        transport = running.connect()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                sent.append((await transport.request("GET", "/echo/x", time_limit=60.0)).status)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert sent == [200]


async def test_a_stream_that_is_refused() -> None:
    """The Status comes as the error."""
    async with serving() as running:
        with pytest.raises(ApiStatusError, match="410 Expired: too old"):
            await anext(running.connect().stream("/gone", time_limit=60.0))


async def test_an_expired_token_is_refreshed(tmp_path: Path) -> None:
    """On 401 the file is read again, and the request sent once more; streams too."""
    token = tmp_path / "token"
    token.write_text("old")
    async with serving() as running:
        running.api.token = "new"
        transport = running.connect(credentials=FileCredentials(VirtualClock(), token_file=token))
        with pytest.raises(ApiStatusError, match="401 Unauthorized: who are you"):
            await answer(transport)
        assert len(running.api.seen) == 1
        token.write_text("new")
        assert (await answer(transport))["method"] == "GET"
        running.api.token = "newer"
        with pytest.raises(ApiStatusError, match="401 Unauthorized: who are you"):
            await anext(transport.stream("/watch", time_limit=60.0))
        token.write_text("newer")
        async with aclosing(transport.stream("/watch", time_limit=60.0)) as chunks:
            assert await anext(chunks) == b'{"n":1}\n{"n":2}\n'


async def test_a_proxy() -> None:
    """The proxy is asked for a server that we could not resolve."""
    async with serving() as running:
        transport = running.connect(server="http://cluster.invalid", proxy_url=f"http://127.0.0.1:{running.port}")
        response = await transport.request("GET", "/echo/x", time_limit=60.0)
        assert response.status in (200, 404)
        assert b"refused" not in response.body


async def test_a_socks_proxy_resolves_the_servers_name() -> None:
    """A name may be known behind the proxy only."""
    asked_for: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _version, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")  # no authentication
        *_, kind, length = await reader.readexactly(5)
        asked_for.append(await reader.readexactly(length) if kind == 3 else b"an address")
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        transport = HttpTransport(Connection(server="https://localhost:6443", proxy_url=f"socks5://127.0.0.1:{port}"))
        with pytest.raises(TransportError):
            await transport.request("GET", "/echo/x", time_limit=60.0)
        await transport.close()
    assert asked_for == [b"localhost"]


async def test_a_client_certificate_that_is_none() -> None:
    """Told as what it is."""
    credentials = FixedCredentials(Credential(client_pem=b"junk"))
    transport = HttpTransport(Connection(server="https://127.0.0.1:1", credentials=credentials))
    with pytest.raises(ConfigurationError, match="no client certificate with its key in PEM form"):
        await transport.request("GET", "/echo/x", time_limit=60.0)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        pytest.param("ftp://host", "is not an http or https URL", id="another protocol"),
        pytest.param("host:6443", "is not an http or https URL", id="no protocol"),
    ],
)
def test_servers_that_are_none(server: str, message: str) -> None:
    """Said at the start."""
    with pytest.raises(ConfigurationError, match=message):
        HttpTransport(Connection(server=server))


class Authority:
    """A CA with certificates on disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._write("ca", self._issuer, self._key, ca=True)

    def issue(self, name: str, *addresses: x509.GeneralName) -> tuple[Path, Path]:
        """Certificate and key files."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._write(name, subject, key, addresses=addresses)
        key_path = self._folder / f"{self._name}-{name}.key"
        key_path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, key_path

    def _write(
        self,
        name: str,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        ca: bool = False,
        addresses: tuple[x509.GeneralName, ...] = (),
    ) -> Path:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if addresses:
            builder = builder.add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        path = self._folder / f"{self._name}-{name}.crt"
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"), "right")


@pytest.fixture(scope="module")
def by_address(authority: Authority) -> dict[str, Any]:
    """A server that is known by its IP address."""
    certificate, key = authority.issue("server", x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    return {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}


async def test_tls_is_verified(authority: Authority, by_address: dict[str, Any], tmp_path: Path) -> None:
    """The right CA, also in a bundle; a wrong one is told; verification can be turned off."""
    wrong = Authority(tmp_path, "wrong").certificate.read_bytes()
    right = authority.certificate.read_bytes()
    async with serving(**by_address) as running:
        assert await answer(running.connect(https=True, tls=TLSOptions(ca_pem=right)))
        assert await answer(running.connect(https=True, tls=TLSOptions(ca_pem=wrong + right)))
        assert await answer(running.connect(https=True, tls=TLSOptions(insecure=True)))
        with pytest.raises(TransportError, match=r"(?i)certificate"):
            await answer(running.connect(https=True, tls=TLSOptions(ca_pem=wrong)))


async def test_a_server_by_another_name(authority: Authority) -> None:
    """tls-server-name: the certificate is for a name that is not in the URL."""
    certificate, key = authority.issue("named", x509.DNSName("kubernetes.default"))
    right = authority.certificate.read_bytes()
    async with serving(ssl_certfile=str(certificate), ssl_keyfile=str(key)) as running:
        with pytest.raises(TransportError, match=r"(?i)certificate"):
            await answer(running.connect(https=True, tls=TLSOptions(ca_pem=right)))
        tls = TLSOptions(ca_pem=right, server_name="kubernetes.default")
        assert (await answer(running.connect(https=True, tls=tls)))["host"].startswith("kubernetes.default")


async def test_a_client_certificate(authority: Authority, by_address: dict[str, Any]) -> None:
    """A server that wants one gets it; without it there is no connection. A kubeconfig brings both together."""
    certificate, key = authority.issue("client")
    wants_one = {"ssl_ca_certs": str(authority.certificate), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    async with serving(**by_address, **wants_one) as running:
        tls = TLSOptions(ca_pem=authority.certificate.read_bytes())
        pem = Credential(client_pem=certificate.read_bytes() + key.read_bytes())
        assert await answer(running.connect(https=True, tls=tls, credentials=FixedCredentials(pem)))
        with pytest.raises(TransportError):
            await answer(running.connect(https=True, tls=tls))
        config = kubeconfig.Kubeconfig(
            clusters={
                "c": kubeconfig.Cluster(
                    server=f"https://127.0.0.1:{running.port}", certificate_authority=str(authority.certificate)
                )
            },
            users={"u": kubeconfig.User(client_certificate=str(certificate), client_key=str(key))},
            contexts={"x": kubeconfig.Context(cluster="c", user="u")},
            current_context="x",
        )
        transport = HttpTransport(connect.from_kubeconfig(config, VirtualClock()))
        assert await answer(transport)
        await transport.close()


async def test_a_new_certificate_needs_new_connections(authority: Authority, by_address: dict[str, Any]) -> None:
    """A credential plugin may hand out another certificate at any time."""

    class Rotating:
        def __init__(self, *credentials: Credential) -> None:
            self._credentials = list(credentials)

        def at_hand(self) -> Credential:
            return self._credentials[0]

        async def current(self) -> Credential:
            return self.at_hand()

        def rejected(self, credential: Credential) -> None:
            if len(self._credentials) > 1:
                self._credentials.pop(0)

    first, second = (
        Credential(client_pem=b"".join(path.read_bytes() for path in authority.issue(name)), authorization=token)
        for name, token in (("one", "Bearer one"), ("two", "Bearer two"))
    )
    async with serving(**by_address) as running:
        running.api.token = "two"
        tls = TLSOptions(ca_pem=authority.certificate.read_bytes())
        assert await answer(running.connect(https=True, tls=tls, credentials=Rotating(first, second)))


async def test_a_half_written_rotation_leaves_the_old_certificate(
    authority: Authority, by_address: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Certificate and key are two files, and we may look between the writing of one and of the other."""
    clock, files = VirtualClock(), (tmp_path / "certificate", tmp_path / "key")
    issued = {name: [path.read_bytes() for path in authority.issue(name)] for name in ("one", "two")}

    def write(certificate: bytes, key: bytes) -> None:
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        clock.tick(RECHECK_SECONDS)

    write(*issued["one"])
    credentials = FileCredentials(clock, certificate_file=files[0], key_file=files[1])
    async with serving(**by_address) as running:
        tls = TLSOptions(ca_pem=authority.certificate.read_bytes())
        transport = running.connect(https=True, tls=tls, credentials=credentials)
        assert await answer(transport)
        write(issued["two"][0], issued["one"][1])
        assert await answer(transport)
        assert "keeping the last client certificate" in capsys.readouterr().err
        write(*issued["two"])
        assert await answer(transport)
        assert capsys.readouterr().err == ""


async def test_renewed_authorities_of_a_server_are_taken_up(
    authority: Authority, by_address: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster may renew its authority: what is in the file counts, and a broken file changes nothing."""
    clock, file = VirtualClock(), tmp_path / "ca.crt"
    file.write_bytes(Authority(tmp_path, "before").certificate.read_bytes())
    tls = TLSOptions(ca_file=AuthorityFile(file, clock))
    async with serving(**by_address) as running:
        transport = running.connect(https=True, tls=tls)
        with pytest.raises(TransportError, match=r"(?i)certificate"):
            await answer(transport)
        file.write_bytes(authority.certificate.read_bytes())
        clock.tick(RECHECK_SECONDS)
        assert await answer(transport)
        for broken in (b"", b"-----BEGIN CERTIFICATE-----"):
            file.write_bytes(broken)
            clock.tick(RECHECK_SECONDS)
            assert await answer(transport)
        file.unlink()
        clock.tick(RECHECK_SECONDS)
        assert await answer(transport)
        assert capsys.readouterr().err.count("Reloading certificate authorities failed, the old ones stay") == 3


async def test_the_rest_client_on_top() -> None:
    """Both together, against the real server."""
    async with serving() as running:
        rest = RestClient(running.connect(), VirtualClock(), random.Random(1))
        assert b'"method":"GET"' in await rest.call("GET", "/echo/version")
