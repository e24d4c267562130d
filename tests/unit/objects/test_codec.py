"""Decoding and encoding: names, nulls, unknown fields, and errors that say where."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kubesched.errors import InvalidObjectError
from kubesched.objects import (
    KINDS,
    Lease,
    Node,
    Pod,
    ResourceSlice,
    convert,
    decode,
    decode_object,
    encode,
    to_builtins,
    to_manifest,
)
from kubesched.objects.base import MicroTime
from kubesched.objects.coordination import LeaseSpec
from kubesched.objects.dra import DeviceAttribute
from kubesched.objects.meta import ObjectList
from kubesched.objects.quantity import Quantity

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}, "managedFields": [{"manager": "x"}]},
    "spec": {
        "containers": [
            {
                "name": "main",
                "command": ["sleep"],
                "resources": {"requests": {"cpu": "100m", "memory": 0.5}},
                "ports": [{"hostPort": 80, "hostIP": "127.0.0.1"}],
            }
        ],
        "preemptionPolicy": "Never",
        "topologySpreadConstraints": [{"maxSkew": 1, "labelSelector": {}}],
    },
    "status": {"startTime": "2024-05-01T10:00:00Z"},
}


def test_reads_the_fields_that_scheduling_uses_and_ignores_the_rest() -> None:
    """Names are Kubernetes' in snake_case; fields that kubesched does not know are no error."""
    pod = decode(json.dumps(POD), Pod)
    assert pod.key == "shop/web-1"
    assert pod.spec.containers[0].resources.requests == {
        "cpu": Quantity.of_milli(100),
        "memory": Quantity.of_milli(500),
    }
    assert pod.spec.containers[0].ports[0].host_ip == "127.0.0.1"
    assert pod.spec.topology_spread_constraints[0].label_selector is not None
    assert pod.status.start_time == datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_null_means_not_set_everywhere() -> None:
    """As in Go: null gives the default, in objects, maps and lists alike."""
    nothing = {
        "metadata": {"name": None, "labels": None, "creationTimestamp": None},
        "spec": {"containers": [{"resources": None, "ports": None}], "priority": None, "overhead": {"cpu": None}},
        "status": None,
    }
    assert decode(json.dumps(nothing), Pod) == convert({"spec": {"containers": [{}]}}, Pod)


def problem_of(manifest: Any, into: type) -> InvalidObjectError:
    with pytest.raises(InvalidObjectError) as caught:
        decode(json.dumps(manifest), into)
    return caught.value


@pytest.mark.parametrize(
    ("manifest", "path", "problem"),
    [
        pytest.param(
            {"spec": {"containers": [{}, {"resources": {"requests": {"memory": "1Gi", "cpu": "lots"}}}]}},
            "spec.containers[1].resources.requests.cpu",
            "quantities must match the regular expression",
            id="a quantity in a map names its key",
        ),
        pytest.param({"metadata": {"labels": {"a": "b", "n": 1}}}, "metadata.labels.n", "Expected `str`", id="a label"),
        pytest.param(
            {"spec": {"priority": "high"}}, "spec.priority", "Expected `int | null`, got `str`", id="a number"
        ),
        pytest.param({"spec": []}, "spec", "Expected `object`, got `array`", id="a list instead of an object"),
        pytest.param({"status": {"startTime": "soon"}}, "status.startTime", "Invalid RFC3339", id="a time"),
        pytest.param(
            {"spec": {"overhead": {"cpu": True}}}, "spec.overhead.cpu", "got `bool`", id="true is no quantity"
        ),
        pytest.param(
            {"spec": {"priority": None, "nodeName": 7}}, "spec.nodeName", "Expected `str`", id="an error besides a null"
        ),
        pytest.param([], "", "Expected `object`, got `array`", id="the whole object"),
    ],
)
def test_an_error_names_the_field(manifest: Any, path: str, problem: str) -> None:
    """The path is written as users know it from kubectl."""
    error = problem_of(manifest, Pod)
    assert error.path == path
    assert problem in error.problem
    assert str(error).startswith(f"{path}: " if path else error.problem)


def test_an_error_in_a_map_of_maps_names_every_key() -> None:
    """Also where maps are nested in lists in maps."""
    good, bad = (
        {"counters": {"x": {"value": "1"}}},
        {"counters": {"x": {"value": "1"}, "y": {"value": "-"}, "z": {"value": "?"}}},
    )
    error = problem_of({"spec": {"sharedCounters": [good, bad]}}, ResourceSlice)
    assert error.path == "spec.sharedCounters[1].counters.z.value"


