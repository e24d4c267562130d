"""A QueueSort plugin that fails for a pod must not lose it, nor any other."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import QueuedPod, QueueSortPlugin
from kubesched.scheduler.state.queue.pod_heap import PodHeap
from kubesched.scheduler.state.queue.sort_keys import SortKeys
from kubesched.testing import make_pod


class ByOrder(QueueSortPlugin):
    """Reads a label that not every pod has, and not always as a number."""

    name = "ByOrder"

    def sort_key(self, pod: QueuedPod) -> Any:
        order = pod.info.pod.metadata.labels["order"]
        return int(order) if order.isdigit() else order


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        pytest.param(["2", None, "1"], ["1", "2", None], id="without a key"),
        pytest.param(["2", "x", "1"], ["1", "2", "x"], id="with a key that does not compare"),
        pytest.param([None, None, "1"], ["1", None, None], id="several without a key, in the order of their coming"),
        pytest.param([None, "x", "1"], ["x", None, "1"], id="the first key decides what others are compared with"),
    ],
)
def test_a_pod_that_cannot_be_ordered_comes_last(
    orders: list[str | None], expected: list[str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is told."""
    heap, templates = PodHeap(SortKeys(ByOrder()).of), ClusterTables().templates
    for number, order in enumerate(orders):
        labels = {"order": order} if order else {}
        heap.push(QueuedPod(templates.info(make_pod(f"p{number}", labels=labels)), sequence=number))
    popped = [queued.info.pod.metadata.labels.get("order") for _ in orders if (queued := heap.pop()) is not None]
    assert popped == expected
    assert "Pod cannot be ordered, it comes last" in capsys.readouterr().err
