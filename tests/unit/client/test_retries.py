"""What may be sent again."""

from __future__ import annotations

import random

import pytest

from kubesched.client.retries import retry_delay
from kubesched.errors import ApiStatusError, ClientError, TransportError


def status(code: int, retry_after: float | None = None) -> ApiStatusError:
    return ApiStatusError(code, "", "", retry_after=retry_after)


@pytest.mark.parametrize(
    ("method", "error", "retried"),
    [
        pytest.param("POST", status(429, 2), True, id="too many requests, with a time: any method"),
        pytest.param("POST", status(429), True, id="too many requests without a time: nothing was done"),
        pytest.param("POST", status(503, 1), True, id="unavailable, with a time: any method"),
        pytest.param("POST", status(500), False, id="an internal error after a create may have created"),
        pytest.param("GET", status(500), True, id="an internal error after a read is harmless"),
        pytest.param("GET", status(404), False, id="not found stays not found"),
        pytest.param("PUT", status(409), False, id="a conflict is the caller's"),
        pytest.param("POST", TransportError("refused", request_sent=False), True, id="refused: never sent"),
        pytest.param("POST", TransportError("reset"), False, id="broken after sending: unknown outcome"),
        pytest.param("GET", TransportError("reset"), True, id="a broken read"),
        pytest.param("GET", TransportError("slow", timed_out=True), False, id="a read that timed out took its time"),
    ],
)
def test_what_is_retried(method: str, error: ClientError, retried: bool) -> None:
    """Only what is safe to send again."""
    assert (retry_delay(method, error, 0, random.Random(1)) is not None) is retried


def test_retries_end() -> None:
    """Failures without a time are retried four times."""
    delays = [retry_delay("GET", status(500), attempt, random.Random(1)) for attempt in range(5)]
    assert delays[4] is None
    assert None not in delays[:4]
