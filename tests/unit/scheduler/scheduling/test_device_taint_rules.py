"""Rules that taint devices: what plugins see of slices, and which pods wake."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.config import FeatureGates
from kubesched.objects import ResourceSlice
from kubesched.testing import (
    make_device_class,
    make_device_taint_rule,
    make_node,
    make_pod,
    make_resource_claim,
    make_resource_slice,
)

ON = FeatureGates({"DRADeviceTaintRules": True})
OWN = {"key": "own", "effect": "NoExecute"}
CANNOT = "0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."  # noqa: E501 - one message


def gpus(*devices: Any) -> ResourceSlice:
    return make_resource_slice("gpus", driver="gpu.example.com", pool="p", node="n", devices=devices)


def taints(bench: Any) -> dict[str, list[str]]:
    """The keys of the taints of all devices that plugins see."""
    slices = bench.parts.objects.of(ResourceSlice)
    return {device.name: [t.key for t in device.taints] for offer in slices for device in offer.spec.devices}


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        pytest.param(None, "", id="no selector: no device"),
        pytest.param({}, "xy", id="an empty selector: all devices"),
        pytest.param({"driver": "gpu.example.com"}, "xy", id="the driver"),
        pytest.param({"driver": "other"}, "", id="another driver"),
        pytest.param({"pool": "p"}, "xy", id="the pool"),
        pytest.param({"pool": "q"}, "", id="another pool"),
        pytest.param({"device": "y"}, "y", id="one device"),
        pytest.param({"driver": "gpu.example.com", "pool": "p", "device": "x"}, "x", id="driver, pool and device"),
        pytest.param({"driver": "gpu.example.com", "pool": "q", "device": "x"}, "", id="not all of it fits"),
    ],
)
@pytest.mark.parametrize("rule_first", [True, False], ids=["rule first", "slice first"])
async def test_a_rule_taints_the_devices_that_it_selects(
    new_bench: Any, selector: Any, tainted: str, rule_first: bool
) -> None:
    """Whichever of the two comes first; the devices' own taints stay."""
    bench = new_bench(gates=ON)
    objects = [make_device_taint_rule(selector=selector), gpus({"name": "x", "taints": [OWN]}, "y")]
    bench.add(*(objects if rule_first else reversed(objects)))
    added = {name: ["example.com/broken"] if name in tainted else [] for name in "xy"}
    assert taints(bench) == {"x": ["own", *added["x"]], "y": added["y"]}


async def test_taints_come_and_go_with_rules_and_slices(new_bench: Any) -> None:
    """Whatever changes, each device has its own taints and those of the rules that there are now."""
    bench = new_bench(gates=ON)
    first, second = (make_device_taint_rule(str(k), key=key, selector={}) for k, key in ((1, "a"), (2, "b")))
    bench.add(first, second, gpus("x"))
    assert taints(bench) == {"x": ["a", "b"]}
    elsewhere = make_device_taint_rule("1", key="a", selector={"device": "y"})
    bench.handlers.update(first, elsewhere)
    assert taints(bench) == {"x": ["b"]}
    bench.handlers.update(gpus("x"), gpus("x", "y"))
    assert taints(bench) == {"x": ["b"], "y": ["a", "b"]}
    bench.handlers.delete(second)
    assert taints(bench) == {"x": [], "y": ["a"]}
    bench.handlers.delete(gpus("x", "y"))
    bench.handlers.delete(elsewhere)
    assert taints(bench) == {}
    bench.add(gpus("x"))
    assert taints(bench) == {"x": []}


async def test_a_rule_wakes_pods_as_its_slices_would(new_bench: Any) -> None:
    """One change per slice with other taints than before; none for a rule that changes nothing."""
    bench = new_bench(gates=ON)
    seen: list[tuple[str, Any, Any]] = []
    bench.queue.move_all = lambda event, old, new: seen.append((event.label, old, new))
    bench.add(gpus("x"), make_resource_slice("others", driver="other", devices=["x"]))
    written = bench.parts.objects.of(ResourceSlice).get("gpus")
    seen.clear()
    rule = make_device_taint_rule(selector={"driver": "gpu.example.com"})
    bench.add(rule)
    tainted = bench.parts.objects.of(ResourceSlice).get("gpus")
    assert seen == [("resource.k8s.io/ResourceSliceUpdate", written, tainted)]
    seen.clear()
    bench.add(make_device_taint_rule("none", selector={"device": "z"}))
    bench.handlers.update(rule, make_device_taint_rule(selector={"pool": "p"}))
    assert seen == []
    bench.handlers.update(gpus("x"), gpus("x", "y"))
    assert seen == [("resource.k8s.io/ResourceSliceUpdate", tainted, bench.parts.objects.of(ResourceSlice).get("gpus"))]
    seen.clear()
    bench.handlers.delete(make_device_taint_rule(selector={"pool": "p"}))
    assert [label for label, *_ in seen] == ["resource.k8s.io/ResourceSliceUpdate"]


@pytest.mark.parametrize(
    ("gates", "effect", "node"),
    [
        pytest.param(ON, "NoSchedule", "", id="NoSchedule"),
        pytest.param(ON, "NoExecute", "", id="NoExecute"),
        pytest.param(ON, "None", "n", id="an effect that is none"),
        pytest.param(FeatureGates({"DRADeviceTaintRules": False}), "NoSchedule", "n", id="the gate is off"),
    ],
)
async def test_a_pod_waits_until_the_rule_is_gone(new_bench: Any, gates: FeatureGates, effect: str, node: str) -> None:
    """Its device is tainted, in the words that kube-scheduler has for it."""
    bench = new_bench(gates=gates)
    rule = make_device_taint_rule(effect=effect, selector={})
    bench.add(make_node("n"), make_device_class(), make_resource_claim(), gpus("x"), rule)
    bench.add(make_pod("web", spec={"resourceClaims": [{"name": "c", "resourceClaimName": "claim"}]}))
    await bench.schedule()
    assert bench.pod("web").spec.node_name == node
    assert bench.notes("FailedScheduling") == ([] if node else [CANNOT])
    bench.handlers.delete(rule)
    await bench.schedule(after=2)
    assert bench.pod("web").spec.node_name == "n"
