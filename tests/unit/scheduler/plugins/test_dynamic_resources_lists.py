"""Attributes with several values (gate DRAListTypeAttributes): devices have a value in common, or have none.

The expected devices are those that kube-scheduler's allocator chooses.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.config import FeatureGates
from kubesched.config.versions import CURRENT_VERSION, Version
from kubesched.objects import Pod, convert
from kubesched.scheduler.framework import CycleState
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt
from kubesched.testing import make_node
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle

DRIVER = "gpu.example.com"
POD = convert(
    {
        "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
        "spec": {"resourceClaims": [{"name": "d", "resourceClaimName": "claim"}]},
    },
    Pod,
)
MATCH, DISTINCT = {"matchAttribute": f"{DRIVER}/links"}, {"distinctAttribute": f"{DRIVER}/links"}


def strings(*values: str) -> dict[str, Any]:
    return {"strings": list(values)}


def request(name: str, expression: str = "", count: int = 1) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}}] if expression else []
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, "selectors": selectors}
    return {"name": name, "exactly": exactly}


def chosen(
    devices: dict[str, dict[str, Any]],
    requests: list[dict[str, Any]],
    *constraints: Any,
    lists: bool = True,
    version: Version = CURRENT_VERSION,
) -> str:
    """The names of the devices that a claim gets, or why it gets none."""
    handle = FakeHandle(gates=FeatureGates({"DRAListTypeAttributes": lists}, version=version))
    offered = [{"name": name, "attributes": {"links": value}} for name, value in devices.items()]
    handle.load(make_node("n"), make_device_class("gpu"), make_resource_slice("n", node="n", devices=offered))
    handle.load(make_resource_claim(requests=requests, constraints=constraints))
    plugin, nodes = DynamicResources(None, handle), handle.cluster.view()
    info = handle.cluster.templates.info(POD)
    state = CycleState(info)
    assert plugin.pre_filter(state, info, nodes).is_success
    verdict = plugin.filter_nodes(state, info.template, nodes)
    if not verdict.fitting[0]:
        return verdict.status(0, plugin.name).message
    result = state.read(plugin.name, Attempt).result_at(0)
    assert result is not None
    return "".join("xyzw"[pick.position[1]] for pick in result.outcome.picks[0])


TWO = [request("one"), request("two")]
CANNOT = "cannot allocate all claims"


def test_conditions_look_at_all_values() -> None:
    """With the gate on."""
    devices = {"x": strings("a"), "y": strings("b", "c"), "z": {"string": "c"}}
    links = f'device.attributes["{DRIVER}"].links'
    assert chosen(devices, [request("one", f'{links}.includes("c")'), request("two", f'{links}.includes("c")')]) == "yz"
    assert chosen(devices, [request("one", f"{links}.size() > 1")]) == "y"


@pytest.mark.parametrize("constraint", [MATCH, DISTINCT], ids=["in common", "distinct"])
@pytest.mark.parametrize("version", [Version(1, 36), Version(1, 37)], ids=str)
def test_constraints_that_do_not_know_lists(constraint: Any, version: Version) -> None:
    """Without the gate, and in 1.36 whatever the gate says, a constraint takes the first such device and no other."""
    devices, lists = {"x": strings("a"), "y": strings("a"), "z": strings("b")}, version == Version(1, 36)
    assert chosen(devices, [request("one")], constraint, lists=lists, version=version) == "x"
    assert chosen(devices, TWO, constraint, lists=lists, version=version) == CANNOT


THREE = [*TWO, request("three")]


@pytest.mark.parametrize(
    ("devices", "requests", "constraint", "expected"),
    [
        pytest.param({"x": strings("a", "b"), "y": strings("b", "c")}, TWO, MATCH, "xy", id="one in common"),
        pytest.param({"x": strings("a"), "y": strings("b")}, TWO, MATCH, CANNOT, id="none in common"),
        pytest.param(
            {"x": strings("a", "b"), "y": strings("b", "c"), "z": strings("a", "c")},
            THREE,
            MATCH,
            CANNOT,
            id="each two have one in common, but not all three",
        ),
        pytest.param({"x": strings("a", "b"), "y": {"string": "b"}}, TWO, MATCH, "xy", id="a list and a single value"),
        pytest.param({"x": strings("1"), "y": {"ints": [1]}}, TWO, MATCH, CANNOT, id="of different types"),
        pytest.param(
            {"x": strings("a", "b"), "y": strings("b", "c"), "z": strings("c", "d")}, TWO, DISTINCT, "xz", id="disjoint"
        ),
        pytest.param({"x": strings("a", "b"), "y": {"string": "b"}}, TWO, DISTINCT, CANNOT, id="not disjoint"),
    ],
)
def test_constraints_look_at_all_values(
    devices: dict[str, dict[str, Any]], requests: list[dict[str, Any]], constraint: Any, expected: str
) -> None:
    """Since 1.37: all devices share a value, or no two do."""
    assert chosen(devices, requests, constraint) == expected


def test_without_the_gate_no_condition_has_an_answer() -> None:
    """Lists are of an unknown type then."""
    problem = (
        "claim default/claim: selector #0 on device gpu.example.com/n/x: CEL runtime error: attribute links: "
        "unsupported attribute value"
    )
    assert chosen({"x": strings("a")}, [request("one", "true")], lists=False) == problem
