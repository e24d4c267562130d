"""What the scheduler's last event about a pod says, beside our own answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random

import pytest

from kubesched.apps.explain.explanation import Explanation
from kubesched.apps.explain.pod_events import Refusal, contradiction, last_refusal
from kubesched.client.rest import RestClient
from kubesched.client.transport import Response
from kubesched.clock import VirtualClock
from kubesched.scheduler.framework import Status
from kubesched.testing.fake_api_server import FakeApiServer

NOW = datetime(2026, 11, 18, 12, 0, 0, tzinfo=UTC)
EARLIER = datetime(2026, 11, 18, 11, 57, 0, tzinfo=UTC)
NO_CPU = "0/5 nodes are available: 5 Insufficient cpu."
PREEMPTION = " preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod."


@pytest.mark.parametrize(
    ("explanation", "message", "is_said"),
    [
        pytest.param(Explanation(pod="d/p", fit_error=NO_CPU + PREEMPTION), NO_CPU + PREEMPTION, False, id="the same"),
        pytest.param(
            Explanation(pod="d/p", fit_error=NO_CPU + PREEMPTION),
            f"{NO_CPU} preemption: not eligible due to a terminating pod on the nominated node.",
            False,
            id="the same but for preemption",
        ),
        pytest.param(
            Explanation(pod="d/p", fit_error=NO_CPU),
            "0/5 nodes are available: 5 node(s) had untolerated taint(s).",
            True,
            id="another reason",
        ),
        pytest.param(Explanation(pod="d/p", best_nodes=["n1"]), NO_CPU, True, id="it would fit now"),
        pytest.param(Explanation(pod="d/p", node="n1"), NO_CPU, False, id="it was placed since"),
        pytest.param(
            Explanation(pod="d/p", pre_enqueue=Status.unschedulable("gated")), NO_CPU, False, id="it was gated since"
        ),
    ],
)
def test_an_event_that_says_something_else(explanation: Explanation, message: str, is_said: bool) -> None:
    """Then the cluster has changed, or decides by something that we do not know."""
    said = contradiction(explanation, Refusal(message, EARLIER), NOW)
    assert bool(said) == is_said
    if is_said:
        assert said.startswith(f'the last event about it, 3 min ago, says something else: "{message}"')


def test_no_event_contradicts_nothing() -> None:
    """It may have expired."""
    assert not contradiction(Explanation(pod="d/p", fit_error=NO_CPU), None, NOW)


class Server(FakeApiServer):
    def __init__(self, status: int, events: object) -> None:
        super().__init__()
        self._answer = Response(status, json.dumps(events).encode())

    async def request(self, method: str, path: str, **options: object) -> Response:
        assert (method, path) == ("GET", "/api/v1/namespaces/d/events")
        assert options["query"] == "fieldSelector=involvedObject.name%3Dp%2Creason%3DFailedScheduling"
        return self._answer


EVENTS = [
    {"message": "first", "eventTime": "2026-11-18T11:00:00.000000Z"},
    {
        "message": "repeated",
        "eventTime": "2026-11-18T10:00:00.000000Z",
        "series": {"count": 9, "lastObservedTime": "2026-11-18T11:57:00.000000Z"},
    },
    {"message": "of an old recorder", "lastTimestamp": "2026-11-18T11:30:00Z"},
    {"message": "without a time"},
]


@pytest.mark.parametrize(
    ("server", "message"),
    [
        pytest.param(Server(200, {"items": EVENTS}), "repeated", id="the one that was repeated last"),
        pytest.param(Server(200, {"items": None}), None, id="none"),
        pytest.param(Server(403, {"kind": "Status", "code": 403}), None, id="none that we may read"),
    ],
)
async def test_the_last_refusal(server: Server, message: str | None) -> None:
    """The newest event counts, however it says when it was."""
    refusal = await last_refusal(RestClient(server, VirtualClock(), Random(0)), "d", "p")
    assert (refusal.message if refusal else None) == message