def test_an_error_says_which_object() -> None:
    """Kind and name, as far as the manifest tells them."""
    with pytest.raises(InvalidObjectError, match=r"^Pod shop/web-1: spec\.nodeName: Expected `str`, got `int`$"):
        decode_object({**POD, "spec": {"nodeName": 1}})


@pytest.mark.parametrize("text", ["", "{", "nonsense", b"\xff\xfe"])
def test_what_is_not_json_is_an_invalid_object(text: str | bytes) -> None:
    """Broken text is told apart from a broken object."""
    with pytest.raises(InvalidObjectError, match="not valid JSON"):
        decode(text, Pod)


def test_encoding_leaves_defaults_out_and_reads_back() -> None:
    """What was decoded encodes to the fields that were set, in Kubernetes' names."""
    pod = convert(POD, Pod)
    plain = to_builtins(pod)
    assert plain["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "500m"}
    assert plain["spec"]["containers"][0]["ports"] == [{"hostPort": 80, "hostIP": "127.0.0.1"}]
    assert "affinity" not in plain["spec"]
    assert decode(encode(pod), Pod) == pod


def test_a_manifest_carries_kind_and_version() -> None:
    """`to_manifest` and `decode_object` are inverse."""
    manifest = to_manifest(convert(POD, Pod))
    assert (manifest["apiVersion"], manifest["kind"]) == ("v1", "Pod")
    assert decode_object(manifest) == convert(POD, Pod)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_decodes_and_encodes(kind: Any) -> None:
    """An object with nothing but a name works for all kinds."""
    manifest = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": "x"}}
    decoded = decode_object(json.dumps(manifest))
    assert type(decoded) is kind.struct
    assert to_manifest(decoded) == manifest


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param({"metadata": {}}, "'kind' is missing", id="no kind"),
        pytest.param({"kind": "Gadget", "apiVersion": "v1"}, "unknown kind 'Gadget'", id="an unknown kind"),
        pytest.param({"kind": ["Pod"], "apiVersion": "v1"}, "unknown kind", id="a kind that is no text"),
        pytest.param({"kind": "Pod"}, "apiVersion: expected 'v1', got None", id="no version"),
        pytest.param({"kind": "Pod", "apiVersion": "v2"}, "apiVersion: expected 'v1', got 'v2'", id="a wrong version"),
    ],
)
def test_an_object_of_an_unknown_kind_is_refused(manifest: dict[str, Any], message: str) -> None:
    """The error says what was found and what would do."""
    with pytest.raises(InvalidObjectError, match=message):
        decode_object(manifest)


def test_a_micro_time_is_written_with_six_digits() -> None:
    """API servers refuse a MicroTime with fewer digits, even if they are zero."""
    lease = Lease(spec=LeaseSpec(renew_time=MicroTime.of(datetime(2024, 5, 1, 10, 0, 0, tzinfo=UTC))))
    assert encode(lease) == b'{"spec":{"renewTime":"2024-05-01T10:00:00.000000Z"}}'
    assert decode(encode(lease), Lease) == lease


def test_device_attributes_keep_their_json_names() -> None:
    """`int`, `bool`, `string` and `version` are words of Python or too short to read; the structs rename them."""
    attribute = DeviceAttribute(int_value=3)
    assert encode(attribute) == b'{"int":3}'


def test_objects_are_frozen_and_keyword_only() -> None:
    """A value that is shared must not change, and positions must not matter."""
    node = Node()
    with pytest.raises(AttributeError):
        node.spec = node.spec  # type: ignore[misc]  # the assignment is what is tested
    with pytest.raises(TypeError):
        Node(node.metadata)  # type: ignore[call-arg]  # so is the positional argument


def test_lists_decode_with_their_metadata() -> None:
    """The resource version is where a watch continues; items may be left raw, to be decoded one by one."""
    text = json.dumps({"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [POD, {"spec": []}]})
    raw = decode(text, ObjectList[msgspec.Raw])
    assert (raw.metadata.resource_version, raw.metadata.continue_) == ("7", "next")
    assert decode(bytes(raw.items[0]), Pod) == convert(POD, Pod)
    with pytest.raises(InvalidObjectError, match=r"^items\[1\]\.spec: Expected"):
        decode(text, ObjectList[Pod])
