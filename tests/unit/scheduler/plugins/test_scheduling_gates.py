from __future__ import annotations

import pytest

from kubesched.scheduler.framework import Action, Code, Hint, Resource
from kubesched.scheduler.plugins.scheduling_gates import SchedulingGates
from kubesched.testing import make_pod
from kubesched.testing.handle import FakeHandle


@pytest.mark.parametrize(
    ("gates", "code", "reasons"),
    [
        pytest.param((), Code.SUCCESS, (), id="a pod without gates may enter the queue"),
        pytest.param(
            ("b", "a"),
            Code.UNRESOLVABLE,
            ("waiting for scheduling gates: [b a]",),
            id="a gated pod waits, and all gates are named in their order",
        ),
    ],
)
def test_pre_enqueue(gates: tuple[str, ...], code: Code, reasons: tuple[str, ...]) -> None:
    """A pod enters the queue when its last gate is gone."""
    handle = FakeHandle()
    status = SchedulingGates(None, handle).pre_enqueue(handle.cluster.templates.info(make_pod(gates=gates)))
    assert (status.code, status.reasons) == (code, reasons)


def test_only_its_own_update_lifts_a_pods_gates() -> None:
    """Other pods' gates do not matter."""
    handle = FakeHandle()
    (registered,) = SchedulingGates(None, handle).events_to_register()
    assert (registered.event.resource, registered.event.action) == (
        Resource.POD,
        Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    )
    assert registered.hint is not None
    pod, other = make_pod("p"), make_pod("other")
    info = handle.cluster.templates.info(pod)
    assert registered.hint(info, pod, pod) is Hint.QUEUE
    assert registered.hint(info, other, other) is Hint.SKIP
