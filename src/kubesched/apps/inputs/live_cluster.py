"""A picture of a live cluster in memory: for questions about it that must not change it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from kubesched.apps.run.clients import choose_connection
from kubesched.apps.run.informers import AccessCheck, watched_kinds
from kubesched.client.http_transport import HttpTransport
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates


@asynccontextmanager
async def connected(kubeconfig: str) -> AsyncIterator[RestClient]:
    """A client of the cluster that kubectl would reach. ConfigurationError if no kubeconfig says which one that is."""
    clock = SystemClock()
    transport = HttpTransport(choose_connection(kubeconfig, clock))
    try:
        yield RestClient(transport, clock, Random(0))  # noqa: S311 - for the jitter of retries
    finally:
        await transport.close()


async def fetch_objects(kubeconfig: str, gates: FeatureGates, for_plugins: Iterable[type] = ()) -> list[Any]:
    """Everything that scheduling reads, and the kinds that plugins read besides, as the API server has it now.

    ConfigurationError where a person must mend something, ClientError where the server does not answer.
    """
    async with connected(kubeconfig) as rest:
        kinds = await AccessCheck(rest, watched_kinds(gates, for_plugins)).served_kinds_at_once()
        lists: list[list[Any]] = await asyncio.gather(*(rest.list_all(kind) for kind in kinds))
    return [obj for listed in lists for obj in listed]
