"""From the configuration to clients of the API server."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

import msgspec

from kubesched.client.connect import from_kubeconfig, in_cluster
from kubesched.client.connection import Connection
from kubesched.client.exec_credentials import ExecObserver
from kubesched.client.fence import Fence
from kubesched.client.http_transport import HttpTransport
from kubesched.client.kubeconfig import load
from kubesched.client.rate_limit import RateLimiter
from kubesched.client.request_metrics import RequestMetrics
from kubesched.client.rest import RestClient
from kubesched.client.transport import TIME_LIMIT, Transport
from kubesched.clock import Clock
from kubesched.config.model import ClientConnectionConfiguration
from kubesched.errors import TransportError
from kubesched.objects import Kind
from kubesched.telemetry.version import KUBERNETES_VERSION, PROGRAM_VERSION

USER_AGENT: Final = f"kubesched/{PROGRAM_VERSION} ({sys.platform}/{platform.machine()}) kubernetes/{KUBERNETES_VERSION}"
SERVICE_HOST: Final = "KUBERNETES_SERVICE_HOST"

MakeTransport = Callable[[Connection], Transport]


def choose_connection(
    kubeconfig: str,
    clock: Clock,
    *,
    master: str = "",
    observer: ExecObserver | None = None,
) -> Connection:
    """The named kubeconfig; else `--master` alone; else the cluster that we run in; else kubectl's own kubeconfig.

    Raises ConfigurationError.
    """
    if kubeconfig:
        connection = from_kubeconfig(load(kubeconfig), clock, server_override=master, observer=observer)
    elif master:
        connection = Connection(server=master.rstrip("/"))
    elif SERVICE_HOST in os.environ:
        connection = in_cluster(clock)
    else:
        connection = from_kubeconfig(load(), clock, observer=observer)
    # Uncompressed, as kube-scheduler does: next to an API server, packing costs more than sending.
    return msgspec.structs.replace(connection, compress=False, user_agent=USER_AGENT)


class Clients:
    """Calls for different purposes over one connection: each has its own rate limit, as kube-scheduler's have."""

    def __init__(
        self,
        connection: Connection,
        config: ClientConnectionConfiguration,
        clock: Clock,
        random: Random,
        observer: RequestMetrics,
        *,
        fence: Fence | None = None,
        make_transport: MakeTransport = HttpTransport,
    ) -> None:
        """What `main` and `events` write leaves only while the `fence` is open."""
        self._transport = make_transport(connection)
        self._config = config
        self._clock = clock
        self._random = random
        self._observer = observer
        self._older: dict[type, Kind] = {}
        self.main = self.client(fence=fence)
        self.events = self.client(fence=fence)

    def client(self, time_limit: float = TIME_LIMIT, *, fence: Fence | None = None) -> RestClient:
        """Another client with a rate limit of its own."""
        limiter = RateLimiter(self._clock, qps=self._config.qps, burst=self._config.burst)
        return RestClient(
            self._transport,
            self._clock,
            self._random,
            limiter=limiter,
            observer=self._observer,
            time_limit=time_limit,
            fence=fence,
            older=self._older,
        )

    async def close(self) -> None:
        await self._transport.close()


class Reviews:
    """`ReviewClient` and `ConfigMapReader` of serving, over a REST client."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    async def create(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return _object(await self._rest.call("POST", path, body=msgspec.json.encode(body)))

    async def config_map(self, namespace: str, name: str) -> Mapping[str, str]:
        """The data of a ConfigMap."""
        found = _object(await self._rest.call("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}"))
        return found.get("data") or {}


def _object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise TransportError(f"broken answer: {error}") from error
