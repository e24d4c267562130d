from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.gang_scheduling import GangScheduling
from kubesched.testing import make_pod, make_pod_group
from kubesched.testing.handle import FakeHandle


@dataclass
class Waiting:
    """A pod that waits on permit."""

    pod: Pod
    pending_plugins: tuple[str, ...] = ("GangScheduling",)
    allowed: list[str] = field(default_factory=list)

    def allow(self, plugin: str) -> None:
        self.allowed.append(plugin)

    def reject(self, plugin: str, message: str) -> bool:
        return True

    def preempt(self, plugin: str, message: str) -> bool:
        return True


def handle_with(group: PodGroup | None, *pods: Pod) -> FakeHandle:
    handle = FakeHandle()
    if group is not None:
        handle.load(group)
    for pod in pods:
        handle.pod_groups.add(handle.cluster.templates.info(pod))
    return handle


P, Q = make_pod("p", group="group"), make_pod("q", group="group")


@pytest.mark.parametrize(
    ("pod", "group", "known", "message"),
    [
        pytest.param(make_pod("p"), None, [], "", id="a pod without a group"),
        pytest.param(
            P,
            None,
            [P],
            'waiting for pods\'s pod group "group" to appear in scheduling queue',
            id="its group is missing",
        ),
        pytest.param(P, make_pod_group(), [P], "", id="a group whose pods are scheduled one by one"),
        pytest.param(
            P,
            make_pod_group(min_count=2),
            [P],
            "waiting for minCount pods from a gang to appear in scheduling queue",
            id="others of its gang are missing",
        ),
        pytest.param(P, make_pod_group(min_count=2), [P, Q], "", id="the gang is complete"),
        pytest.param(
            P,
            make_pod_group(min_count=2, namespace="other"),
            [P, Q],
            'waiting for pods\'s pod group "group" to appear in scheduling queue',
            id="a group of another namespace",
        ),
    ],
)
def test_pre_enqueue(pod: Pod, group: PodGroup | None, known: list[Pod], message: str) -> None:
    """A pod of a gang is not tried before there are enough of them."""
    handle = handle_with(group, *known)
    status = GangScheduling(None, handle).pre_enqueue(handle.cluster.templates.info(pod))
    assert status.message == message
    assert status.code is (Code.UNRESOLVABLE if message else Code.SUCCESS)


def test_permit_waits_for_the_others() -> None:
    """Those that have no node yet are tried at once."""
    handle = handle_with(make_pod_group(min_count=2), P, Q)
    info = handle.cluster.templates.info(P)
    handle.pod_groups.assume(info)
    status, seconds = GangScheduling(None, handle).permit(CycleState(info), P, "n")
    assert (status.code, seconds) == (Code.WAIT, 300.0)
    assert status.message == "waiting for minCount pods from a gang to be scheduled"
    assert [pod.key for pod in handle.activated] == ["default/q"]


def test_the_pod_that_completes_the_gang_lets_all_go() -> None:
    """Pods that are bound already count, too."""
    handle = handle_with(make_pod_group(min_count=3), P, Q)
    handle.pod_groups.assign(handle.cluster.templates.info(make_pod("bound", group="group", node="n")))
    for pod in (P, Q):
        handle.pod_groups.assume(handle.cluster.templates.info(pod))
    handle.waiting[P.metadata.uid] = waiting = Waiting(P)
    status, _ = GangScheduling(None, handle).permit(CycleState(handle.cluster.templates.info(Q)), Q, "n")
    assert status.is_success
    assert waiting.allowed == ["GangScheduling"]


@pytest.mark.parametrize(
    ("pod", "group", "code"),
    [
        pytest.param(make_pod("p"), None, Code.SUCCESS, id="a pod without a group"),
        pytest.param(P, make_pod_group(), Code.SUCCESS, id="a group that is no gang"),
        pytest.param(P, None, Code.ERROR, id="a group that is gone"),
    ],
)
def test_permit_of_others(pod: Pod, group: PodGroup | None, code: Code) -> None:
    """Only gangs wait; a pod whose group is gone is tried again when it comes back."""
    handle = handle_with(group, pod)
    status, _ = GangScheduling(None, handle).permit(CycleState(handle.cluster.templates.info(pod)), pod, "n")
    assert status.code is code


@pytest.mark.parametrize(
    ("pod", "added", "expected"),
    [
        pytest.param(P, Q, Hint.QUEUE, id="another pod of the group"),
        pytest.param(P, make_pod("q", group="else"), Hint.SKIP, id="a pod of another group"),
        pytest.param(P, make_pod("q", group="group", namespace="else"), Hint.SKIP, id="a group of another namespace"),
        pytest.param(P, make_pod("q"), Hint.SKIP, id="a pod without a group"),
        pytest.param(make_pod("p"), make_pod("q"), Hint.SKIP, id="two pods without a group"),
        pytest.param(P, make_pod_group(), Hint.QUEUE, id="the group itself"),
        pytest.param(P, make_pod_group("else"), Hint.SKIP, id="another group"),
        pytest.param(P, make_pod_group(namespace="else"), Hint.SKIP, id="the same name in another namespace"),
    ],
)
def test_hints(pod: Pod, added: Pod | PodGroup, expected: Hint) -> None:
    """A new pod may complete the gang; the group's policy may be what is missing."""
    handle = FakeHandle()
    pods, groups, _ = GangScheduling(None, handle).events_to_register()
    hint = pods.hint if isinstance(added, Pod) else groups.hint
    assert hint is not None
    assert hint(handle.cluster.templates.info(pod), None, added) is expected
