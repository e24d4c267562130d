"""Broken, hostile and foreign files: one clear error with the line, and nothing lost before it."""

from __future__ import annotations

import gzip
import io
import tracemalloc

import pytest

from kubesched.errors import TraceError
from kubesched.traces import Trace
from kubesched.traces.compression import ZstdCompressor

HEADER = b'{"kubeschedTrace":1,"started":100}\n'
GOOD = b'{"time":101,"type":"ADDED","kind":"Node","object":{"metadata":{"name":"n1"}}}\n'


def opened(content: bytes) -> Trace:
    return Trace.open(io.BytesIO(content))


def packed(content: bytes) -> bytes:
    packer = ZstdCompressor()
    return packer.compress(content, ZstdCompressor.FLUSH_FRAME)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(b"{", "line 3: Input data was truncated", id="no JSON"),
        pytest.param(b"\xff\xfe{}", "line 3: ", id="no UTF-8"),
        pytest.param(b"[]", "line 3: Expected `object`, got `array`", id="no object"),
        pytest.param(b"{}", "line 3: Object missing required field `time`", id="no time"),
        pytest.param(b'{"time":102}', "line 3: Object missing required field `type`", id="no type"),
        pytest.param(b'{"time":"late","type":"ADDED"}', "line 3: Expected `float`, got `str`", id="a time of words"),
        pytest.param(
            b'{"time":99,"type":"GAP","since":1,"kind":"Pod"}', "line 3: the time goes back", id="time goes back"
        ),
        pytest.param(b'{"time":1e999,"type":"ADDED"}', "line 3: ", id="an endless time"),
        pytest.param(
            b'{"time":102,"type":"ADDED","kind":"Pod","object":{"spec":{"priority":"high"}}}',
            "line 3: spec.priority: Expected `int",
            id="an object with a wrong type",
        ),
        pytest.param(b'{"time":102,"type":"ADDED","kind":"Pod"}', "line 3: ", id="a change without an object"),
        pytest.param(
            b'{"time":102,"type":"ADDED","kind":"Pod","object":{}}',
            "line 3: Pod: an object without a name",
            id="no name",
        ),
        pytest.param(b'{"time":102,"type":"BOUND"}', "line 3: Object missing required field `pod`", id="no pod"),
        pytest.param(b"[" * 200_000, "line 3: ", id="nested without end"),
    ],
)
def test_bad_line(line: bytes, problem: str) -> None:
    """The entries before it are delivered, then one error names the line."""
    entries = iter(opened(HEADER + GOOD + line + b"\n" + GOOD))
    assert next(entries).time == 101
    with pytest.raises(TraceError) as caught:
        next(entries)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        pytest.param(b'{"kubeschedTrace":2,"started":1}', "format version 2", id="a later version"),
        pytest.param(b'{"kubeschedTrace":0,"started":1}', "format version 0", id="no version"),
        pytest.param(b'{"kubeschedTrace":"1","started":1}', "kubeschedTrace: Expected `int`, got `str`", id="a word"),
        pytest.param(b'{"kubeschedTrace":1}', "required field `started`", id="no start"),
    ],
)
def test_bad_header(header: bytes, problem: str) -> None:
    """It is an error at once."""
    with pytest.raises(TraceError, match="line 1") as caught:
        opened(header + b"\n" + GOOD)
    assert problem in str(caught.value)


def test_entries_of_a_later_version_are_skipped() -> None:
    """Types of entries, kinds and fields that we do not know yet."""
    unknown = (
        b'{"time":102,"type":"MOOD","mood":"good"}\n'
        b'{"time":103,"type":"ADDED","kind":"Robot","object":{"metadata":{"name":"r"}}}\n'
        b'{"time":104,"type":"ADDED","kind":"Node","object":{"metadata":{"name":"n2"},"colour":1},"more":2}\n'
    )
    assert [entry.time for entry in opened(HEADER + GOOD + unknown)] == [101, 104]


@pytest.mark.parametrize("pack", [packed, gzip.compress, bytes], ids=["zstd", "gzip", "plain"])
def test_a_line_without_end(pack: object) -> None:
    """A gigabyte of one line, or a few kilobytes that unpack to it, never gets into memory."""
    bomb = HEADER + GOOD + b'{"time":102,"type":"' + b"A" * (64 << 20)
    content = pack(bomb)  # type: ignore[operator]
    del bomb
    tracemalloc.start()
    entries = iter(opened(content))
    assert next(entries).time == 101
    with pytest.raises(TraceError, match="line 3: longer than 16 MiB"):
        next(entries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_a_frame_that_asks_for_much_memory() -> None:
    """A window of gigabytes is refused."""
    header = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3])
    with pytest.raises(TraceError):
        list(opened(header + b"\x00" * 100))


def test_damaged_data() -> None:
    """What was unpacked before the damage is delivered; then an error says after which line it is."""
    content = b"".join(packed(part) for part in (HEADER, GOOD * 3, GOOD * 3))
    entries = iter(opened(content[:-20] + b"\x00" * 20))
    assert [next(entries).time for _ in range(3)] == [101] * 3
    with pytest.raises(TraceError, match="damaged data after line 4"):
        list(entries)


def test_several_frames_and_members() -> None:
    """Packed files can be joined, as zstd and gzip allow."""
    for pack in (packed, gzip.compress):
        assert len(list(opened(pack(HEADER + GOOD) + pack(GOOD)))) == 2


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"just words", b"\x89PNG\r\n\x1a\n"], ids=repr)
def test_something_else(content: bytes) -> None:
    """It is neither a trace nor objects: an error, or nothing in it."""
    try:
        trace = opened(content)
    except TraceError:
        return
    assert list(trace) == []
