"""Sets of fields."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.apiserver.ownership.field_sets import field_set, from_fields_v1, to_fields_v1
from kubesched.cluster.apiserver.schema import struct

POD = struct("core.v1.Pod")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"metadata": {"name": "p", "uid": "u"}}, {}, id="what the server writes belongs to nobody"),
        pytest.param(
            {"metadata": {"labels": {"a": "b"}}}, {"f:metadata": {"f:labels": {"f:a": {}}}}, id="a map key by key"
        ),
        pytest.param({"metadata": {"labels": {}}}, {"f:metadata": {"f:labels": {}}}, id="an empty map as a whole"),
        pytest.param({"spec": {"nodeSelector": {"a": "b"}}}, {"f:spec": {"f:nodeSelector": {}}}, id="an atomic map"),
        pytest.param({"spec": {"tolerations": [{"key": "a"}]}}, {"f:spec": {"f:tolerations": {}}}, id="an atomic list"),
        pytest.param(
            {"metadata": {"finalizers": ["a/b"]}}, {"f:metadata": {"f:finalizers": {'v:"a/b"': {}}}}, id="a set"
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}},
            {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:name": {},
                            "f:ports": {
                                'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            },
                        }
                    }
                }
            },
            id="keyed lists, with the default of a key",
        ),
    ],
)
def test_sets(value: dict[str, Any], expected: dict[str, Any]) -> None:
    """A value's fields, as FieldsV1 nests them, and back."""
    fields = field_set(value, POD)
    assert to_fields_v1(fields) == expected
    assert from_fields_v1(expected) == fields
