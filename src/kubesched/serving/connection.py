"""One connection of a client: whose certificate it showed, and how much it may cost before it has asked anything.

Anybody who reaches the port may open connections. What a request's head may take is bounded as in Kubernetes'
servers, so that a stranger can fill neither the scheduler's memory nor its table of open files.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kubesched.serving.access_control import PEER_CERTIFICATE
from kubesched.telemetry.logging import log

# SecureServingInfo.Serve: ReadHeaderTimeout, and MaxHeaderBytes with the slack that net/http gives it.
HEAD_SECONDS: Final = 32.0
HEAD_BYTES: Final = (1 << 20) + 4096

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n431 Request Header Fields Too Large"
)


class Connection(HttpToolsProtocol):
    """uvicorn's, with bounds for the head of a request, and the peer's certificate in each scope's state."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        super().connection_made(transport)
        tls: Any = transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        self.app_state = {**self.app_state, PEER_CERTIFICATE: certificate}  # uvicorn copies it into each scope
        self._head_timer: asyncio.TimerHandle | None = None
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_complete()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head_timer is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                log.info("Request head too large", v=4, client=self.client)
                self.transport.write(_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._head_is_complete()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_bytes = 0
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _head_is_complete(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        log.info("No request within the time for one", v=4, client=self.client, seconds=HEAD_SECONDS)
        self.transport.abort()
