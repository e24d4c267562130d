"""RFC 6902."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.apiserver.patch import PatchError, apply_json_patch


@pytest.mark.parametrize(
    ("target", "operations", "expected"),
    [
        pytest.param({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}, id="add a key"),
        pytest.param({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}, id="insert"),
        pytest.param({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}, id="append"),
        pytest.param({"a": [1, 2]}, [{"op": "remove", "path": "/a/0"}], {"a": [2]}, id="remove an item"),
        pytest.param({"a": 1}, [{"op": "replace", "path": "/a", "value": {}}], {"a": {}}, id="replace"),
        pytest.param({"a": [1]}, [{"op": "replace", "path": "/a/0", "value": 5}], {"a": [5]}, id="replace an item"),
        pytest.param({"a": 1}, [{"op": "replace", "path": "/b", "value": 2}], {"a": 1, "b": 2}, id="replace nothing"),
        pytest.param({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}, id="move"),
        pytest.param({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}, id="copy"),
        pytest.param(
            {"a/b": 1, "c~d": 2},
            [{"op": "remove", "path": "/a~1b"}, {"op": "remove", "path": "/c~0d"}],
            {},
            id="escapes",
        ),
        pytest.param({}, [{"op": "test", "path": "/a", "value": None}], {}, id="a missing value tests as null"),
        pytest.param({"a": 1}, [{"op": "add", "path": "", "value": {"b": 2}}], {"b": 2}, id="the whole document"),
        pytest.param({"a": 1}, [{"op": "replace", "path": "", "value": {}}], {}, id="replace the whole document"),
    ],
)
def test_operations(target: Any, operations: list[dict[str, Any]], expected: Any) -> None:
    """Operations apply in order."""
    assert apply_json_patch(target, operations) == expected


@pytest.mark.parametrize(
    ("operations", "malformed"),
    [
        pytest.param({"op": "add"}, True, id="no list"),
        pytest.param([{"op": "add"}], True, id="no path"),
        pytest.param([{"op": "fly", "path": "/a"}], False, id="an unknown operation"),
        pytest.param([{"op": "remove", "path": "/x"}], False, id="remove what is not there"),
        pytest.param([{"op": "remove", "path": ""}], False, id="remove everything"),
        pytest.param([{"op": "add", "path": "/x/y", "value": 1}], False, id="add below nothing"),
        pytest.param([{"op": "add", "path": "/l/9", "value": 1}], False, id="insert beyond the end"),
        pytest.param([{"op": "replace", "path": "/l/9", "value": 1}], False, id="replace beyond the end"),
        pytest.param([{"op": "add", "path": "/s/x", "value": 1}], False, id="add into text"),
        pytest.param([{"op": "add", "path": "/x"}], False, id="no value"),
        pytest.param([{"op": "move", "path": "/x"}], False, id="no source"),
        pytest.param([{"op": "add", "path": "x", "value": 1}], False, id="a path without a slash"),
        pytest.param([{"op": "test", "path": "/s", "value": "other"}], False, id="a failing test"),
        pytest.param([{"op": "test", "path": "/s", "value": "t"}] * 10_001, False, id="too many"),
    ],
)
def test_refusals(operations: Any, malformed: bool) -> None:
    """A patch that makes no sense says so."""
    with pytest.raises(PatchError) as refused:
        apply_json_patch({"l": [1], "s": "t"}, operations)
    assert refused.value.malformed is malformed
