"""/metrics, /metrics/slis and /metrics/resources, in the format that the client asks for, compressed if it likes.

Pages are written family by family, with a turn of the loop after each: a scrape never holds up others for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from kubesched.objects import Pod
from kubesched.serving.metric_formats import compressed, in_order, negotiate, pieces, wants_gzip
from kubesched.serving.pod_resources import families


def metrics_route(path: str, registry: CollectorRegistry, reset: Callable[[], None]) -> Route:
    """GET shows a registry, DELETE resets it."""

    async def answer(request: Request) -> Response:
        if request.method == "DELETE":
            reset()
            return PlainTextResponse("metrics reset\n")
        return _page(request, in_order(registry.collect()))

    return Route(path, answer, methods=["GET", "DELETE"])


def pod_resources_route(pods: Callable[[], Sequence[Pod]], is_leader: Callable[[], bool]) -> Route:
    """Empty unless we lead, so that the cluster's pods are counted once."""

    async def answer(request: Request) -> Response:
        return _page(request, families(pods()) if is_leader() else ())

    return Route("/metrics/resources", answer)


def _page(request: Request, shown: Iterable[Metric]) -> Response:
    content_type = negotiate(request.headers.get("accept", ""))
    parts, headers = pieces(shown, content_type), {"Content-Type": content_type}
    if wants_gzip(request.headers.get("accept-encoding", "")):
        parts, headers["Content-Encoding"] = compressed(parts), "gzip"
    return StreamingResponse(_in_turns(parts), headers=headers)


async def _in_turns(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(0)
