"""Patches of lists with thousands of items are merged by key, not by comparing all with all."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kubesched.cluster.apiserver.patch import apply_strategic_patch
from kubesched.cluster.apiserver.schema import struct

POD = struct("core.v1.Pod")


def containers(count: int) -> list[dict[str, Any]]:
    return [{"name": f"c{number}", "image": "i"} for number in range(count)]


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"containers": containers(8000)}, id="merged"),
        pytest.param({"containers": [{"name": f"c{n}", "$patch": "delete"} for n in range(8000)]}, id="deleted"),
        pytest.param({"$setElementOrder/containers": [{"name": f"c{n}"} for n in range(7999, 0, -2)]}, id="ordered"),
    ],
)
def test_strategic_merge(patch: dict[str, Any]) -> None:
    """Each took more than ten seconds."""
    started = time.process_time()
    apply_strategic_patch({"spec": {"containers": containers(8000)}}, {"spec": patch}, POD)
    assert time.process_time() - started < 1.0
