from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.plugins.default_preemption.victim_units import Unit, units_of
from kubesched.testing import make_pod, make_pod_group
from kubesched.testing.builders import EPOCH
from kubesched.testing.handle import FakeHandle


def group(name: str, mode: str = "", **spec: Any) -> PodGroup:
    return make_pod_group(name, spec={"disruptionMode": mode, **spec})


@pytest.mark.parametrize(
    ("pods", "groups", "expected"),
    [
        pytest.param([], [], [], id="no pods"),
        pytest.param(
            [make_pod("a", priority=10), make_pod("b", priority=20)],
            [],
            [(["a"], 10), (["b"], 20)],
            id="pods without a group",
        ),
        pytest.param([make_pod("a", group="g")], [], [(["a"], 0)], id="a group that is gone"),
        pytest.param(
            [make_pod("a", group="g", namespace="other")],
            [group("g", "PodGroup", priority=5)],
            [(["a"], 0)],
            id="a group of that name elsewhere",
        ),
        pytest.param(
            [make_pod("a", group="g"), make_pod("b", group="g")],
            [group("g", priority=5)],
            [(["a"], 0), (["b"], 0)],
            id="a group that says nothing about disruption",
        ),
        pytest.param(
            [make_pod("a", group="g", priority=10), make_pod("b", group="g", priority=20)],
            [group("g", "Pod", priority=50)],
            [(["a"], 10), (["b"], 20)],
            id="a group whose pods are on their own",
        ),
        pytest.param(
            [make_pod("a", group="g", priority=10), make_pod("b"), make_pod("c", group="g", priority=10)],
            [group("g", "PodGroup", priority=50)],
            [(["a", "c"], 50), (["b"], 0)],
            id="a group that goes as a whole has its own priority",
        ),
        pytest.param(
            [make_pod("a", group="g", priority=10)],
            [group("g", "PodGroup")],
            [(["a"], 0)],
            id="a group without a priority",
        ),
    ],
)
def test_units(pods: list[Pod], groups: list[PodGroup], expected: list[tuple[list[str], int]]) -> None:
    """Who goes together, and with which priority."""
    handle = FakeHandle().load(*groups)
    found = units_of([handle.cluster.templates.info(pod) for pod in pods], handle.objects.of(PodGroup))
    assert [([info.pod.metadata.name for info in unit.pods], unit.priority) for unit in found] == expected


def unit(priority: int = 10, *started: int | None, group: str = "") -> Unit:
    """One pod per time at which it started, in minutes; None has not."""
    handle = FakeHandle()
    times = [None if minute is None else EPOCH + timedelta(minutes=minute) for minute in started or (0,)]
    pods = [make_pod(f"p{k}", group=group, start_time=time) for k, time in enumerate(times)]
    return Unit([handle.cluster.templates.info(pod) for pod in pods], priority)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        pytest.param(unit(20), unit(10, group="g"), id="a higher priority"),
        pytest.param(unit(10, 5, group="g"), unit(10, 1), id="a pod of a group"),
        pytest.param(unit(10, 1), unit(10, 5), id="a pod that started earlier"),
        pytest.param(unit(10, 1), unit(10, None), id="a pod that has started"),
        pytest.param(unit(10, 5, 5, group="g"), unit(10, 1, group="h"), id="a larger group"),
        pytest.param(unit(10, 1, 5, group="g"), unit(10, 5, 5, group="h"), id="a group that started earlier"),
        pytest.param(unit(10, 2, 9, group="g"), unit(10, 3, 1, group="h"), id="only the first pod tells when"),
    ],
)
def test_importance(more: Unit, less: Unit) -> None:
    """The more important unit is spared first."""
    assert more.importance < less.importance
