"""Devices: pods go where kube-scheduler puts them, with the same devices, or are refused in the same words."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.e2e.api_client import ApiClient
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.device_stories import (
    DRIVER,
    ask_for,
    claim,
    device_class,
    devices_of,
    told_by_both,
    what_became_of,
)
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually
from tests.e2e.scheduler import profile
from tools.controlplane.install import chosen

from kubesched.objects.base import Json

GPU = "example.com/gpu"
DEVICES = {"two": 2, "three": 3, "five": 5, "seven": 7}
"""By node. With these numbers one node is best at every step, with one device of the last taken."""
PODS = 10
IS_1_36 = chosen() == "1.36"


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
def test_pods_are_scored_by_devices(
    strategy: str, real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Ten pods, one after the other, each for one device."""
    config = {"profiles": [_scoring_devices(strategy)]}
    placed = told_by_both(_ten_pods, real_cluster, start_scheduler, config=config)
    assert len(set(placed)) > 2


def _scoring_devices(strategy: str) -> Json:
    """A profile in which nothing but the devices counts."""
    only_fit = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 1}]}
    scoring = {"scoringStrategy": {"type": strategy, "resources": [{"name": GPU, "weight": 1}]}}
    return profile(plugins={"score": only_fit}, pluginConfig=[{"name": "NodeResourcesFit", "args": scoring}])


def _ten_pods(admin: ApiClient) -> list[str]:
    """Where the pods went, one after the other."""
    admin.create(device_class(extendedResourceName=GPU))
    for name, count in DEVICES.items():
        admin.create(devices_of(name, [{"name": f"device-{number}"} for number in range(count)]))
        admin.create(node(name))
    admin.create(claim("taken", {}))
    result = {"request": "r0", "driver": DRIVER, "pool": "seven", "device": "device-0"}
    allocated = {"status": {"allocation": {"devices": {"results": [result]}}}}
    admin.patch("ResourceClaim", "taken", allocated, subresource="status")
    placed = []
    for number in range(PODS):
        amounts = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
        name = admin.create(pod(f"gpu-{number}", container={"resources": amounts}))["metadata"]["name"]
        placed.append(eventually(partial(admin.node_of, name), f"{name} is placed", every=0.01))
    return placed


