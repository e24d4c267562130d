"""Fields are found and removed by path, also where there are thousands."""

from __future__ import annotations

import time
from typing import Any

from kubesched.cluster.apiserver.ownership.field_sets import field_set
from kubesched.cluster.apiserver.ownership.removal import Fields, remove_fields
from kubesched.cluster.apiserver.schema import struct

POD = struct("core.v1.Pod")


def pod(count: int) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(count)]}}


def test_items_go_and_leave_no_gaps() -> None:
    """What is kept stays in its order."""
    value, kept = pod(4), field_set({"spec": {"containers": [{"name": "c2", "image": "i"}]}}, POD)
    remove_fields(value, field_set(pod(4), POD) - kept, kept, POD)
    assert value == {"spec": {"containers": [{"name": "c2", "image": "i"}]}}


def test_a_list_whose_items_are_all_gone_goes_too() -> None:
    """And so does what held nothing but the list."""
    value = pod(3)
    remove_fields(value, field_set(value, POD), frozenset(), POD)
    assert value == {}


def test_thousands_of_items() -> None:
    """Every path used to look through the whole list: 30 seconds for an object of 120 KB."""
    value = pod(5000)
    paths = field_set(value, POD)
    started = time.process_time()
    fields = Fields(value, POD)
    assert all(fields.contains(path) for path in paths)
    remove_fields(value, paths, frozenset(), POD)
    assert time.process_time() - started < 1.0
    assert value == {}
