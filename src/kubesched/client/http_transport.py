"""The transport on pyreqwest: HTTP/2 where TLS negotiates it, HTTP/1.1 elsewhere; TLS by rustls.

Known limits of the library: a given CA is trusted *besides* the machine's roots, and a server name that
differs from the URL's host works by resolving the server's host when the client is built (not through a proxy).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Final, NoReturn, TypeVar
from urllib.parse import SplitResult, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import (
    BuilderError,
    DetailedPyreqwestError,
    PoolTimeoutError,
    PyreqwestError,
    RequestTimeoutError,
)
from pyreqwest.proxy import ProxyBuilder
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response as AnyResponse

from kubesched.client.connection import Connection
from kubesched.client.credentials import Credential
from kubesched.client.transport import JSON, TIME_LIMIT, Response, raise_status
from kubesched.errors import ConfigurationError, TransportError

CONNECT_TIMEOUT: Final = timedelta(seconds=30)
# client-go's HTTP/2 health check: a ping after 30 s of silence, 15 s for its answer; finds dead peers under a watch.
PING_INTERVAL: Final = timedelta(seconds=30)
PING_TIMEOUT: Final = timedelta(seconds=15)
# Large windows and frames: the initial stream of tens of thousands of pods must not wait for acknowledgements.
STREAM_WINDOW: Final = 4 << 20
CONNECTION_WINDOW: Final = 64 << 20
FRAME_SIZE: Final = 1 << 20

_KEPT_HEADERS: Final = ("retry-after",)
_CONNECT_FAILED: Final = "client error (Connect)"
_UNTRUSTED: Final = "invalid peer certificate"
_MANUAL_LINK: Final = re.compile(r": https://docs\.rs/\S+$")
_PEM: Final = serialization.Encoding.PEM

T = TypeVar("T")


class HttpTransport:
    """Requests to the server of a `Connection`, with its credentials.

    On 401 the credential is refreshed and the request sent once more, if that gave another one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._server = urlsplit(connection.server)
        if self._server.scheme not in ("http", "https") or not self._server.hostname:
            raise ConfigurationError([f"server {connection.server!r} is not an http or https URL"])
        self._base = _base_url(self._server, connection.tls.server_name)
        self.host = self._server.netloc.rpartition("@")[2]
        self._credential: Credential | None = None
        self._client: Client | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        content_type: str = JSON,
        body: bytes | None = None,
        time_limit: float,
    ) -> Response:
        url = f"{self._base}{path}?{query}" if query else f"{self._base}{path}"
        client, used = await self._ready()
        response = await self._send(client, method, url, content_type, body, time_limit)
        if response.status == 401 and await self._renewed(used):
            client, _ = await self._ready()
            response = await self._send(client, method, url, content_type, body, time_limit)
        return response

    async def _send(
        self, client: Client, method: str, url: str, content_type: str, body: bytes | None, time_limit: float
    ) -> Response:
        try:
            builder = self._builder(client, method, url, time_limit)
            if body is not None:
                builder = builder.header("Content-Type", content_type).body_bytes(body)
            answer = await cancellable(builder.build().send())
            content = (await answer.bytes()).to_bytes()  # never waits: `send` has read it all
        except PyreqwestError as error:
            _raise(method, url, error)
        if answer.status < 400:
            return Response(answer.status, content)
        return Response(answer.status, content, _headers_of(answer))

    async def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
        url = f"{self._base}{path}?{query}" if query else f"{self._base}{path}"
        for last_try in (False, True):
            client, used = await self._ready()
            # Without the limit of 0 the last events of a burst stay in a buffer until more data comes.
            builder = self._builder(client, "GET", url, time_limit).streamed_read_buffer_limit(0)
            try:
                async with AsyncExitStack() as stack:
                    answer = await cancellable(stack.enter_async_context(builder.build_streamed()))
                    if answer.status == 401 and not last_try and await self._renewed(used):
                        continue
                    if answer.status >= 300:
                        content = (await cancellable(answer.bytes())).to_bytes()
                        raise_status(answer.status, content, _headers_of(answer), method="GET", url=url)
                    reader = answer.body_reader
                    while (chunk := await cancellable(reader.read_chunk())) is not None:
                        yield chunk.to_bytes()
                    return
            except PyreqwestError as error:
                _raise("GET", url, error)

    def _builder(self, client: Client, method: str, url: str, time_limit: float) -> RequestBuilder:
        builder = client.request(method, url)
        if time_limit != TIME_LIMIT:  # the client's own
            builder = builder.timeout(timedelta(seconds=time_limit))
        if self._credential is not None and self._credential.authorization:
            builder = builder.header("Authorization", self._credential.authorization)
        return builder

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _ready(self) -> tuple[Client, Credential]:
        """The client for the credential of now. A new certificate needs new connections, a new token does not."""
        credential = await self._connection.credentials.current()
        if credential is self._credential and self._client is not None:
            return self._client, credential
        before, self._credential = self._credential, credential
        if self._client is None or before is None or before.client_pem != credential.client_pem:
            # The old client is not closed: streams on it run to their end.
            self._client = _build_client(self._connection, self._server, credential)
        return self._client, credential

    async def _renewed(self, used: Credential) -> bool:
        self._connection.credentials.rejected(used)
        return await self._connection.credentials.current() is not used


