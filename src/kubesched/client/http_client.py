"""pyreqwest's client for a `Connection`: TLS, proxy, HTTP/2.

Known limits of the library: a given CA is trusted *besides* the machine's roots, and a server name that
differs from the URL's host works by resolving the server's host when the client is built (not through a proxy).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from datetime import timedelta
from typing import Final
from urllib.parse import SplitResult

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.proxy import ProxyBuilder

from kubesched.client.connection import Connection
from kubesched.client.credentials import Credential
from kubesched.client.http_errors import causes_of
from kubesched.client.transport import JSON, TIME_LIMIT
from kubesched.errors import ConfigurationError, TransportError

CONNECT_TIMEOUT: Final = timedelta(seconds=30)
# client-go's HTTP/2 health check: a ping after 30 s of silence, 15 s for its answer; finds dead peers under a watch.
PING_INTERVAL: Final = timedelta(seconds=30)
PING_TIMEOUT: Final = timedelta(seconds=15)
# Large windows and frames: the initial stream of tens of thousands of pods must not wait for acknowledgements.
STREAM_WINDOW: Final = 4 << 20
CONNECTION_WINDOW: Final = 64 << 20
FRAME_SIZE: Final = 1 << 20

_PEM: Final = serialization.Encoding.PEM


def base_url(server: SplitResult, server_name: str) -> str:
    """The URL that requests start with: with the TLS server name in place of the host where they differ."""
    host = server.netloc
    if server.scheme == "https" and server_name:
        host = f"{server_name}:{server.port or 443}"
    return f"{server.scheme}://{host}{server.path.rstrip('/')}"


def build_client(connection: Connection, server: SplitResult, credential: Credential) -> Client:
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
        raise ConfigurationError([f"cannot connect to {connection.server}: {causes_of(error)[-1]}"]) from error


def _with_proxy(builder: ClientBuilder, connection: Connection, server: SplitResult) -> ClientBuilder:
    if connection.proxy_url:
        # As in Go, the server's name is the proxy's to resolve: it may be known behind the proxy only.
        return builder.proxy(ProxyBuilder.all(re.sub("^socks5://", "socks5h://", connection.proxy_url)))
    # As Go's ProxyFromEnvironment: a proxy named by the environment is not asked for the loopback.
    return builder.no_proxy() if _is_loopback(server.hostname or "") else builder


def _with_tls(
    builder: ClientBuilder, connection: Connection, server: SplitResult, credential: Credential
) -> ClientBuilder:
    if server.scheme != "https":
        return builder
    if connection.tls.insecure:
        builder = builder.danger_accept_invalid_certs(True)
    elif authorities := connection.tls.authorities():
        for certificate in x509.load_pem_x509_certificates(authorities):
            builder = builder.add_root_certificate_pem(certificate.public_bytes(_PEM))
    if credential.client_pem:
        try:
            builder = builder.identity_pem(credential.client_pem)
        except ValueError as error:  # all that the library says is "builder error"
            raise ValueError("no client certificate with its key in PEM form") from error
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
