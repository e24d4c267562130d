"""Before the watches: what the API server refuses. After that: its news reach the event handlers."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.apps.run.heard import Heard

from kubesched.apps.run.informers import AccessCheck, Watches, watched_kinds
from kubesched.client.rest import RestClient
from kubesched.client.transport import Response
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError, TransportError
from kubesched.objects import KIND_OF, DeviceTaintRule, Node, Pod, PodGroup
from kubesched.telemetry.metrics import SchedulerMetrics
from kubesched.testing.fake_api_server import FakeApiServer, failure

FORBIDDEN = 'pods is forbidden: User "x" cannot list resource "pods" in API group "" at the cluster scope'


def check(server: FakeApiServer, kinds: tuple[type, ...] = (Pod, Node)) -> AccessCheck:
    return AccessCheck(RestClient(server, VirtualClock(), Random(1)), kinds)


async def test_a_kind_that_the_server_does_not_have_is_left_out() -> None:
    """An older server, or one with an API switched off, is no reason not to schedule."""
    server = FakeApiServer()
    fine = Response(200, b"{}")
    server.failures = [fine, fine, failure(404, "NotFound", "the server could not find the requested resource")]
    assert await check(server).served_kinds() == [Pod]


RULES = b'{"resources": [{"name": "devicetaintrules"}]}'


@pytest.mark.parametrize(
    ("versions", "is_missing"),
    [
        pytest.param(failure(404, "NotFound", "the server could not find the requested resource"), True, id="no API"),
        pytest.param(Response(200, b'{"resources": [{"name": "deviceclasses"}]}'), True, id="others of its version"),
        pytest.param(Response(200, RULES), False, id="it is there, but not for us"),
    ],
)
async def test_nobody_may_list_what_the_server_does_not_have(versions: Response, is_missing: bool) -> None:
    """A forbidden kind of a gate is left out if that is because the server's gate is off."""
    server, fine, forbidden = FakeApiServer(), Response(200, b"{}"), failure(403, "Forbidden", FORBIDDEN)
    server.failures = [fine, fine, forbidden, versions, forbidden if is_missing else fine, forbidden]
    checked = check(server, (Pod, DeviceTaintRule)).served_kinds()
    if is_missing:
        assert await checked == [Pod]
    else:
        with pytest.raises(ConfigurationError, match="a permission is missing"):
            await checked


async def test_a_server_of_an_older_release_has_a_kind_in_an_older_version() -> None:
    """It is read in that: rules that taint devices are v1 since Kubernetes 1.37 only."""
    server, fine, missing = FakeApiServer(), Response(200, b"{}"), failure(404, "NotFound", "no such resource")
    server.failures = [fine, fine, missing, fine]
    checked = check(server, (Pod, DeviceTaintRule))
    assert await checked.served_kinds() == [Pod, DeviceTaintRule]
    assert checked._rest.kind(DeviceTaintRule).api_version == "resource.k8s.io/v1beta2"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(failure(403, "Forbidden", FORBIDDEN), f"a permission is missing: {FORBIDDEN}", id="403"),
        pytest.param(
            TransportError("invalid peer certificate: UnknownIssuer", request_sent=False, untrusted=True),
            "the API server's certificate is not trusted: ",
            id="a certificate of strangers",
        ),
    ],
)
async def test_what_only_a_person_can_mend_is_a_configuration_error(answer: Any, says: str) -> None:
    """Its line says what to mend. A server that forbids something is asked whether it is ready, and once more."""
    server = FakeApiServer()
    server.failures = [answer, Response(200, b"ok"), answer]
    with pytest.raises(ConfigurationError) as caught:
        await check(server).served_kinds()
    assert caught.value.problems[0].startswith(says)


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(TransportError("connection refused", request_sent=False), id="nobody listens"),
        pytest.param(failure(401, "Unauthorized"), id="our credentials are not accepted yet"),
    ],
)
async def test_a_server_that_is_away_is_waited_for(problem: Response | TransportError) -> None:
    """The check goes on by itself when the server is back."""
    server, clock = FakeApiServer(), VirtualClock()
    server.failures = [problem] * 1000
    waiting = asyncio.create_task(check(server).served_kinds_when_up(clock, Random(1)))
    await clock.advance(3)
    assert not waiting.done()
    server.failures.clear()
    await clock.advance(20)
    assert await waiting == [Pod, Node]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([failure(403, "Forbidden", FORBIDDEN), failure(500, "", "readyz check failed")], id="not ready"),
        pytest.param([failure(403, "Forbidden", FORBIDDEN)] * 2, id="too early even for that question"),
        pytest.param([failure(403, "Forbidden", FORBIDDEN), Response(200, b"ok")], id="ready by now"),
    ],
)
async def test_a_server_that_has_just_started_forbids_everything(answers: list[Response]) -> None:
    """It answers before it has read its roles: that is not for a person to mend, and passes."""
    server, clock = FakeApiServer(), VirtualClock()
    server.failures = [*answers]
    waiting = asyncio.create_task(check(server).served_kinds_when_up(clock, Random(1)))
    await clock.advance(0)
    await clock.advance(20)
    assert await waiting == [Pod, Node]


@pytest.mark.parametrize(("gate", "kind"), [("GenericWorkload", PodGroup), ("DRADeviceTaintRules", DeviceTaintRule)])
def test_kinds_of_a_gate_are_watched_with_it(gate: str, kind: type) -> None:
    """Without it the API server may not even have the kind."""
    assert kind not in watched_kinds(FeatureGates.parse(f"{gate}=false"))
    assert kind in watched_kinds(FeatureGates.parse(f"{gate}=true"))
    assert all(kind in KIND_OF for kind in watched_kinds(FeatureGates()))


async def test_a_kind_that_comes_later_is_watched_from_then_on() -> None:
    """The server is upgraded, or an API is switched on: nobody has to restart the scheduler for that."""

    class Growing(FakeApiServer):
        has_nodes = False

        async def request(self, method: str, path: str, **more: Any) -> Response:
            if path == "/api/v1/nodes" and not self.has_nodes:
                return failure(404, "NotFound", "the server could not find the requested resource")
            return await super().request(method, path, **more)

    server, clock, heard = Growing(), VirtualClock(), Heard()
    rest = RestClient(server, clock, Random(1))
    handlers: Any = heard
    durations = SchedulerMetrics(CollectorRegistry()).event_handling_duration
    watches = Watches(rest, clock, Random(1), handlers, durations)
    waiting = asyncio.create_task(watches.start_once_served([Node], AccessCheck(rest, (Node,))))
    server.put("/api/v1/nodes", {"metadata": {"name": "n"}})
    await clock.advance(0)
    await clock.advance(150)
    assert heard.calls == []
    server.has_nodes = True
    server.failures = [TransportError("connection reset")]
    await clock.advance(60)
    assert not waiting.done()
    await clock.advance(60)
    await clock.advance(0)
    assert waiting.done()
    assert heard.calls == ["+n"]
    await watches.stop()
