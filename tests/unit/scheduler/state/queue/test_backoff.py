"""How long pods back off, and in which order they leave."""

from __future__ import annotations

from itertools import count

import pytest

from kubesched.clock import VirtualClock
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.state.queue.backoff import BackoffQueue
from kubesched.scheduler.state.queue.settings import QueueSettings
from kubesched.testing.builders import make_pod

TEMPLATES = ClusterTables().templates
SEQUENCE = count()


def queued(name: str = "p", *, rejections: int = 0, errors: int = 0, at: float = 0.0, priority: int = 0) -> QueuedPod:
    return QueuedPod(
        TEMPLATES.info(make_pod(name, priority=priority)),
        at,
        unschedulable_count=rejections,
        consecutive_errors=errors,
        unschedulable_plugins=set() if errors else {"Fit"},
        sequence=next(SEQUENCE),
    )


def backoff_queue(clock: VirtualClock, settings: QueueSettings | None = None) -> BackoffQueue:
    return BackoffQueue(lambda pod: -pod.info.priority, clock, settings or QueueSettings())


@pytest.mark.parametrize(
    ("rejections", "errors", "expected"),
    [
        pytest.param(1, 0, 1.0, id="the first rejection"),
        pytest.param(2, 0, 2.0, id="doubled by the second"),
        pytest.param(4, 0, 8.0, id="and again"),
        pytest.param(5, 0, 10.0, id="up to the maximum"),
        pytest.param(1000, 0, 10.0, id="however often"),
        pytest.param(4, 1, 1.0, id="errors in a row count instead"),
        pytest.param(0, 3, 4.0, id="errors double too"),
    ],
)
def test_backoff_grows_with_failures(rejections: int, errors: int, expected: float) -> None:
    """From the pod's timestamp on."""
    queue = backoff_queue(VirtualClock())
    pod = queued(rejections=rejections, errors=errors, at=100.0)
    queue.begin(pod)
    assert pod.backoff_until == 100.0 + expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(QueueSettings(), 101.0, id="the start of the window in which it ends"),
        pytest.param(QueueSettings(pop_from_backoff=False), 101.7, id="exactly, without early pops"),
        pytest.param(QueueSettings(initial_backoff=5, max_backoff=3), 103.0, id="never above the maximum"),
    ],
)
def test_backoff_ends_in_windows(settings: QueueSettings, expected: float) -> None:
    """Windows of a second make the order within one a matter of priority."""
    pod = queued(rejections=1, at=100.7)
    backoff_queue(VirtualClock(), settings).begin(pod)
    assert pod.backoff_until == expected


@pytest.mark.parametrize(
    ("pod", "settings", "expected"),
    [
        pytest.param(queued(), QueueSettings(), False, id="a pod that never failed"),
        pytest.param(queued(rejections=1), QueueSettings(), True, id="a pod that failed just now"),
        pytest.param(queued(rejections=1, at=-2.0), QueueSettings(), False, id="a pod that failed long ago"),
        pytest.param(queued(rejections=1, at=-1.0), QueueSettings(), True, id="in its last window"),
        pytest.param(queued(rejections=1), QueueSettings(max_backoff=0), False, id="backoff switched off"),
    ],
)
def test_who_backs_off(pod: QueuedPod, settings: QueueSettings, expected: bool) -> None:
    """At time 0."""
    queue = backoff_queue(VirtualClock(), settings)
    queue.begin(pod)
    assert queue.is_backing_off(pod) is expected


def test_rejected_pods_are_popped_early_and_failed_ones_never() -> None:
    """By window, then by the active queue's order."""
    queue = backoff_queue(VirtualClock())
    pods = [
        queued("error", errors=1),
        queued("later", rejections=2, priority=9),
        queued("low", rejections=1),
        queued("high", rejections=1, at=0.5, priority=5),
    ]
    for pod in pods:
        queue.begin(pod)
        queue.push(pod)
    assert len(queue) == 4
    early = [pod.info.pod.metadata.name for pod in iter(queue.pop_early, None)]
    assert early == ["high", "low", "later"]
    assert [pod.info.pod.metadata.name for pod in queue] == ["error"]


def test_pods_leave_when_their_backoff_has_passed() -> None:
    """Rejected and failed ones alike; removed ones do not."""
    clock = VirtualClock()
    queue = backoff_queue(clock)
    for pod in (queued("a", rejections=1), queued("b", errors=1), queued("c", rejections=3), queued("d", errors=1)):
        queue.begin(pod)
        queue.push(pod)
    assert queue.remove("default/d") is not None
    clock.tick(2.0)
    assert [pod.info.pod.metadata.name for pod in queue.pop_completed()] == ["a", "b"]
    assert ("default/c" in queue, "default/a" in queue) == (True, False)
    assert queue.get("default/c") is not None


@pytest.mark.parametrize("knows_groups", [True, False], ids=["with pod groups", "without"])
def test_members_of_a_pod_group_are_not_popped_early(knows_groups: bool) -> None:
    """A group that does not fit would be tried again and again without a pause."""
    backoff = backoff_queue(VirtualClock(), QueueSettings(pod_groups=knows_groups))
    member = queued("p", rejections=1)
    member.info = TEMPLATES.info(make_pod("p", group="g"))
    backoff.push(member)
    assert (backoff.pop_early() is None) is knows_groups
