"""Lines of a trace file and what they mean: one JSON object each, the first one the header (docs/traces.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from kubesched.errors import InvalidObjectError
from kubesched.objects import KIND_OF, KINDS, convert, decoding, encode
from kubesched.traces.entries import FORMAT_VERSION, Change, ChangeType, Decision, DecisionType, Entry, Gap, Header
from kubesched.traces.lines import Lines


class _ChangeLine(msgspec.Struct, frozen=True, gc=False):
    time: float
    type: ChangeType
    kind: str
    object: Any


class _Line(msgspec.Struct, frozen=True, gc=False):
    """What all entries have in common, and a change's object as it stands there: decoded once its kind is known."""

    time: float
    type: str
    kind: str = ""
    object: msgspec.Raw = msgspec.Raw(b"")


class _GapLine(Gap):
    type: str


GAP: Final = "GAP"
END: Final = "END"
_CHANGES: Final = {change.value: change for change in ChangeType}
_DECISIONS: Final = frozenset(DecisionType)
_decode_line: Final = msgspec.json.Decoder(_Line).decode
_decode_decision: Final = decoding(Decision)
_decode_gap: Final = decoding(Gap)
_decode_kind: Final[dict[str, Callable[[bytes | str], Any]]] = {
    name: decoding(kind.struct) for name, kind in KINDS.items()
}


def is_header(first_line: bytes) -> bool:
    """Whether a file that starts with this line is a trace in our format."""
    try:
        return "kubeschedTrace" in msgspec.json.decode(first_line)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError):
        return False


def decode_header(line: bytes, lines: Lines) -> Header:
    try:
        header = convert(msgspec.json.decode(line), Header)
    except (InvalidObjectError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise lines.error(f"not the header of a trace: {error}") from error
    if not 1 <= header.version <= FORMAT_VERSION:
        raise lines.error(
            f"the trace has format version {header.version}; this kubesched reads versions up to {FORMAT_VERSION}"
        )
    if not math.isfinite(header.started):
        raise lines.error("'started' is not a time")
    return header


def decode_entries(
    lines: Lines, remaining: Iterator[bytes], header: Header, ended: Callable[[float], None]
) -> Iterator[Entry]:
    """The entries after the header. TraceError names the line that is wrong, after all entries before it.

    `ended` gets the time until which the cluster was watched, where the file says so.
    """
    time = header.started
    for line in remaining:
        try:
            entry = decode_entry(line, ended)
        except (InvalidObjectError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if lines.is_cut_off:  # the last line, which the recorder did not finish
                return
            raise lines.error(str(error)) from error
        if entry is None:
            continue
        if not entry.time >= time:
            raise lines.error(f"the time goes back from {time!r} to {entry.time!r}")
        time = entry.time
        yield entry


def decode_entry(line: bytes, ended: Callable[[float], None]) -> Entry | None:
    """The entry in a line; None for one of a type or kind that this version does not know."""
    raw = _decode_line(line)
    change = _CHANGES.get(raw.type)
    if change is not None:
        decode = _decode_kind.get(raw.kind)
        if decode is None:
            return None
        obj = decode(bytes(raw.object))
        if not obj.metadata.name:
            raise InvalidObjectError("an object without a name", kind=raw.kind)
        return Change(time=raw.time, type=change, object=obj)
    if raw.type in _DECISIONS:
        return _decode_decision(line)
    if raw.type == END:
        ended(raw.time)
    return _decode_gap(line) if raw.type == GAP else None


def encode_header(header: Header) -> bytes:
    return encode(msgspec.structs.replace(header, version=FORMAT_VERSION)) + b"\n"


def encode_end(time: float) -> bytes:
    return encode({"time": time, "type": END}) + b"\n"


def encode_entry(entry: Entry) -> bytes:
    """The line of an entry, with its end."""
    if type(entry) is Change:
        kind = KIND_OF[type(entry.object)].name
        return encode(_ChangeLine(entry.time, entry.type, kind, entry.object)) + b"\n"
    if type(entry) is Gap:
        return encode(_GapLine(type=GAP, **msgspec.structs.asdict(entry))) + b"\n"
    return encode(entry) + b"\n"
