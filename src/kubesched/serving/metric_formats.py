"""Metrics on the wire: Prometheus' text, or its delimited protobuf messages (io.prometheus.client.MetricFamily).

As Go's expfmt negotiates them. The messages are few and their fields fixed, so they are written here, by their numbers
in client_model's metrics.proto.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.samples import Sample

from kubesched.telemetry.native_histogram import ZERO_THRESHOLD, NativeBuckets

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
PROTOBUF: Final = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
_PROTO_TYPE: Final = "application/vnd.google.protobuf"
_MESSAGE: Final = "io.prometheus.client.metricfamily"
_ESCAPINGS: Final = ("allow-utf-8", "underscores", "dots", "values")
_TYPES: Final = {"counter": 0, "gauge": 1, "summary": 2, "unknown": 3, "untyped": 3, "histogram": 4}


def negotiate(accept: str) -> str:
    """The content type of the answer, as expfmt.Negotiate chooses it."""
    escaping = "underscores"
    for media_type, parameters in _by_preference(accept):
        if parameters.get("escaping") in _ESCAPINGS:
            escaping = parameters["escaping"]
        if media_type == _PROTO_TYPE and parameters.get("proto") == _MESSAGE:
            if parameters.get("encoding") == "delimited":
                return f"{PROTOBUF}; escaping={escaping}"
        elif media_type == "text/plain" and parameters.get("version", "0.0.4") == "0.0.4":
            break
    return f"{TEXT}; escaping={escaping}"


def wants_gzip(accept_encoding: str) -> bool:
    """Whether the client takes a compressed answer at least as gladly as a plain one."""
    qualities = {coding: float(parameters.get("q", "1")) for coding, parameters in _by_preference(accept_encoding)}
    gzip = qualities.get("gzip", qualities.get("*", 0.0))
    return gzip > 0.0 and gzip >= qualities.get("identity", 0.0)


def in_order(families: Iterable[Metric]) -> list[Metric]:
    """By name, as Go's registry gathers them."""
    return sorted(families, key=name_of)


def name_of(family: Metric) -> str:
    """As it is on the wire: the library leaves out a counter's ending."""
    return f"{family.name}_total" if family.type == "counter" else family.name


def pieces(families: Iterable[Metric], content_type: str) -> Iterator[bytes]:
    """The page, family by family. Several families of the same name in a row are one metric."""
    if content_type.startswith(_PROTO_TYPE):
        return _messages(families)
    return _texts(families)


def compressed(parts: Iterator[bytes]) -> Iterator[bytes]:
    """As one gzip stream."""
    compressor = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    for part in parts:
        if packed := compressor.compress(part):
            yield packed
    yield compressor.flush()


def _by_preference(header: str) -> list[tuple[str, dict[str, str]]]:
    choices = []
    for clause in header.lower().split(","):
        value, *rest = (part.strip() for part in clause.split(";"))
        parameters = {name.strip(): text.strip(' "') for name, _, text in (part.partition("=") for part in rest)}
        try:
            float(parameters.setdefault("q", "1"))
        except ValueError:
            parameters["q"] = "0"
        choices.append((value, parameters))
    return sorted(choices, key=lambda choice: -float(choice[1]["q"]))


# ---- text ----------------------------------------------------------------------------------------------------------


class _Single(CollectorRegistry):
    """A registry of one family: what prometheus-client's writer takes."""

    def __init__(self, family: Metric) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


def _texts(families: Iterable[Metric]) -> Iterator[bytes]:
    previous = ""
    for family in families:
        text = generate_latest(_Single(family))
        if family.name == previous:  # a further piece of the same metric: its HELP and TYPE lines are there already
            text = text.split(b"\n", 2)[2]
        previous = family.name
        yield text


# ---- protobuf ------------------------------------------------------------------------------------------------------


def _messages(families: Iterable[Metric]) -> Iterator[bytes]:
    name, message = "", bytearray()
    for family in families:
        if name_of(family) != name:
            if message:
                yield _varint(len(message)) + bytes(message)
            name, message = name_of(family), bytearray()
            kind = _TYPES.get(family.type, 3)
            message += _text(1, name) + _text(2, family.documentation) + _number(3, kind)
        for metric in _metrics(family):
            message += _bytes(4, metric)
    if message:
        yield _varint(len(message)) + bytes(message)


def _metrics(family: Metric) -> Iterator[bytes]:
    if family.type == "histogram":
        yield from _histograms(family)
        return
    field = {"gauge": 2, "counter": 3}.get(family.type, 5)
    for sample in family.samples:
        if sample.name in (family.name, name_of(family)):
            yield _labels(sample.labels) + _bytes(field, _double(1, sample.value))


def _histograms(family: Metric) -> Iterator[bytes]:
    """The samples of a histogram's series come together: its buckets, its count and its sum."""
    series: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in family.samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        series.setdefault(labels, []).append(sample)
    native: dict[tuple[str, ...], NativeBuckets] = getattr(family, "native", {})
    for labels, samples in series.items():
        values = {sample.name.removeprefix(family.name): sample.value for sample in samples}
        content = _number(1, int(values.get("_count", 0))) + _double(2, values.get("_sum", 0.0))
        for sample in samples:
            if sample.name.endswith("_bucket") and sample.labels["le"] != "+Inf":
                bucket = _number(1, int(sample.value)) + _double(2, float(sample.labels["le"]))
                content += _bytes(3, bucket)
        buckets = native.get(tuple(value for _, value in labels))
        if buckets is not None:
            content += _native(buckets)
        yield _labels(dict(labels)) + _bytes(7, content)


def _native(buckets: NativeBuckets) -> bytes:
    content = _signed(5, buckets.schema) + _double(6, ZERO_THRESHOLD) + _number(7, buckets.zero_count)
    for offset, length in buckets.spans:
        content += _bytes(12, _signed(1, offset) + _number(2, length))
    for delta in buckets.deltas:
        content += _signed(13, delta)
    return content


def _labels(labels: dict[str, str]) -> bytes:
    pairs = (_text(1, name) + _text(2, value) for name, value in sorted(labels.items()))
    return b"".join(_bytes(1, pair) for pair in pairs)


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _signed(field: int, number: int) -> bytes:
    return _number(field, number << 1 if number >= 0 else (-number << 1) - 1)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())
