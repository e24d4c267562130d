"""The transport on pyreqwest: HTTP/2 where TLS negotiates it, HTTP/1.1 elsewhere; TLS by rustls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from pyreqwest.client import Client
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response as AnyResponse

from kubesched.client.connection import Connection
from kubesched.client.credentials import Credential
from kubesched.client.http_client import base_url, build_client
from kubesched.client.http_errors import transport_error, was_left_undone
from kubesched.client.transport import JSON, TIME_LIMIT, Response, raise_status
from kubesched.errors import ConfigurationError
from kubesched.telemetry.logging import log

_KEPT_HEADERS: Final = ("retry-after",)


class HttpTransport:
    """Requests to the server of a `Connection`, with its credentials.

    On 401 the credential is refreshed and the request sent once more, if that gave a different one. One that the server
    left undone, because it wants us to reconnect, is sent once more, too (as Go's HTTP/2 transport does).
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._server = urlsplit(connection.server)
        if self._server.scheme not in ("http", "https") or not self._server.hostname:
            raise ConfigurationError([f"server {connection.server!r} is not an http or https URL"])
        self._base = base_url(self._server, connection.tls.server_name)
        self.host = self._server.netloc.rpartition("@")[2]
        self._credentials = connection.credentials
        self._credential: Credential | None = None
        self._authorities = b""
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        content_type: str = JSON,
        body: bytes | None = None,
        time_limit: float,
        discard: bool = False,
        check: Callable[[], None] | None = None,
    ) -> Response:
        url = f"{self._base}{path}?{query}" if query else f"{self._base}{path}"
        task = _running_task(self._loop)
        for last_try in (False, True):
            credential = self._credentials.at_hand() or await self._credentials.current()
            cancellations = task.cancelling()
            try:
                builder = self._builder(credential, method, url, time_limit)
                if body is not None:
                    builder = builder.header("Content-Type", content_type).body_bytes(body)
                sent = builder.build()
                if check is not None:
                    check()
                answer = await sent.send()
                status = answer.status
                if discard and status < 300:
                    return Response(status, b"", discarded_bytes=int(answer.get_header("content-length") or 0))
                content = (await answer.bytes()).to_bytes()  # never waits: `send` has read it all
            except PyreqwestError as error:
                if not last_try and was_left_undone(error):
                    continue
                raise transport_error(method, url, error) from error
            finally:
                if task.cancelling() > cancellations:  # as `cancellation_check`, which costs more
                    raise asyncio.CancelledError
            if status < 400:
                return Response(status, content)
            if status != 401 or last_try or not await self._renewed(credential):
                break
        return Response(status, content, _headers_of(answer))

    async def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
        url = f"{self._base}{path}?{query}" if query else f"{self._base}{path}"
        for last_try in (False, True):
            credential = await self._credentials.current()
            # Without the limit of 0 the last events of a burst stay in a buffer until more data comes.
            builder = self._builder(credential, "GET", url, time_limit).streamed_read_buffer_limit(0)
            check_cancellation = cancellation_check(self._loop)
            try:
                async with AsyncExitStack() as stack:
                    answer = await stack.enter_async_context(builder.build_streamed())
                    check_cancellation()
                    if answer.status == 401 and not last_try and await self._renewed(credential):
                        continue
                    if answer.status >= 300:
                        content = (await answer.bytes()).to_bytes()
                        check_cancellation()
                        raise_status(answer.status, content, _headers_of(answer), method="GET", url=url)
                    reader = answer.body_reader
                    while (chunk := await reader.read_chunk()) is not None:
                        check_cancellation()
                        yield chunk.to_bytes()
                    check_cancellation()
                    return
            except PyreqwestError as error:
                check_cancellation()
                raise transport_error("GET", url, error) from error

    def _builder(self, credential: Credential, method: str, url: str, time_limit: float) -> RequestBuilder:
        client = self._client
        authorities = self._connection.tls.authorities()
        if client is None or credential is not self._credential or authorities is not self._authorities:
            client = self._client_for(credential, authorities)
        builder = client.request(method, url)
        if time_limit != TIME_LIMIT:  # the client's own
            builder = builder.timeout(timedelta(seconds=time_limit))
        if credential.authorization:
            builder = builder.header("Authorization", credential.authorization)
        return builder

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _client_for(self, credential: Credential, authorities: bytes) -> Client:
        """A new certificate and new authorities need new connections, a new token does not."""
        before, self._credential = self._credential, credential
        trusted_before, self._authorities = self._authorities, authorities
        if self._client is None:
            self._loop = asyncio.get_running_loop()
            self._client = build_client(self._connection, self._server, credential)
        elif before is None or before.client_pem != credential.client_pem or trusted_before != authorities:
            try:
                # The old client is not closed: streams on it run to their end.
                self._client = build_client(self._connection, self._server, credential)
            except ConfigurationError as error:  # a certificate without its key yet: the next change brings both
                log.error("New credentials cannot be used, keeping the last client certificate", error)
        return self._client

    async def _renewed(self, used: Credential) -> bool:
        self._credentials.rejected(used)
        return await self._credentials.current() is not used


def cancellation_check(loop: asyncio.AbstractEventLoop | None) -> Callable[[], None]:
    """To be called after every wait for the library: CancelledError if the task has been cancelled since now.

    The library loses a cancellation that comes in the same moment as the answer, or as a failure, and a loop of
    requests would go on. Unless it is given which `loop` is running, finding out costs a system call.
    """
    cancelling = _running_task(loop).cancelling
    cancelled_before = cancelling()

    def check() -> None:
        if cancelling() > cancelled_before:
            raise asyncio.CancelledError

    return check


def _running_task(loop: asyncio.AbstractEventLoop | None) -> asyncio.Task[Any]:
    task = asyncio.current_task(loop)
    assert task is not None, "requests are made in tasks"
    return task


def _headers_of(answer: AnyResponse) -> dict[str, str]:
    return {name: value for name in _KEPT_HEADERS if (value := answer.get_header(name)) is not None}
