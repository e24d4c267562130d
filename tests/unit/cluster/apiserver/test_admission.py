"""What other objects have to say about a new one. The rest of it is part of the contract."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.apiserver.api import Api
from kubesched.errors import RequestRefusedError

MISMATCH = "must match the priority computed ({}) based on the priority class set in the spec"


def create_group(api: Api, **spec: Any) -> dict[str, Any]:
    group = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}, **spec}}
    made: dict[str, Any] = api.create(api.catalog.named("podgroups.scheduling.k8s.io"), group, "default").decode()
    return {key: value for key, value in made["spec"].items() if key.startswith("priority")}


@pytest.fixture
def priority_classes(api: Api) -> Api:
    for name, value, is_default in (("high", 1000, False), ("usual", 7, True)):
        priority_class = {"metadata": {"name": name}, "value": value, "globalDefault": is_default}
        api.create(api.catalog.named("priorityclasses.scheduling.k8s.io"), priority_class, "")
    return api


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"priorityClassName": "high"}, {"priorityClassName": "high", "priority": 1000}, id="a class"),
        pytest.param(
            {"priorityClassName": "high", "priority": 1000},
            {"priorityClassName": "high", "priority": 1000},
            id="a class and its priority",
        ),
        pytest.param({}, {"priorityClassName": "usual", "priority": 7}, id="the default class"),
    ],
)
def test_a_pod_group_gets_the_priority_of_its_class(
    priority_classes: Api, spec: dict[str, Any], expected: dict[str, Any]
) -> None:
    """As a pod does."""
    assert create_group(priority_classes, **spec) == expected


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({"priorityClassName": "none"}, "no PriorityClass with name none was found", id="no such class"),
        pytest.param(
            {"priorityClassName": "high", "priority": 5},
            f"priority set in the pod group (5) {MISMATCH.format(1000)}",
            id="another priority than that of the class",
        ),
        pytest.param(
            {"priority": 5},
            f"priority set in the pod group (5) {MISMATCH.format(7)}",
            id="another priority than that of the default class",
        ),
    ],
)
def test_a_pod_group_whose_priority_is_refused(priority_classes: Api, spec: dict[str, Any], problem: str) -> None:
    """In the words of the priority admission plugin."""
    with pytest.raises(RequestRefusedError) as refused:
        create_group(priority_classes, **spec)
    assert str(refused.value) == f'403 Forbidden: podgroups.scheduling.k8s.io "g" is forbidden: {problem}'


def test_a_pod_group_without_any_class(api: Api) -> None:
    """Its priority is 0."""
    assert create_group(api) == {"priority": 0}