def test_rules_taint_devices(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """Devices with the taint of a rule are not given away unless that is tolerated, and are when the rule is gone."""
    gates = "DRADeviceTaintRules=true"
    by_default, tolerant, refused, later, again, at_last = told_by_both(
        _taint_rules, real_cluster, start_scheduler, gates=gates
    )
    assert by_default == ("a", ["a/y"])
    assert tolerant == ("a", ["a/x"])
    assert refused.startswith("0/1 nodes are available: 1 cannot allocate all claims.")
    assert later == ("a", ["a/z"])
    assert again == refused
    assert at_last == ("a", ["a/w"])


def _taint_rules(admin: ApiClient) -> list[Any]:
    admin.create(device_class())
    admin.create(node("a"))
    admin.create(_taint_rule("x-is-broken", device="x", driver=DRIVER, pool="a"))
    admin.create(_taint_rule("z-is-broken", effect="NoExecute", device="z"))
    admin.create(_taint_rule("observed", effect="None"))
    admin.create(_taint_rule("elsewhere", pool="b"))
    admin.create(devices_of("a", [{"name": name} for name in "xyz"]))
    seen = [
        ask_for(admin, claim("by-default", {})),
        ask_for(admin, claim("tolerant", {"tolerations": [{"key": "example.com/broken", "value": "x-is-broken"}]})),
        ask_for(admin, claim("refused", {})),
    ]
    everything = _taint_rule("everything")
    if IS_1_36:
        del everything["spec"]["deviceSelector"]  # since 1.37 that would be no device
    admin.patch("DeviceTaintRule", "z-is-broken", {"spec": {"taint": {"effect": "None"}}})
    eventually(partial(admin.node_of, "refused"), "the pod gets its device")
    seen.append(what_became_of(admin, "refused"))
    admin.create(everything)
    admin.patch("ResourceSlice", "a", {"spec": devices_of("a", [{"name": name} for name in "wxyz"])["spec"]})
    seen.append(ask_for(admin, claim("again", {})))
    admin.delete("DeviceTaintRule", "everything")
    eventually(partial(admin.node_of, "again"), "the pod gets its device")
    seen.append(what_became_of(admin, "again"))
    return seen


def _taint_rule(name: str, effect: str = "NoSchedule", **selector: str) -> Json:
    taint = {"key": "example.com/broken", "value": name, "effect": effect}
    return {
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {"deviceSelector": selector, "taint": taint},
    }


def test_attributes_with_several_values(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """Conditions look at all values of an attribute. Constraints do since 1.37: kube-scheduler forgot to tell them."""
    gates = "DRAListTypeAttributes=true"
    linked, included, selected, iterated = told_by_both(_list_attributes, real_cluster, start_scheduler, gates=gates)
    cannot = "0/2 nodes are available: 2 cannot allocate all claims."
    if IS_1_36:
        assert linked.startswith(cannot)
        assert included == ("a", ["a/y"])
    else:
        assert linked == ("a", ["a/x", "a/y"])
        assert included.startswith(cannot)
    assert selected == ("b", ["b/x"])
    assert "got 'types.String', expected iterable type" in iterated


def _list_attributes(admin: ApiClient) -> list[Any]:
    admin.create(device_class(expression="true"))
    links = {"a": {"x": ["a", "b"], "y": ["b", "c"]}, "b": {"x": ["k", "l"]}}
    for name, devices in links.items():
        offered = [{"name": key, "attributes": {"links": {"strings": values}}} for key, values in devices.items()]
        admin.create(devices_of(name, offered))
        admin.create(node(name))
    wanted = [
        claim("linked", {}, {}, constraints=[{"matchAttribute": f"{DRIVER}/links"}]),
        claim("included", _selected('LINKS.includes("c")')),
        claim("selected", _selected('LINKS.exists(l, l == "k") && LINKS.size() == 2')),
    ]
    seen = [ask_for(admin, entry) for entry in wanted]
    admin.create(devices_of("c", [{"name": "x", "attributes": {"links": {"string": "k"}}}]))
    admin.create(node("c"))
    return [*seen, ask_for(admin, claim("iterated", _selected('LINKS.exists(l, l == "k")')))]


def _selected(expression: str) -> Json:
    links = f'device.attributes["{DRIVER}"].links'
    return {"selectors": [{"cel": {"expression": expression.replace("LINKS", links)}}]}


@pytest.mark.skipif(not IS_1_36, reason="DRANodeAllocatableResources is followed as 1.36 had it")
def test_claims_take_resources_from_the_node(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """Besides what containers request; the pod's status tells how much."""
    gates = "DRANodeAllocatableResources=true"
    whole, share, full, unused, too_little, statuses = told_by_both(
        _node_allocatable, real_cluster, start_scheduler, gates=gates
    )
    assert whole == ("a", ["a/cpus-0"])
    assert share == ("a", ["a/memory"])
    assert full.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert "claim unused: node-allocatable resource claim not referenced by any container within the pod" in unused
    assert "pod level request for cpu is insufficient to cover the aggregated container" in too_little
    assert statuses == {
        "whole": [{"resourceClaimName": "whole", "containers": ["main"], "resources": {"cpu": "1500m"}}],
        "share": [{"resourceClaimName": "share", "containers": ["main"], "resources": {"memory": "4Gi"}}],
    }


def _node_allocatable(admin: ApiClient) -> list[Any]:
    admin.create(device_class())
    mapped = {"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "1500m"}}}
    memory = {
        "name": "memory",
        "allowMultipleAllocations": True,
        "attributes": {"memory": {"bool": True}},
        "capacity": {"size": {"value": "8Gi"}},
        "nodeAllocatableResourceMappings": {"memory": {"capacityKey": "size", "allocationMultiplier": "2"}},
    }
    admin.create(devices_of("a", [*({"name": f"cpus-{k}", **mapped} for k in range(3)), memory]))
    admin.create(node("a", cpu="4", memory="16Gi"))
    cpus = {"selectors": [{"cel": {"expression": "!device.allowMultipleAllocations"}}]}
    memories = {
        "selectors": [{"cel": {"expression": "device.allowMultipleAllocations"}}],
        "capacity": {"requests": {"size": "2Gi"}},
    }
    using = _using("1")
    seen = [
        ask_for(admin, claim("whole", cpus), **using),
        ask_for(admin, claim("share", memories), **using),
        ask_for(admin, claim("full", cpus), **using),
        ask_for(admin, claim("unused", cpus)),
        ask_for(admin, claim("too-little", cpus), **_using("100m"), resources={"requests": {"cpu": "400m"}}),
    ]
    field = "nodeAllocatableResourceClaimStatuses"
    return [*seen, {name: admin.get("Pod", name)["status"][field] for name in ("whole", "share")}]


def _using(cpu: str) -> Json:
    """A container that requests cpu itself, and uses the pod's claim."""
    return {"container": {"resources": {"requests": {"cpu": cpu}, "claims": [{"name": "c0"}]}}}
