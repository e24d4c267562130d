"""What an update of a pod amounts to."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.objects.pod_resources import DEFAULT_FEATURES
from kubesched.scheduler.framework import Action, Resource
from kubesched.scheduler.state.queue import pod_events
from kubesched.testing.builders import make_pod

CLAIMS = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu"}]}
EXTENDED = {"extendedResourceClaimStatus": {"resourceClaimName": "p-extended"}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {}, [Action.UPDATE], id="nothing that has a name"),
        pytest.param({}, {"annotations": {"a": "b"}}, [Action.UPDATE], id="annotations have no name"),
        pytest.param({}, {"labels": {"a": "b"}}, [Action.UPDATE_POD_LABEL], id="a label"),
        pytest.param({"cpu": "2"}, {"cpu": "1"}, [Action.UPDATE_POD_SCALE_DOWN], id="asks for less"),
        pytest.param({"cpu": "1"}, {"cpu": "2"}, [Action.UPDATE], id="asks for more"),
        pytest.param(
            {"cpu": "1", "memory": "1Gi"}, {"cpu": "2"}, [Action.UPDATE_POD_SCALE_DOWN], id="no longer asks for memory"
        ),
        pytest.param({}, {"tolerations": ["a:NoSchedule"]}, [Action.UPDATE_POD_TOLERATION], id="a toleration"),
        pytest.param({"gates": ["a"]}, {}, [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED], id="the last gate is gone"),
        pytest.param({"gates": ["a", "b"]}, {"gates": ["b"]}, [Action.UPDATE], id="a gate is left"),
        pytest.param({}, {"status": CLAIMS}, [Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM], id="a claim was made"),
        pytest.param(
            {}, {"status": EXTENDED}, [Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM], id="an extended resource's claim"
        ),
        pytest.param(
            {"gates": ["a"]},
            {"labels": {"a": "b"}, "tolerations": ["a:NoSchedule"]},
            [
                Action.UPDATE_POD_LABEL,
                Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                Action.UPDATE_POD_TOLERATION,
            ],
            id="several at once",
        ),
    ],
)
@pytest.mark.parametrize(
    ("node", "resource"),
    [
        pytest.param("", Resource.UNSCHEDULABLE_POD, id="pending"),
        pytest.param("n1", Resource.ASSIGNED_POD, id="on a node"),
    ],
)
def test_changes_have_names(
    old: dict[str, Any], new: dict[str, Any], expected: list[Action], node: str, resource: Resource
) -> None:
    """Each as specific as can be told, on the kind of pod that it is now."""
    events = pod_events(make_pod("p", node=node, **old), make_pod("p", node=node, **new), DEFAULT_FEATURES)
    assert [event.action for event in events] == expected
    assert {event.resource for event in events} == {resource}


def test_a_resize_under_way_counts_with_what_the_pod_has() -> None:
    """A pod is scaled down when its containers are, not when somebody asks for it."""
    has_two = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    has_one = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}

    def pod(cpu: str, status: dict[str, Any]) -> Any:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        return make_pod("p", node="n1", containers=[container], status=status)

    asked = pod_events(pod("2", has_two), pod("1", has_two), DEFAULT_FEATURES)
    done = pod_events(pod("1", has_two), pod("1", has_one), DEFAULT_FEATURES)
    assert [event.action for event in asked] == [Action.UPDATE]
    assert [event.action for event in done] == [Action.UPDATE_POD_SCALE_DOWN]
