"""Strategic merge patches."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.apiserver.patch import PatchError, apply_strategic_patch
from kubesched.cluster.apiserver.schema import struct

POD = struct("core.v1.Pod")


def containers(*names: str, **images: str) -> dict[str, Any]:
    return {
        "spec": {
            "containers": [{"name": name, **({"image": images[name]} if name in images else {})} for name in names]
        }
    }


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param(
            containers("a", "b"), containers("b", b="2"), containers("a", "b", b="2"), id="merged by name, in place"
        ),
        pytest.param(containers("a"), containers("z", z="1"), containers("z", "a", z="1"), id="a new one comes first"),
        pytest.param(
            containers("a", "b"),
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
            containers("b"),
            id="deleted by name",
        ),
        pytest.param(
            containers("a", "b"),
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}},
            containers("z"),
            id="the whole list replaced",
        ),
        pytest.param(
            containers("a", "b", "c"),
            {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}},
            containers("b", "c", "a"),
            id="ordered without a change: b stays before c, where the server had it",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {"finalizers": ["b"]}},
            id="deleted from plain values",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a"]}},
            {"metadata": {"$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b"]}},
            {"metadata": {"finalizers": ["a", "b"]}},
            id="plain values ordered",
        ),
        pytest.param(
            {"spec": {"nodeSelector": {"a": "1"}}},
            {"spec": {"nodeSelector": {"$patch": "replace", "b": "2"}}},
            {"spec": {"nodeSelector": {"b": "2"}}},
            id="an object replaced",
        ),
        pytest.param(
            {"spec": {"nodeSelector": {"a": "1"}}},
            {"spec": {"nodeSelector": {"$patch": "delete"}}},
            {"spec": {"nodeSelector": {}}},
            id="an object emptied",
        ),
        pytest.param(
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
            {"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}},
            {"spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}},
            id="keys not retained go",
        ),
        pytest.param({"spec": {"hostname": "h"}}, {"spec": {"hostname": None}}, {"spec": {}}, id="null removes"),
        pytest.param(
            {"spec": {}},
            {"spec": {"containers": [{"name": "a", "env": None}, {"name": "b", "$patch": "delete"}]}},
            containers("a"),
            id="directives in a new list are obeyed, not stored",
        ),
        pytest.param(
            {"spec": {"tolerations": [{"key": "a"}]}},
            {"spec": {"tolerations": [{"key": "b"}]}},
            {"spec": {"tolerations": [{"key": "b"}]}},
            id="a list without a key is replaced",
        ),
        pytest.param(
            {"spec": {"hostname": "h"}},
            {"spec": {"hostname": {"a": 1}}},
            {"spec": {"hostname": {"a": 1}}},
            id="another type",
        ),
    ],
)
def test_merging(target: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    """The field table decides what is merged."""
    assert apply_strategic_patch(target, patch, POD) == expected


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param([], id="no object"),
        pytest.param({"spec": {"$patch": "fly"}}, id="an unknown directive"),
        pytest.param({"spec": {"containers": [{"name": "a", "$patch": "fly"}]}}, id="an unknown directive in a list"),
        pytest.param({"spec": {"containers": [{"image": "x"}]}}, id="no merge key"),
        pytest.param({"spec": {"$retainKeys": ["a"], "hostname": "x"}}, id="a key that is not retained"),
        pytest.param({"spec": {"$retainKeys": "a"}}, id="keys to retain that are no list"),
        pytest.param({"spec": {"$setElementOrder/containers": "a"}}, id="an order that is no list"),
    ],
)
def test_refusals(patch: Any) -> None:
    """A patch that makes no sense says so."""
    with pytest.raises(PatchError):
        apply_strategic_patch(containers("a"), patch, POD)
