"""Bytes to events."""

from __future__ import annotations

import msgspec
import pytest

from kubesched.client.watch_stream import LineSplitter, WatchEvent, error_of, parse_event
from kubesched.errors import TransportError


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"a\nb\n"], [[b"a", b"b"]], id="whole lines"),
        pytest.param([b"a", b"b", b"c\nd", b"\n"], [[], [], [b"abc"], [b"d"]], id="a line over several chunks"),
        pytest.param([b"\n\na\n\n"], [[b"a"]], id="blank lines are skipped"),
        pytest.param([b"a\nb"], [[b"a"]], id="an unfinished line waits"),
    ],
)
def test_splits_lines(chunks: list[bytes], expected: list[list[bytes]]) -> None:
    """Chunks end anywhere."""
    splitter = LineSplitter()
    assert [list(splitter.feed(chunk)) for chunk in chunks] == expected


def test_a_line_that_is_no_event_breaks_the_stream() -> None:
    """It is the connection's fault, not an object's."""
    with pytest.raises(TransportError, match="broken watch stream"):
        parse_event(b'{"type": "ADDED", "obj')


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b'{"code":410,"reason":"Expired","message":"too old"}', "410 Expired: too old", id="a Status"),
        pytest.param(b"[]", "500 InternalError: watch ended with an unreadable error", id="something else"),
    ],
)
def test_error_events(body: bytes, message: str) -> None:
    """An ERROR event carries a Status."""
    assert message in str(error_of(WatchEvent("ERROR", msgspec.Raw(body)), "/api/v1/pods"))
