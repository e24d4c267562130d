"""Protobuf bodies."""

from __future__ import annotations

import pytest

from kubesched.cluster.apiserver.schema.protobuf import decode_protobuf
from kubesched.errors import InvalidObjectError


def field(number: int, content: bytes | int | str) -> bytes:
    """One field on the wire."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content & (1 << 64) - 1)
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, version) + field(2, kind)) + field(2, raw)


def test_a_binding() -> None:
    """Empty strings, which Go always writes, are left out as in JSON."""
    metadata = field(1, "p") + field(2, "") + field(3, "default") + field(8, b"")
    target = field(1, "Node") + field(2, "") + field(3, "n1")
    assert decode_protobuf(envelope("v1", "Binding", field(1, metadata) + field(2, target))) == {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default"},
        "target": {"kind": "Node", "name": "n1"},
    }


def test_pointers_keep_their_zero() -> None:
    """Zero replicas are meant; a zero of a plain field is not."""
    spec = field(1, 0) + field(5, 0)
    decoded = decode_protobuf(envelope("apps/v1", "Deployment", field(2, spec)))
    assert decoded["spec"] == {"replicas": 0}


def test_inlined_structs_maps_quantities_and_times() -> None:
    """What is nested in protobuf and flat in JSON comes out flat."""
    volume = field(1, "v") + field(2, field(2, b""))  # an emptyDir
    requests = field(2, field(1, "cpu") + field(2, field(1, "500m")))
    container = field(1, "c") + field(8, requests)
    metadata = field(1, "p") + field(8, field(1, 1_700_000_000)) + field(11, field(1, "a") + field(2, "b"))
    raw = field(1, metadata) + field(2, field(1, volume) + field(2, container) + field(4, -1))
    assert decode_protobuf(envelope("v1", "Pod", raw)) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "creationTimestamp": "2023-11-14T22:13:20Z", "labels": {"a": "b"}},
        "spec": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
            "terminationGracePeriodSeconds": -1,
        },
    }


def test_delete_options_of_any_group() -> None:
    """They belong to no group, whatever the client writes there."""
    raw = field(1, 5) + field(2, field(1, "u-1"))
    decoded = decode_protobuf(envelope("apps/v1", "DeleteOptions", raw))
    assert decoded == {
        "kind": "DeleteOptions",
        "apiVersion": "apps/v1",
        "gracePeriodSeconds": 5,
        "preconditions": {"uid": "u-1"},
    }


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{}", id="JSON"),
        pytest.param(b"k8s\x00", id="nothing"),
        pytest.param(b"k8s\x00\x0a\xff", id="cut off"),
        pytest.param(b"k8s\x00" + b"\xff" * 20, id="an endless number"),
        pytest.param(envelope("v1", "Pod", b"\x0b"), id="an unknown wire type"),
        pytest.param(envelope("v1", "Pod", field(2, b"\xff")), id="nonsense inside"),
    ],
)
def test_nonsense(body: bytes) -> None:
    """What is no message is refused with a reason."""
    with pytest.raises(InvalidObjectError, match="protobuf message"):
        decode_protobuf(body)
