"""/metrics, /metrics/slis and /metrics/resources, in the Prometheus text format.

Pages are written family by family, with a turn of the loop after each: a scrape never holds up scheduling for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from kubesched.objects import Pod
from kubesched.serving.pod_resources import families

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics_route(path: str, registry: CollectorRegistry, reset: Callable[[], None]) -> Route:
    """GET shows a registry, DELETE resets it."""

    async def answer(request: Request) -> Response:
        if request.method == "DELETE":
            reset()
            return PlainTextResponse("metrics reset\n")
        return _page(registry.collect())

    return Route(path, answer, methods=["GET", "DELETE"])


def pod_resources_route(pods: Callable[[], Sequence[Pod]], is_leader: Callable[[], bool]) -> Route:
    """Empty unless we lead, so that the cluster's pods are counted once."""

    async def answer(_request: Request) -> Response:
        return _page(families(pods()) if is_leader() else ())

    return Route("/metrics/resources", answer)


def _page(shown: Iterable[Metric]) -> Response:
    return StreamingResponse(_write(shown), headers={"Content-Type": CONTENT_TYPE})


async def _write(shown: Iterable[Metric]) -> AsyncIterator[bytes]:
    previous = ""
    for family in shown:
        text = generate_latest(_Single(family))
        if family.name == previous:  # a further piece of the same metric: its HELP and TYPE lines are there already
            text = text.split(b"\n", 2)[2]
        previous = family.name
        yield text
        await asyncio.sleep(0)


class _Single(CollectorRegistry):
    """A registry of one family: what prometheus-client's writer takes."""

    def __init__(self, family: Metric) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family
