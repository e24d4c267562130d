"""In which order calls are sent, and which of them never are."""

from __future__ import annotations

import pytest

from kubesched.client.write_order import SEND_NOW, Action, Call, Instruction, PodBinding, PodStatusPatch, WriteOrder
from kubesched.objects import Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo, NominatingMode


def patch(message: str = "", *, path: str = "p", uid: str = "u", node: str | None = None) -> PodStatusPatch:
    condition = PodCondition(type="PodScheduled", status="False", message=message) if message else None
    nominating = NominatingInfo(node) if node is not None else NominatingInfo("", NominatingMode.NOOP)
    return PodStatusPatch(path, Pod(metadata=ObjectMeta(name=path, uid=uid)), condition, nominating)


def marked(path: str = "p") -> PodStatusPatch:
    condition = PodCondition(type="DisruptionTarget", status="True")
    return PodStatusPatch(path, Pod(metadata=ObjectMeta(name=path, uid="u")), condition, None)


def deletion(path: str = "p") -> Call:
    return Call(path, "u", "pod_delete")


def binding(path: str = "p", uid: str = "u") -> PodBinding:
    return PodBinding(path, uid)


class Line:
    """Calls, sent when the order says so."""

    def __init__(self, *, most: int = 10, most_patient: int = 5) -> None:
        self.order = WriteOrder(most=most, most_patient=most_patient)
        self.sent: list[Call] = []
        self.superseded: list[Call] = []

    def add(self, *calls: Call) -> None:
        for call in calls:
            instructions = self.order.add(call)
            if instructions is SEND_NOW:
                self.sent.append(call)
            self._do(instructions)

    def finish(self, call: Call, *, succeeded: bool = True) -> None:
        self._do(self.order.finished(call, succeeded=succeeded))

    def finish_all(self) -> list[Call]:
        for call in self.sent:  # grows meanwhile
            self.finish(call)
        return self.sent

    def _do(self, instructions: object) -> None:
        assert isinstance(instructions, list | tuple)
        for instruction in instructions:
            assert isinstance(instruction, Instruction)
            (self.sent if instruction.action is Action.SEND else self.superseded).append(instruction.call)


def test_calls_about_one_object_are_sent_one_after_the_other() -> None:
    """Those about others do not wait for them."""
    line = Line()
    first, second, other = deletion(), binding(), binding("q")
    line.add(first, second, other)
    assert line.sent == [first, other]
    line.finish(first)
    assert line.sent == [first, other, second]


def test_patches_that_wait_become_one() -> None:
    """The newer wins; what it does not speak of is taken from the older."""
    line, under_way = Line(), patch("zero")
    older, newer, newest = patch("one", node="n1"), patch("two"), patch(node="")
    line.add(under_way, older, newer, newest)
    assert line.superseded == [older, newer]
    assert line.finish_all() == [under_way, newest]
    assert (newest.conditions["PodScheduled"].message, newest.nominated_node) == ("two", "")


@pytest.mark.parametrize(
    ("waiting", "kept"),
    [
        pytest.param([patch("no")], [], id="that it could not be scheduled"),
        pytest.param([patch(node="n1")], [], id="where it may be scheduled"),
        pytest.param([marked()], [0], id="not what is said of another matter"),
        pytest.param([patch("no", uid="before")], [0], id="not what is said of an earlier pod of that name"),
        pytest.param([patch("no"), deletion()], [0, 1], id="not what was said before something else"),
    ],
)
def test_a_binding_makes_superfluous(waiting: list[Call], kept: list[int]) -> None:
    """What waits to be said of a pod that fits nowhere, once it has a node."""
    line, under_way, bind = Line(), deletion(), binding()
    line.add(under_way, *waiting, bind)
    assert line.finish_all() == [under_way, *(waiting[index] for index in kept), bind]


@pytest.mark.parametrize("succeeded", [True, False])
def test_what_is_said_during_a_binding_depends_on_its_outcome(succeeded: bool) -> None:
    """A nomination is taken back while the pod is being bound: nobody needs to know once it is bound."""
    line, bind, cleared = Line(), binding(), patch(node="")
    line.add(bind, cleared)
    line.finish(bind, succeeded=succeeded)
    assert (cleared in line.superseded, cleared in line.sent) == (succeeded, not succeeded)


def test_a_refused_patch_is_not_sent_again_if_there_is_something_newer() -> None:
    """The next one says it all."""
    line, refused, newer = Line(), patch("one", node="n1"), patch("two")
    line.add(refused)
    assert not line.order.gives_way(refused)
    line.add(newer)
    assert line.order.gives_way(refused)
    assert newer.nominated_node == "n1"


def test_slots_are_for_the_urgent_first() -> None:
    """Statuses have some of them, and wait behind all else."""
    line = Line(most=3, most_patient=2)
    patches = [patch("no", path=f"p{number}") for number in range(4)]
    bindings = [binding(f"b{number}") for number in range(3)]
    line.add(*patches, *bindings)
    assert line.sent == [*patches[:2], bindings[0]]
    assert line.order.waiting() == {"pod_status_patch": 2, "pod_binding": 2}
    line.finish(patches[0])
    assert line.sent[-1] is bindings[1]
    line.finish(patches[1])
    line.finish(bindings[0])
    assert line.sent[4:] == [bindings[2], patches[2]]


def test_a_binding_that_replaces_a_waiting_patch_is_urgent() -> None:
    """It need not wait for the slot that the patch waited for."""
    line = Line(most=2, most_patient=1)
    busy, waiting, bind = patch("no", path="q"), patch("no"), binding()
    line.add(busy, waiting)
    assert line.sent == [busy]
    line.add(bind)
    assert (line.sent, line.superseded) == ([busy, bind], [waiting])


def test_what_is_withdrawn_is_never_sent() -> None:
    """Its object's line goes on without it."""
    line, under_way, withdrawn, last = Line(), deletion(), deletion(), binding()
    line.add(under_way, withdrawn, last)
    assert line.order.withdraw(withdrawn) == []
    assert line.finish_all() == [under_way, last]
    assert not any(line.order.waiting().values())
