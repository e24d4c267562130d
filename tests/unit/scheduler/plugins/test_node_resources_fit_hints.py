from __future__ import annotations

from typing import Any

import pytest

from kubesched.config.plugin_args import NodeResourcesFitArgs
from kubesched.objects import DeviceClass, Node, Pod
from kubesched.scheduler.framework import Action, ClusterEvent, Hint, Resource
from kubesched.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubesched.testing import make_device_class, make_node, make_pod
from kubesched.testing.handle import FakeHandle

GPU = "example.com/gpu"


def hint(handle: FakeHandle, pod: Pod, event: ClusterEvent, old: Any, new: Any) -> Hint:
    """What the plugin says about an event, if it is concerned at all."""
    plugin = NodeResourcesFit(NodeResourcesFitArgs(), handle)
    (registered,) = (each for each in plugin.events_to_register() if each.event.covers(event))
    assert registered.hint is not None
    return registered.hint(handle.cluster.templates.info(pod), old, new)


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(make_pod("other", node="n"), Hint.QUEUE, id="a pod on a node is gone"),
        pytest.param(make_pod("other", nominated_node="n"), Hint.QUEUE, id="a pod with a reserved node is gone"),
        pytest.param(make_pod("other"), Hint.SKIP, id="a pending pod is gone"),
    ],
)
def test_pod_deleted(deleted: Pod, expected: Hint) -> None:
    """A pod gives back room only if it had some."""
    event = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
    assert hint(FakeHandle(), make_pod(cpu="1"), event, deleted, None) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(make_pod("p", cpu="2"), make_pod("p", cpu="1"), Hint.QUEUE, id="the pod itself asks for less"),
        pytest.param(
            make_pod("q", node="n", cpu="2"), make_pod("q", node="n", cpu="1"), Hint.QUEUE, id="another gives back cpu"
        ),
        pytest.param(
            make_pod("q", node="n", memory="2Gi"),
            make_pod("q", node="n", memory="1Gi"),
            Hint.SKIP,
            id="another gives back what the pod does not ask for",
        ),
        pytest.param(make_pod("q", cpu="2"), make_pod("q", cpu="1"), Hint.SKIP, id="a pending pod asks for less"),
        pytest.param(
            make_pod("q", node="n", cpu="1"), make_pod("q", node="n", cpu="1"), Hint.SKIP, id="nothing is given back"
        ),
    ],
)
def test_pod_scaled_down(old: Pod, new: Pod, expected: Hint) -> None:
    """A smaller pod helps if it frees what the pod needs."""
    event = ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)
    assert hint(FakeHandle(), make_pod("p", cpu="2"), event, old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_node(cpu="2"), Hint.QUEUE, id="a node with room is added"),
        pytest.param(None, make_node(cpu="1"), Hint.SKIP, id="a node that is too small is added"),
        pytest.param(None, make_node(cpu="4", pods=0), Hint.SKIP, id="a node that takes no pods is added"),
        pytest.param(make_node(cpu="1"), make_node(cpu="2"), Hint.QUEUE, id="a node grows large enough"),
        pytest.param(
            make_node(cpu="2", memory="1Gi"),
            make_node(cpu="2", memory="2Gi"),
            Hint.SKIP,
            id="a node has more of what the pod does not ask for",
        ),
        pytest.param(
            make_node(cpu="2", pods=1), make_node(cpu="2", pods=2), Hint.QUEUE, id="a node takes more pods than before"
        ),
        pytest.param(make_node(cpu="4"), make_node(cpu="3"), Hint.SKIP, id="a node shrinks, but is large enough"),
    ],
)
def test_node_change(old: Node | None, new: Node, expected: Hint) -> None:
    """A node helps if the pod would fit on it when empty, and it has more than before."""
    action = Action.ADD if old is None else Action.UPDATE_NODE_ALLOCATABLE
    assert hint(FakeHandle(), make_pod(cpu="2"), ClusterEvent(Resource.NODE, action), old, new) is expected


def test_node_change_for_a_resource_behind_a_device_class() -> None:
    """Any node may have the devices, so each change of one is worth an attempt."""
    handle, pod = FakeHandle(), make_pod(requests={GPU: 1})
    event = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE)
    assert hint(handle, pod, event, make_node(), make_node()) is Hint.SKIP
    handle.load(make_device_class("gpu", extended_resource=GPU))
    assert hint(handle, pod, event, make_node(), make_node()) is Hint.QUEUE


NAMED, UNNAMED = make_device_class("gpu", extended_resource=GPU), make_device_class("gpu")


@pytest.mark.parametrize(
    ("resource", "old", "new", "expected"),
    [
        pytest.param(GPU, None, NAMED, Hint.QUEUE, id="a class with the resource's name is added"),
        pytest.param(GPU, None, UNNAMED, Hint.SKIP, id="a class without a resource name is added"),
        pytest.param(
            "deviceclass.resource.kubernetes.io/gpu", None, UNNAMED, Hint.QUEUE, id="the pod asks for the added class"
        ),
        pytest.param(GPU, UNNAMED, NAMED, Hint.QUEUE, id="a class gets the resource's name"),
        pytest.param(GPU, NAMED, NAMED, Hint.SKIP, id="the name stays the same"),
        pytest.param("example.com/other", UNNAMED, NAMED, Hint.SKIP, id="another resource's name"),
    ],
)
def test_device_class_change(resource: str, old: DeviceClass | None, new: DeviceClass, expected: Hint) -> None:
    """A class helps if it newly answers to a resource that the pod asks for."""
    event = ClusterEvent(Resource.DEVICE_CLASS, Action.ADD if old is None else Action.UPDATE)
    assert hint(FakeHandle(), make_pod(requests={resource: 1}), event, old, new) is expected
