"""Bytes to events."""

from __future__ import annotations

import pytest

from kubesched.client.incoming import Unreadable
from kubesched.client.watch_stream import EventReader, LineSplitter
from kubesched.errors import ApiStatusError, TransportError
from kubesched.objects import Pod, PriorityClass


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"a\n", b"\n", b"b\n"], [[b"a"], [], [b"b"]], id="a line at a time"),
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


@pytest.mark.parametrize(
    ("line", "key", "version"),
    [
        pytest.param(
            b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"d","resourceVersion":"7"}}}',
            "d/a",
            "7",
            id="a pod",
        ),
        pytest.param(
            b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8","creationTimestamp":null},"spec":null}}',
            "",
            "8",
            id="a bookmark, with the nulls that Go writes",
        ),
    ],
)
def test_reads_events(line: bytes, key: str, version: str) -> None:
    """Type and object in one go."""
    event = EventReader(Pod, "/api/v1/pods").read(line)
    assert isinstance(event.object, Pod)
    assert (event.object.metadata.key, event.object.metadata.resource_version) == (key, version)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        pytest.param(
            b'{"metadata":{"name":"a","namespace":"d"},"spec":{"priority":"high"}}', "d/a", id="a field that is wrong"
        ),
        pytest.param(b'{"metadata":{"name":"n"},"spec":[]}', "n", id="without a namespace"),
        pytest.param(b'["no object"]', "", id="no object at all"),
    ],
)
def test_an_object_that_does_not_decode_tells_its_name(body: bytes, key: str) -> None:
    """What happened to it is known all the same."""
    event = EventReader(Pod, "/api/v1/pods").read(b'{"type":"DELETED","object":' + body + b"}")
    assert event.type == "DELETED"
    assert isinstance(event.object, Unreadable)
    assert event.object.metadata.key == key


def test_a_line_that_is_no_event_breaks_the_stream() -> None:
    """It is the connection's fault, not an object's."""
    with pytest.raises(TransportError, match="broken watch stream"):
        EventReader(Pod, "/api/v1/pods").read(b'{"type": "ADDED", "obj')


@pytest.mark.parametrize("kind", [Pod, PriorityClass])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            b'{"kind":"Status","metadata":{},"status":"Failure","code":410,"reason":"Expired","message":"too old"}',
            "410 Expired: too old",
            id="a Status",
        ),
        pytest.param(b"[]", "500 InternalError: watch ended with an unreadable error", id="something else"),
    ],
)
def test_error_events(kind: type[Pod | PriorityClass], body: bytes, message: str) -> None:
    """An ERROR event carries a Status, whether or not that would pass for an object of the kind."""
    with pytest.raises(ApiStatusError, match=message):
        EventReader(kind, "/apis").read(b'{"type":"ERROR","object":' + body + b"}")
