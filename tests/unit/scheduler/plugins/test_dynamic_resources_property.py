"""The search per place agrees with trying every combination of devices on every node."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubesched.objects import Pod, convert
from kubesched.scheduler.columns import NodeView
from kubesched.scheduler.framework import CycleState
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.testing import make_node, make_pod
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle

DRIVER = "gpu.example.com"
Device = tuple[str, int, bool]
"""(model, numa node, taken)"""
Request = tuple[str, int]
"""(model or any, count)"""

DEVICES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.booleans()), max_size=4)
REQUESTS = st.lists(st.tuples(st.sampled_from(["a", "b", ""]), st.integers(1, 2)), min_size=1, max_size=3)


def plain_fits(devices: list[Device], requests: list[Request], same_numa: bool) -> bool:
    """Whether some choice of free devices satisfies all requests."""
    free = [(model, numa) for model, numa, taken in devices if not taken]
    slots = [model for model, count in requests for _ in range(count)]
    return any(
        all(wanted in ("", model) for wanted, (model, _) in zip(slots, chosen, strict=True))
        and (not same_numa or len({numa for _, numa in chosen}) == 1)
        for chosen in permutations(free, len(slots))
    )


def _device(k: int, device: Device) -> dict[str, Any]:
    model, numa, _ = device
    return {"name": f"d{k}", "attributes": {"model": {"string": model}, "numa": {"int": numa}}}


def _taken(node: str, devices: list[Device]) -> dict[str, Any]:
    results = [
        {"request": "r", "driver": DRIVER, "pool": node, "device": f"d{k}"}
        for k, (_, _, taken) in enumerate(devices)
        if taken
    ]
    return {"devices": {"results": results}}


def _request(k: int, request: Request) -> dict[str, Any]:
    model, count = request
    expression = f'device.attributes["{DRIVER}"].model == "{model}"' if model else "true"
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return {"name": f"r{k}", "exactly": {**exactly, "selectors": [{"cel": {"expression": expression}}]}}


def _fitting(plugin: DynamicResources, pod: Pod, nodes: NodeView) -> dict[str, bool]:
    info = nodes.cluster.templates.info(pod)
    state = CycleState(info)
    assert plugin.pre_filter(state, info, nodes).is_success
    fitting = plugin.filter_nodes(state, info.template, nodes).fitting
    return {nodes.name(k): bool(fitting[k]) for k in range(len(nodes))}


@given(slices=st.lists(DEVICES, min_size=1, max_size=4), requests=REQUESTS, same_numa=st.booleans())
def test_agrees_with_trying_everything(
    worlds: Any, slices: list[list[Device]], requests: list[Request], same_numa: bool
) -> None:
    """Whatever rows are asked about, with pods added or removed hypothetically: devices are not freed by that."""
    handle = FakeHandle().load(make_device_class("gpu"))
    by_node = {f"n{k}": devices for k, devices in enumerate(slices)}
    for name, devices in by_node.items():
        slice_ = make_resource_slice(name, node=name, devices=[_device(k, d) for k, d in enumerate(devices)])
        handle.load(make_node(name), slice_, make_resource_claim(f"of-{name}", allocation=_taken(name, devices)))
    constraints = [{"matchAttribute": f"{DRIVER}/numa"}] if same_numa else []
    handle.load(make_resource_claim(requests=[_request(k, r) for k, r in enumerate(requests)], constraints=constraints))
    pod = convert(
        {
            "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
            "spec": {"resourceClaims": [{"name": "d", "resourceClaimName": "claim"}]},
        },
        Pod,
    )
    plugin = DynamicResources(None, handle)
    for nodes, existing in worlds(handle.cluster, make_pod("added")):
        fitting = _fitting(plugin, pod, nodes)
        assert fitting == {node.name: plain_fits(by_node[node.name], requests, same_numa) for _, node in existing}
