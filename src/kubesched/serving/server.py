"""The HTTPS server: bound before anything else starts, run in the scheduler's own loop, stopped last."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from kubesched.clock import Clock
from kubesched.errors import ConfigurationError
from kubesched.serving.authentication import Authenticator
from kubesched.serving.connection import Connection
from kubesched.serving.tls import ServingCertificates, TlsOptions
from kubesched.serving.trust import TrustLoader
from kubesched.telemetry.logging import log

DEFAULT_PORT: Final = 10259
SHUTDOWN_SECONDS: Final = 5
REFRESH_SECONDS: Final = 60.0
LOOK_AGAIN_SECONDS: Final = 5.0
"""Until the cluster's client authorities are known: nobody with a certificate gets in before."""


@dataclass(frozen=True, kw_only=True)
class ServingOptions:
    """What the secure-serving flags say. Port 0 means: no server."""

    bind_address: str = "0.0.0.0"  # noqa: S104  # kube-scheduler's default; every page but health needs authorization
    port: int = DEFAULT_PORT
    permit_port_sharing: bool = False
    permit_address_sharing: bool = False
    tls: TlsOptions = field(default_factory=TlsOptions)


class SecureServer:
    """Serves an ASGI application over TLS until it is stopped."""

    def __init__(
        self,
        *,
        listener: socket.socket,
        certificates: ServingCertificates,
        authenticator: Authenticator,
        trust_loader: TrustLoader,
        clock: Clock,
    ) -> None:
        self._listener = listener
        self._certificates = certificates
        self._authenticator = authenticator
        self._trust_loader = trust_loader
        self._clock = clock
        self._certificates.trust_clients_of(authenticator.trust.pem)
        self._server: UnsignalledServer | None = None

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    async def serve(self, app: ASGIApp) -> None:
        """Run until `stop`, or until cancelled. Open requests get five seconds to finish."""
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        config.load()
        config.ssl = self._certificates.context
        self._server = UnsignalledServer(config)
        refreshing = asyncio.create_task(self._keep_fresh(), name="serving-certificates")
        log.info("Serving securely", port=self.port)
        try:
            await self._server.serve(sockets=[self._listener])
        finally:
            refreshing.cancel()
            for server in getattr(self._server, "servers", ()):  # a cancelled uvicorn leaves them open, if it has any
                server.close()
            self._listener.close()

    def stop(self) -> None:
        """Ask `serve` to end: no new connections, open requests finish."""
        if self._server is not None:
            self._server.should_exit = True

    async def refresh(self) -> None:
        """Take up renewed certificate files and changed client authorities. A failure leaves all as it was."""
        self._certificates.reload_if_changed()
        try:
            trust = await self._trust_loader.load()
        except ConfigurationError as error:
            log.error("Reloading client authorities failed, the old ones stay", error)
            return
        if trust.pem and trust != self._authenticator.trust:
            self._certificates.trust_clients_of(trust.pem)
            self._authenticator.trust = trust

    async def _keep_fresh(self) -> None:
        while True:
            await self._clock.sleep(LOOK_AGAIN_SECONDS if self._trust_loader.has_failed else REFRESH_SECONDS)
            await self.refresh()


def bind(options: ServingOptions) -> socket.socket:
    """A listening socket. Raises ConfigurationError, with the address, when that is not to be had."""
    try:
        address = ipaddress.ip_address(options.bind_address or "0.0.0.0")  # noqa: S104  # as --bind-address says
    except ValueError as error:
        raise ConfigurationError([f"--bind-address: {error}"]) from error
    listener = _socket_for(address)
    if options.permit_address_sharing:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if options.permit_port_sharing:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    host = "::" if listener.family == socket.AF_INET6 and address.is_unspecified else str(address)
    try:
        listener.bind((host, options.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            [f"failed to create listener: failed to listen on {options.bind_address}:{options.port}: {error.strerror}"]
        ) from error
    listener.setblocking(False)
    return listener


def _socket_for(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> socket.socket:
    """An unspecified address (0.0.0.0, ::) means all interfaces and both families, where there is IPv6."""
    if address.is_unspecified and socket.has_dualstack_ipv6():
        listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return listener
    return socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)


class UnsignalledServer(uvicorn.Server):
    """uvicorn, without its signal handlers: signals are the business of whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are the scheduler's business."""
        yield
