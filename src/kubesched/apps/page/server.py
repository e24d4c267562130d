"""The page's server: on loopback, for whoever has the link."""

from __future__ import annotations

import asyncio
import secrets
import socket
from typing import Final

import uvicorn

from kubesched.apps.page.app import Page
from kubesched.apps.page.source import PageSource
from kubesched.browser_guard import BrowserGuard, LinkLogin
from kubesched.errors import ConfigurationError
from kubesched.serving.connection import Connection
from kubesched.serving.server import UnsignalledServer

LOOPBACK: Final = "127.0.0.1"
STOP_WITHIN: Final = 1
CLOSE_IDLE: Final = 30


class PageServer:
    """Made with the port taken (ConfigurationError if it is not free). `start`, show `link`, `stop`."""

    def __init__(self, source: PageSource, port: int = 0) -> None:
        self._page = Page(source)
        self._token = secrets.token_urlsafe(24)
        self._listener = _listen(port)
        self._server: UnsignalledServer | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._listener.getsockname()[1]}"

    @property
    def link(self) -> str:
        """For a browser of whoever started this: it holds the token."""
        return f"{self.address}/?token={self._token}"

    def start(self) -> None:
        self._page.start()
        login = LinkLogin(self._page.app, self._token, self._listener.getsockname()[1])
        config = uvicorn.Config(
            BrowserGuard(login, entrances={"/"}),
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=CLOSE_IDLE,
            timeout_graceful_shutdown=STOP_WITHIN,
        )
        self._server = UnsignalledServer(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]), name="page")

    async def stop(self) -> None:
        """Idempotent."""
        self._page.close()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await asyncio.gather(self._serving, return_exceptions=True)
        self._listener.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(128)  # whoever has the link may come at once
    except OSError as error:
        listener.close()
        raise ConfigurationError([f"port {port} is taken: choose another one, or 0 for any free one"]) from error
    listener.setblocking(False)
    return listener