async def cancellable(work: Awaitable[T]) -> T:
    """What the library's `work` gives, or CancelledError if the task was cancelled meanwhile.

    The library loses a cancellation that comes in the same moment as the answer, or as a failure, and a loop of
    requests would go on.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelled_before = task.cancelling()
    try:
        return await work
    finally:
        if task.cancelling() > cancelled_before:
            raise asyncio.CancelledError


def _headers_of(answer: AnyResponse) -> dict[str, str]:
    return {name: value for name in _KEPT_HEADERS if (value := answer.get_header(name)) is not None}


def _base_url(server: SplitResult, server_name: str) -> str:
    """The URL that requests start with: with the TLS server name in place of the host where they differ."""
    host = server.netloc
    if server.scheme == "https" and server_name:
        host = f"{server_name}:{server.port or 443}"
    return f"{server.scheme}://{host}{server.path.rstrip('/')}"


def _build_client(connection: Connection, server: SplitResult, credential: Credential) -> Client:
    impersonation = connection.impersonate.headers() if connection.impersonate else []
    builder = (
        ClientBuilder()
        .user_agent(connection.user_agent)
        .default_headers([("Accept", JSON), *impersonation])
        .follow_redirects(False)
        .referer(False)
        .gzip(connection.compress)
        .brotli(False)
        .zstd(False)
        .deflate(False)
        .timeout(timedelta(seconds=TIME_LIMIT))
        .connect_timeout(CONNECT_TIMEOUT)
        .max_connections(connection.most_requests)
        .tcp_keepalive(PING_INTERVAL)
        .http2(True)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_frame_size(FRAME_SIZE)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .http2_keep_alive_while_idle(True)
    )
    try:
        builder = _with_proxy(builder, connection, server)
        builder = _with_tls(builder, connection, server, credential)
        return builder.build()
    except (ValueError, PyreqwestError) as error:
        raise ConfigurationError([f"cannot connect to {connection.server}: {_cause_list(error)[-1]}"]) from error


def _with_proxy(builder: ClientBuilder, connection: Connection, server: SplitResult) -> ClientBuilder:
    if connection.proxy_url:
        return builder.proxy(ProxyBuilder.all(connection.proxy_url))
    # As Go's ProxyFromEnvironment: a proxy named by the environment is not asked for the loopback.
    return builder.no_proxy() if _is_loopback(server.hostname or "") else builder


def _with_tls(
    builder: ClientBuilder, connection: Connection, server: SplitResult, credential: Credential
) -> ClientBuilder:
    if server.scheme != "https":
        return builder
    if connection.tls.insecure:
        builder = builder.danger_accept_invalid_certs(True)
    elif connection.tls.ca_pem:
        for certificate in x509.load_pem_x509_certificates(connection.tls.ca_pem):
            builder = builder.add_root_certificate_pem(certificate.public_bytes(_PEM))
    if credential.client_pem:
        builder = builder.identity_pem(credential.client_pem)
    if connection.tls.server_name:
        builder = builder.resolve(connection.tls.server_name, _address(server), server.port or 443)
    return builder


def _address(server: SplitResult) -> str:
    host = server.hostname or ""
    try:
        return str(socket.getaddrinfo(host, server.port or 443, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise TransportError(f"cannot resolve {host}: {error.strerror}", request_sent=False) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _raise(method: str, url: str, error: PyreqwestError) -> NoReturn:
    causes = _cause_list(error)
    # The library's exception types mislead: ConnectError also stands for a connection that closed after the request
    # went out, ConnectTimeoutError for a broken handshake and for an answer that did not come. The causes tell.
    not_sent = _CONNECT_FAILED in causes or isinstance(error, (PoolTimeoutError, BuilderError))
    timed_out = isinstance(error, RequestTimeoutError) and any("timed out" in cause for cause in causes)
    where = f"{method} {url.partition('?')[0]}"
    what = _MANUAL_LINK.sub("", ": ".join(causes[-2:] if not timed_out else causes[-1:]))
    untrusted = any(cause.startswith(_UNTRUSTED) for cause in causes)
    raise TransportError(
        f"{where}: {what}", request_sent=not not_sent, timed_out=timed_out, untrusted=untrusted
    ) from error


def _cause_list(error: Exception) -> list[str]:
    """The causes from the outside in; the outer ones only say that a request failed."""
    causes = error.details["causes"] or () if isinstance(error, DetailedPyreqwestError) else ()
    return [cause["message"] for cause in causes] or [str(error)]
