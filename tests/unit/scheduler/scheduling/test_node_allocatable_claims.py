"""Claims that take resources from the node: from the moment a node is chosen, the pod counts with them."""

from __future__ import annotations

from typing import Any

from kubesched.config import FeatureGates
from kubesched.testing import make_device_class, make_node, make_pod, make_resource_claim, make_resource_slice

ON = FeatureGates({"DRANodeAllocatableResources": True})
USES = {"resources": {"requests": {"cpu": "1"}, "claims": [{"name": "c"}]}}


def user(name: str) -> Any:
    entry = {"name": "c", "resourceClaimName": f"of-{name}"}
    return make_pod(name, spec={"containers": [{"name": "main", **USES}], "resourceClaims": [entry]})


async def test_pods_count_with_what_their_claims_take(new_bench: Any) -> None:
    """Two cpus per claim, one per container: the third pod does not fit, and the pods' statuses say why."""
    bench = new_bench(gates=ON)
    mapped = {"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}
    devices = [{"name": f"d{k}", **mapped} for k in range(3)]
    bench.add(make_node("n", cpu="7"), make_device_class(), make_resource_slice("n", node="n", devices=devices))
    for name in ("a", "b", "late"):
        bench.add(make_resource_claim(f"of-{name}"), user(name))
    await bench.schedule()
    assert {name: bench.pod(name).spec.node_name for name in ("a", "b", "late")} == {"a": "n", "b": "n", "late": ""}
    (status,) = bench.pod("a").status.node_allocatable_resource_claim_statuses
    assert (status.resource_claim_name, status.containers) == ("of-a", ("main",))
    assert {name: str(amount) for name, amount in status.resources.items()} == {"cpu": "2"}
    assert bench.cache.cluster.view().requested("cpu").tolist()[:1] == [6000]
    assert bench.notes("FailedScheduling")[0].startswith("0/1 nodes are available: 1 Insufficient cpu.")


async def test_a_pod_that_is_not_bound_after_all_takes_nothing(new_bench: Any) -> None:
    """Its status is cleared, and the node has its resources back."""
    bench = new_bench(gates=ON)
    mapped = {"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}
    bench.add(make_node("n", cpu="7"), make_device_class())
    bench.add(make_resource_slice("n", node="n", devices=[{"name": "d", **mapped}]), make_resource_claim("of-a"))
    bench.api.errors["a"] = ValueError("refused")
    bench.add(user("a"))
    await bench.schedule()
    assert bench.pod("a").spec.node_name == ""
    assert bench.pod("a").status.node_allocatable_resource_claim_statuses == ()
    assert bench.cache.cluster.view().requested("cpu").tolist()[:1] == [0]
