"""REST calls: retries, rate limit, measuring."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from kubesched.client.fence import Fence
from kubesched.client.rate_limit import RateLimiter
from kubesched.client.rest import FinishedRequest, RestClient, manifest_json
from kubesched.client.transport import Response
from kubesched.clock import VirtualClock
from kubesched.errors import ApiStatusError, NotLeadingError, TransportError
from kubesched.objects import Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.testing.fake_api_server import FakeApiServer, failure

PODS = "/api/v1/pods"


def client(server: FakeApiServer, clock: VirtualClock, **options: object) -> RestClient:
    return RestClient(server, clock, random.Random(1), **options)  # type: ignore[arg-type] # passed through


async def test_waits_as_long_as_the_server_says() -> None:
    """Retry-After is honoured, with a little jitter on top."""
    server, clock = FakeApiServer(), VirtualClock()
    server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}})
    server.failures = [failure(429, "TooManyRequests", retry_after=5)]
    task = asyncio.create_task(client(server, clock).get(Pod, "p", "d"))
    await clock.advance(0)
    await clock.advance(4.9)
    assert not task.done()
    await clock.advance(0.7)
    assert (await task).key == "d/p"


async def test_gives_up_after_ten_retries() -> None:
    """A server that is always busy ends in its own error."""
    server, clock = FakeApiServer(), VirtualClock()
    server.failures = [failure(429, "TooManyRequests", "later", retry_after=1) for _ in range(20)]
    task = asyncio.create_task(client(server, clock).get(Pod, "p", "d"))
    await clock.advance(0)
    await clock.advance(60)
    with pytest.raises(ApiStatusError, match="429 TooManyRequests: later"):
        await task
    assert len(server.calls) == 11


async def test_limits_the_rate() -> None:
    """Three calls with a burst of one and one a second take two seconds."""
    server, clock = FakeApiServer(), VirtualClock()
    server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}})
    observer = Measured()
    rest = client(server, clock, observer=observer, limiter=RateLimiter(clock, qps=1.0, burst=1))
    tasks = [asyncio.create_task(rest.get(Pod, "p", "d")) for _ in range(3)]
    await clock.advance(0)
    assert len(server.calls) == 1
    await clock.advance(1.9)
    assert len(server.calls) == 2
    await clock.advance(0.2)
    assert [task.done() for task in tasks] == [True] * 3
    assert observer.seen == [f"GET fake:443 200 throttled={seconds} sent=0" for seconds in (0.0, 1.0, 2.0)]


class Measured:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def request_finished(self, request: FinishedRequest) -> None:
        told = f"{request.verb} {request.host} {request.code}"
        self.seen.append(f"{told} throttled={request.throttled:.1f} sent={request.sent_bytes}")

    def request_retried(self, *, verb: str, host: str, code: str) -> None:
        self.seen.append(f"retried {verb} {host} {code}")


async def test_measures_every_attempt() -> None:
    """Failed attempts count too, and a retry is told besides."""
    server, clock, observer = FakeApiServer(), VirtualClock(), Measured()
    server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}})
    server.failures = [TransportError("reset"), failure(503)]
    rest = client(server, clock, observer=observer)
    task = asyncio.create_task(rest.get(Pod, "p", "d"))
    await clock.advance(0)
    await clock.advance(10)
    await task
    assert observer.seen == [
        "GET fake:443 <error> throttled=0.0 sent=0",
        "GET fake:443 503 throttled=0.0 sent=0",
        "retried GET fake:443 503",
        "GET fake:443 200 throttled=0.0 sent=0",
        "retried GET fake:443 200",
    ]


async def test_create_list_patch_delete() -> None:
    """The life of an object."""
    server, clock = FakeApiServer(), VirtualClock()
    rest = client(server, clock)
    created = await rest.create(Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1")))
    assert created.metadata.resource_version == "1"
    assert server.calls[0].body["kind"] == "Pod"
    patched = await rest.patch(Pod, "p", {"status": {"nominatedNodeName": "n"}}, namespace="d", subresource="status")
    assert patched.status.nominated_node_name == "n"
    assert [pod.key for pod in await rest.list_all(Pod)] == ["d/p"]
    with pytest.raises(ApiStatusError, match="409 Conflict"):
        await rest.delete(Pod, "p", "d", uid="another")
    await rest.delete(Pod, "p", "d", uid="u1")
    assert await rest.list_all(Pod) == []


async def test_an_answer_that_is_no_status() -> None:
    """A proxy's page becomes an error in one line with the HTTP code."""
    server, clock = FakeApiServer(), VirtualClock()
    server.failures = [Response(418, b"<html>short and stout</html>")]
    with pytest.raises(ApiStatusError, match="GET /version: 418 Unknown: <html>short and stout</html>"):
        await client(server, clock).call("GET", "/version")


def test_manifest_json_of_a_default_object() -> None:
    """Valid JSON even where every field is at its default."""
    assert msgspec.json.decode(manifest_json(Pod())) == {"apiVersion": "v1", "kind": "Pod"}


async def test_writes_leave_only_through_an_open_fence() -> None:
    """Asked when the request is sent: not when it is made, nor before it waited for its turn."""
    server, clock = FakeApiServer(), VirtualClock()
    server.put("/api/v1/pods", {"metadata": {"name": "p", "namespace": "d"}})
    fence, limiter = Fence(clock), RateLimiter(clock, qps=1.0, burst=1)
    rest = RestClient(server, clock, random.Random(1), limiter=limiter, fence=fence)
    await rest.get(Pod, "p", "d")
    fence.keep_open(1.5)
    patches = [asyncio.create_task(rest.patch(Pod, "p", {}, namespace="d")) for _ in range(3)]
    await clock.advance(0)
    await clock.advance(10)
    done = await asyncio.gather(*patches, return_exceptions=True)
    assert [isinstance(result, NotLeadingError) for result in done] == [False, True, True]
    assert len(server.calls_of("PATCH")) == 1
