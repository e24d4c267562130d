from __future__ import annotations

from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.plugins.priority_sort import PrioritySort
from kubesched.testing import make_pod
from kubesched.testing.handle import FakeHandle


def test_higher_priority_comes_first_then_the_longer_wait() -> None:
    """Among pods of equal priority the one that was added earlier is tried first."""
    handle = FakeHandle()
    plugin = PrioritySort(None, handle)
    waiting = [("late", 5, 9.0), ("early", 5, 1.0), ("minor", -1, 0.0), ("urgent", 7, 20.0)]
    pods = [
        QueuedPod(handle.cluster.templates.info(make_pod(name, priority=priority)), timestamp=since)
        for name, priority, since in waiting
    ]
    ordered = sorted(pods, key=plugin.sort_key)
    assert [pod.info.pod.metadata.name for pod in ordered] == ["urgent", "early", "late", "minor"]
