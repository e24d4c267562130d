"""Bringing decoded JSON into the shape of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.apiserver.schema import conform


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"spec": {"nodeName": None}}, {"spec": {}}, id="null is as good as absent"),
        pytest.param(
            {"metadata": {"labels": {"a": None}}}, {"metadata": {"labels": {"a": ""}}}, id="null label is empty"
        ),
        pytest.param(
            {"spec": {"overhead": {"cpu": 0.5, "memory": 1024}}},
            {"spec": {"overhead": {"cpu": "500m", "memory": "1024"}}},
            id="quantities become canonical",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1000m"}}}]}},
            {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}},
            id="quantities in lists too",
        ),
    ],
)
def test_normal_form(value: dict[str, Any], expected: dict[str, Any]) -> None:
    """What Go's decoding would drop or rewrite is dropped or rewritten."""
    found = conform("core.v1.Pod", value)
    assert (value, found.unknown, found.wrong) == (expected, [], "")


def test_unknown_fields_are_dropped_and_named() -> None:
    """With their paths, as strict validation reports them."""
    value: dict[str, Any] = {"spec": {"containers": [{"name": "c", "nope": 1}]}, "extra": {}}
    assert conform("core.v1.Pod", value).unknown == ["spec.containers[0].nope", "extra"]
    assert value == {"spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param(
            {"spec": {"priority": "high"}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
            id="text for a number",
        ),
        pytest.param(
            {"spec": {"priority": 2**40}},
            "json: cannot unmarshal number 1099511627776 into Go struct field PodSpec.spec.priority of type int32",
            id="a number too large",
        ),
        pytest.param(
            {"spec": {"containers": {}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
            id="an object for a list",
        ),
        pytest.param(
            {"metadata": []},
            "json: cannot unmarshal array into Go struct field Pod.metadata of type v1.ObjectMeta",
            id="a list for an object",
        ),
        pytest.param(
            {"spec": {"hostNetwork": 1}},
            "json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool",
            id="a number for a flag",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "yesterday"}},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday"',
            id="no time",
        ),
        pytest.param(
            {"spec": {"overhead": {"cpu": True}}}, "json: cannot unmarshal bool into a quantity", id="no quantity"
        ),
    ],
)
def test_wrong_types(value: dict[str, Any], wrong: str) -> None:
    """The first value of a wrong type is reported in Go's words."""
    assert conform("core.v1.Pod", value).wrong == wrong
