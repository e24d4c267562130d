"""Queued pods in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.state.queue.pod_heap import SLACK, PodHeap
from kubesched.testing.builders import make_pod

TEMPLATES = ClusterTables().templates


def queued(name: str, timestamp: float, sequence: int = 0) -> QueuedPod:
    return QueuedPod(TEMPLATES.info(make_pod(name)), timestamp, sequence=sequence)


def by_time() -> PodHeap:
    return PodHeap(lambda pod: pod.timestamp)


def names(heap: PodHeap) -> list[str]:
    popped = []
    while (pod := heap.pop()) is not None:
        popped.append(pod.info.pod.metadata.name)
    return popped


def test_pods_leave_by_key_then_sequence() -> None:
    """Pods themselves are never compared."""
    heap = by_time()
    for pod in (queued("c", 2, 1), queued("b", 1, 3), queued("a", 1, 2)):
        heap.push(pod)
    first = heap.peek()
    assert first is not None
    assert first.uid == "default/a"
    assert names(heap) == ["a", "b", "c"]


def test_a_removed_pod_does_not_come_out() -> None:
    """Its entry stays behind until it surfaces."""
    heap = by_time()
    for number, name in enumerate("abc"):
        heap.push(queued(name, number))
    assert heap.remove("default/a") is not None
    assert heap.remove("default/a") is None
    assert ("default/a" in heap, len(heap)) == (False, 2)
    assert heap.get("default/a") is None
    first = heap.peek()
    assert first is not None
    assert names(heap) == ["b", "c"]
    assert heap.peek() is None


def test_a_pod_that_changed_is_put_where_its_key_says() -> None:
    """Earlier or later than before."""
    heap = by_time()
    pods = [queued(name, number) for number, name in enumerate("abc")]
    for pod in pods:
        heap.push(pod)
    pods[0].timestamp, pods[2].timestamp = 5.0, -1.0
    for pod in pods:
        heap.reorder(pod)
    assert names(heap) == ["c", "b", "a"]


def test_a_pod_that_left_and_came_again_comes_out_once() -> None:
    """The old entry is told from the new one, although both belong to the same pod."""
    heap = by_time()
    pod = queued("a", 1)
    heap.push(pod)
    heap.remove(pod.uid)
    pod.timestamp = 0
    heap.push(pod)
    assert [each.uid for each in heap] == [pod.uid]
    assert names(heap) == ["a"]


def test_memory_stays_proportional_to_the_pods_held() -> None:
    """Entries of removed pods are swept out when there are too many."""
    heap = by_time()
    for number in range(10 * SLACK):
        heap.push(queued(f"p{number}", number))
    for number in range(10 * SLACK - 1):
        heap.remove(f"default/p{number}")
    assert len(heap._line) + len(heap._heap) <= 2 + SLACK
    assert names(heap) == [f"p{10 * SLACK - 1}"]


@given(
    st.lists(
        st.tuples(st.sampled_from(("push", "remove", "pop", "peek", "reorder")), st.integers(0, 7), st.integers(0, 9))
    )
)
def test_the_first_pod_is_always_the_first_by_key_and_sequence(steps: list[tuple[str, int, int]]) -> None:
    """Whether it stood in the line or in the heap, and however often it was moved."""
    heap, plain = by_time(), dict[str, QueuedPod]()
    pods = [queued(f"p{number}", 0, number) for number in range(8)]

    def first() -> str | None:
        return min(plain, key=lambda uid: (plain[uid].timestamp, plain[uid].sequence), default=None)

    for step, number, moment in steps:
        pod = pods[number]
        if step == "push" and pod.uid not in plain:
            pod.timestamp = moment
            heap.push(pod)
            plain[pod.uid] = pod
        elif step == "reorder" and pod.uid in plain:
            pod.timestamp = moment
            heap.reorder(pod)
        elif step == "remove":
            assert heap.remove(pod.uid) is plain.pop(pod.uid, None)
        elif step in ("pop", "peek"):
            expected = first()
            found = heap.pop() if step == "pop" else heap.peek()
            assert (found.uid if found is not None else None) == expected
            if step == "pop" and expected is not None:
                del plain[expected]
        assert sorted(each.uid for each in heap) == sorted(plain)
