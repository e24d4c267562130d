"""Formats of metrics, and which one is chosen."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from kubesched.serving.metric_formats import PROTOBUF, TEXT, in_order, name_of, negotiate, pieces, wants_gzip
from kubesched.telemetry.metrics import SchedulerMetrics

ASKED = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        pytest.param("", TEXT, id="nothing asked for"),
        pytest.param("*/*", TEXT, id="anything"),
        pytest.param(ASKED, PROTOBUF, id="protobuf"),
        pytest.param(f"text/plain;version=0.0.4;q=0.3,{ASKED};q=0.7", PROTOBUF, id="the better liked wins"),
        pytest.param(f"text/plain;version=0.0.4;q=0.9,{ASKED};q=0.7", TEXT, id="text is better liked"),
        pytest.param("application/openmetrics-text;version=1.0.0", TEXT, id="what is not spoken"),
        pytest.param("application/vnd.google.protobuf", TEXT, id="protobuf of another message"),
    ],
)
def test_formats_are_negotiated(accept: str, chosen: str) -> None:
    """As Go's expfmt does it."""
    assert negotiate(accept) == f"{chosen}; escaping=underscores"


def test_the_escaping_is_confirmed() -> None:
    """Prometheus 3 asks for one."""
    assert negotiate(f"{ASKED};escaping=allow-utf-8") == f"{PROTOBUF}; escaping=allow-utf-8"


@pytest.mark.parametrize(
    ("accept_encoding", "compresses"),
    [("", False), ("gzip", True), ("gzip, deflate, br", True), ("gzip;q=0", False), ("*", True), ("identity", False)],
)
def test_compression_is_negotiated(accept_encoding: str, compresses: bool) -> None:
    """Only for those who ask."""
    assert wants_gzip(accept_encoding) is compresses


def metrics(*, native: bool) -> bytes:
    registry = CollectorRegistry()
    made = SchedulerMetrics(registry, native_histograms=native)
    made.schedule_attempts.inc("scheduled", "default-scheduler")
    for seconds in (0, 0.001, 0.5, 3):
        made.scheduling_attempt_duration.observe(seconds, "scheduled", "default-scheduler")
    families = in_order(registry.collect())
    assert [name_of(family) for family in families] == sorted(name_of(family) for family in families)
    return b"".join(pieces(families, PROTOBUF))


def fields(message: bytes) -> dict[int, list[Any]]:
    """What a protobuf message says: numbers, eight bytes, or bytes, by field."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        key = varint()
        match key & 7:
            case 0:
                value: Any = varint()
            case 1:
                value, at = struct.unpack("<d", message[at : at + 8])[0], at + 8
            case _:
                size = varint()
                value, at = message[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def families_of(page: bytes) -> dict[str, dict[int, list[Any]]]:
    families = fields(b"".join(_with_keys(page)))[1]
    return {content[1][0].decode(): content for content in map(fields, families)}


def _with_keys(page: bytes) -> list[bytes]:
    """A delimited stream as one message with a repeated field."""
    parts, at = [], 0
    while at < len(page):
        start, size, shift = at, 0, 0
        while True:
            byte = page[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        parts.append(b"\x0a" + page[start : at + size])
        at += size
    return parts


def test_counters_in_protobuf() -> None:
    """Under their whole names, labels in order."""
    family = families_of(metrics(native=False))["scheduler_schedule_attempts_total"]
    [metric] = map(fields, family[4])
    labels = [tuple(part[0].decode() for part in fields(label).values()) for label in metric[1]]
    assert labels == [("profile", "default-scheduler"), ("result", "scheduled")]
    assert fields(metric[3][0]) == {1: [1.0]}
    assert family[3] == [0]


@pytest.mark.parametrize("native", [False, True])
def test_histograms_in_protobuf(native: bool) -> None:
    """Classic buckets always; native ones beside them, with the gate. (Go's decoder reads the same.)"""
    family = families_of(metrics(native=native))["scheduler_scheduling_attempt_duration_seconds"]
    [metric] = map(fields, family[4])
    histogram = fields(metric[7][0])
    assert (histogram[1], histogram[2]) == ([4], [3.501])
    buckets = [fields(bucket) for bucket in histogram[3]]
    assert [bucket[1][0] for bucket in buckets[:2]] == [2, 2]
    assert (buckets[0][2], buckets[-1][2]) == ([0.001], [16.384])
    assert (5 in histogram) is native
    if native:
        spans = [tuple(value[0] for value in fields(span).values()) for span in histogram[12]]
        assert (histogram[5], histogram[7], histogram[13]) == ([6], [1], [2, 0, 0]), "zigzag of 3, 1 zero, 1 0 0"
        assert spans == [(157, 1), (140, 1), (40, 1)], "zigzag of -79, 70 and 20"
