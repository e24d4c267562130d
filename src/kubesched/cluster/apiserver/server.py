"""A running API server: in this process, on a port of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
import secrets
import socket
import ssl
import tempfile
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import uvicorn
import yaml
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kubesched.browser_guard import BrowserGuard
from kubesched.certificates import KeyPair, make_certificate
from kubesched.clock import Clock, SystemClock, utc
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.http.app import ApiServerApp
from kubesched.cluster.apiserver.storage import SqliteJournal, Store
from kubesched.cluster.apiserver.storage.directory import DataDirectory
from kubesched.cluster.apiserver.storage.store import DEFAULT_HISTORY
from kubesched.cluster.apiserver.verbs.expiry import EventExpiry
from kubesched.errors import ConfigurationError
from kubesched.private_files import write_private

USER: Final = "kubesched-admin"
LIFETIME: Final = timedelta(days=3650)  # of the certificate, which a data directory keeps
STALLS_AT_MOST: Final = 60.0  # seconds without a byte, of a connection that has to send more
IDLE_AT_MOST: Final = 180  # seconds between two requests of a connection
STOP_WITHIN: Final = 3
FAREWELL: Final = 0.5  # seconds that a client has for the end of its connection when the server stops


class _Protocol(HttpToolsProtocol):
    """Closes a connection that stalls before or within a request, and in the end; uvicorn's limit begins later."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect_more()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is None or cycle.response_complete or cycle.more_body:
            self._expect_more()

    def shutdown(self) -> None:
        super().shutdown()
        # An idle client does not read: it would never take leave of TLS.
        self.loop.call_later(FAREWELL, self.transport.abort)

    def _expect_more(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(STALLS_AT_MOST, self.timeout_keep_alive_handler)


class _UvicornServer(uvicorn.Server):
    """Leaves signals to whoever runs the process, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class ApiServer:
    """The embedded API server. `api` is the in-process access for controllers and kubelets.

    With a data directory, objects, certificate and token survive a restart. Without TLS there is no token either: for
    curl on loopback only, and never for a page in a browser (`BrowserGuard`).
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: Path | None = None,
        insecure_http: bool = False,
        history: int = DEFAULT_HISTORY,
        clock: Clock | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self._directory = DataDirectory(data_dir) if data_dir is not None else None
        self._insecure = insecure_http
        self._clock = clock or SystemClock()
        self._rng = random.Random(secrets.randbits(64))  # noqa: S311 names and uids, no secrets
        self.token = "" if insecure_http else self._kept("token", _new_token).decode()
        self._certificate = None if insecure_http else self._serving_certificate()
        journal = SqliteJournal(self._directory.path) if self._directory is not None else None
        self.store = Store(journal=journal, history=history)
        self.api = Api(store=self.store, clock=self._clock, rng=self._rng)
        self._app: ApiServerApp | None = None
        self._server: _UvicornServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._expiring: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen. The first port that is free is taken when none was named."""
        bootstrap(self.api)
        await self.store.settled()
        listener = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._host, self._port))
        except OSError:
            listener.close()
            raise
        self._port = listener.getsockname()[1]
        self._app = ApiServerApp(self.api, token=self.token, address=f"{self._host}:{self._port}", rng=self._rng)
        guarded = BrowserGuard(self._app, {self._host}) if self._insecure else self._app
        self._server = _UvicornServer(self._config(guarded))
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        await self._server.listening.wait()
        expiry = EventExpiry(self.store, self._clock, self.api.catalog.named("events"))
        self._expiring = asyncio.create_task(expiry.run())

    async def stop(self) -> None:
        """End watches and connections, and close the store. Idempotent."""
        if self._app is not None and self._server is not None and self._serving is not None:
            if self._expiring is not None:
                self._expiring.cancel()
            self._app.close_watches()
            self._server.should_exit = True
            await self._serving
            self._app = self._server = self._serving = None
            try:
                await self.store.close()
            finally:
                if self._directory is not None:
                    self._directory.close()

    @property
    def port(self) -> int:
        return self._port

    @property
    def address(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'http' if self._insecure else 'https'}://{host}:{self._port}"

    @property
    def certificate(self) -> bytes:
        """The authority (PEM) that clients verify the server with; empty without TLS."""
        return self._certificate.certificate if self._certificate is not None else b""

    def write_kubeconfig(self, path: Path) -> None:
        """A kubeconfig file that only its owner can read.

        One that we wrote is replaced; ConfigurationError for any other file: it may be the only way to a cluster.
        """
        found = path.read_bytes() if path.exists() else b""
        if found.strip() and USER.encode() not in found:
            raise ConfigurationError(["there is a kubeconfig of another cluster"])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, yaml.safe_dump(self._kubeconfig(), sort_keys=False).encode())

    def _kubeconfig(self) -> dict[str, Any]:
        cluster: dict[str, Any] = {"server": self.address}
        if self._certificate is not None:
            cluster["certificate-authority-data"] = base64.b64encode(self.certificate).decode()
        user = {"token": self.token} if self.token else {}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kubesched", "cluster": cluster}],
            "users": [{"name": USER, "user": user}],
            "contexts": [{"name": "kubesched", "context": {"cluster": "kubesched", "user": USER}}],
            "current-context": "kubesched",
        }

    def _config(self, app: ASGIApp) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",  # uvicorn warns about every kubectl exec, which is answered with a Status
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=IDLE_AT_MOST,
            timeout_graceful_shutdown=STOP_WITHIN,
            ssl_context_factory=None if self._certificate is None else lambda *_: self._ssl_context(),
        )

    def _ssl_context(self) -> ssl.SSLContext:
        assert self._certificate is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory() as directory:  # the ssl module reads keys from files only
            certificate, key = Path(directory, "tls.crt"), Path(directory, "tls.key")
            write_private(certificate, self._certificate.certificate)
            write_private(key, self._certificate.key)
            context.load_cert_chain(certificate, key)
        return context

    def _serving_certificate(self) -> KeyPair:
        hosts = sorted({self._host, "127.0.0.1", "::1", "localhost", "kubernetes.default.svc"} - {"0.0.0.0"})  # noqa: S104
        made = make_certificate("kubesched", hosts, utc(SystemClock()), LIFETIME)  # clients verify it by the real time
        certificate = self._kept("tls.crt", lambda: made.certificate)
        return KeyPair(certificate, self._kept("tls.key", lambda: made.key))

    def _kept(self, name: str, make: Callable[[], bytes]) -> bytes:
        return make() if self._directory is None else self._directory.kept(name, make)


def _new_token() -> bytes:
    return secrets.token_urlsafe(32).encode()
