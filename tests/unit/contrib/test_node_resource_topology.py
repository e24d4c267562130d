"""NodeResourceTopologyMatch beyond recorded decisions: arguments, what reports may say, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched import Simulation
from kubesched.contrib.node_resource_topology import NodeResourceTopology, NodeResourceTopologyMatch
from kubesched.contrib.node_resource_topology.fingerprint import fingerprint, xxh64
from kubesched.contrib.node_resource_topology.topology import (
    Attribute,
    TopologyManager,
    Zone,
    ZoneResource,
    manager_of,
    numa_id,
)
from kubesched.errors import ConfigurationError
from kubesched.framework import CycleState, ObjectMeta, Quantity
from kubesched.testing import check_promises, make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

ASKED = {"cpu": "3", "memory": "1Gi"}


def config(**args: Any) -> dict[str, Any]:
    name = "NodeResourceTopologyMatch"
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": name}]}},
                "pluginConfig": [{"name": name, "args": args}],
            }
        ],
    }


def topology(name: str, *cpus: str, attributes: tuple[Attribute, ...] = ()) -> NodeResourceTopology:
    """Zones with so many free CPUs, and a kubelet that wants one zone for each container."""
    return NodeResourceTopology(
        metadata=ObjectMeta(name=name),
        topology_policies=("SingleNUMANodeContainerLevel",),
        attributes=attributes,
        zones=tuple(
            Zone(
                name=f"node-{number}",
                type="Node",
                resources=(
                    ZoneResource(name="cpu", available=Quantity.parse(cpu)),
                    ZoneResource(name="memory", available=Quantity.parse("8Gi")),
                ),
            )
            for number, cpu in enumerate(cpus)
        ),
    )


def guaranteed(name: str, **more: Any) -> Any:
    return make_pod(name, requests=ASKED, limits=ASKED, **more)


def test_free_cpus_in_two_zones_are_not_enough() -> None:
    """Four CPUs are free on either node; only one of them has three in a zone."""
    with Simulation(config()) as simulation:
        simulation.add(make_node("a", cpu="8"), make_node("b", cpu="8"))
        simulation.add(topology("a", "2", "2"), topology("b", "4", "0"), guaranteed("p"))
        assert simulation.schedule() == {"default/p": "b"}


def test_a_new_report_wakes_the_pod_that_waits_for_it() -> None:
    """A zone got free."""
    with Simulation(config()) as simulation:
        simulation.add(make_node("a", cpu="8"), topology("a", "2", "2"), guaranteed("p"))
        assert simulation.schedule() == {"default/p": None}
        simulation.add(topology("a", "2", "3"))
        assert simulation.advance(5) == {"default/p": "a"}


@pytest.mark.parametrize(
    ("args", "second"),
    [
        pytest.param({}, "a", id="the last report counts as it is"),
        pytest.param({"cacheResyncPeriodSeconds": 5}, None, id="what was placed since is subtracted from all zones"),
    ],
)
def test_what_was_placed_since_the_last_report(args: dict[str, Any], second: str | None) -> None:
    """Either zone has room for one pod; which of them the first one has got, nobody has reported."""
    with Simulation(config(**args)) as simulation:
        simulation.add(make_node("a", cpu="16"), topology("a", "4", "4"), guaranteed("p"), guaranteed("q"))
        assert simulation.schedule() == {"default/p": "a", "default/q": second}


def test_a_report_of_the_same_pods_counts_instead() -> None:
    """By its fingerprint, once the period is over."""
    handle = FakeHandle().load(make_node("a", cpu="16"), topology("a", "4", "4"))
    plugin = NodeResourceTopologyMatch({"cacheResyncPeriodSeconds": 5}, handle)
    p, q = guaranteed("p"), guaranteed("q")
    state = CycleState(handle.cluster.templates.info(p))
    assert ask(plugin, p, handle.cluster).statuses["a"].is_success
    plugin.reserve(state, p, "a")
    assert ask(plugin, q, handle.cluster).statuses["a"].reasons == ("cannot align container",)
    value = fingerprint([("default", "p")])
    handle.load(guaranteed("p", node="a", phase="Running"))
    handle.load(topology("a", "1", "4", attributes=(Attribute(name="nodeTopologyPodsFingerprint", value=value),)))
    assert not ask(plugin, q, handle.cluster).statuses["a"].is_success
    handle.clock.tick(5)  # type: ignore[attr-defined]  # the fake's clock is a virtual one
    assert ask(plugin, q, handle.cluster).statuses["a"].is_success


def test_a_reload_forgets_no_reservation() -> None:
    """A node that takes no pod while one is on its way there still takes none."""
    handle = FakeHandle().load(make_node("a"), topology("a", "4"))
    before = NodeResourceTopologyMatch({"discardReservedNodes": True}, handle)
    pod = guaranteed("p")
    before.reserve(CycleState(handle.cluster.templates.info(pod)), pod, "a")
    after = NodeResourceTopologyMatch({"discardReservedNodes": True}, handle)
    after.take_over(before)
    assert ask(after, guaranteed("q"), handle.cluster).statuses["a"].reasons == ("invalid node topology data",)
    after.post_bind(CycleState(handle.cluster.templates.info(pod)), pod, "a")
    assert ask(after, guaranteed("q"), handle.cluster).statuses["a"].is_success


def test_it_keeps_its_promises() -> None:
    """Kept answers equal fresh ones."""
    check_promises(NodeResourceTopologyMatch)


def test_an_unknown_strategy_is_refused() -> None:
    """In one line."""
    with pytest.raises(ConfigurationError, match="invalid ScoringStrategyType"):
        Simulation(config(scoringStrategy={"type": "Some"}))


@pytest.mark.parametrize(
    ("policies", "attributes", "expected"),
    [
        pytest.param((), {}, TopologyManager("none", "container", 8), id="nothing is said"),
        pytest.param(
            ("RestrictedPodLevel", "None"), {}, TopologyManager("restricted", "pod", 8), id="the first policy"
        ),
        pytest.param(
            ("RestrictedPodLevel",),
            {"topologyManagerPolicy": "best-effort", "topologyManagerMaxNUMANodes": "9999"},
            TopologyManager("best-effort", "pod", 1024),
            id="attributes count more",
        ),
        pytest.param(
            (),
            {"topologyManagerPolicy": "tidy", "topologyManagerScope": "", "topologyManagerMaxNUMANodes": "1"},
            TopologyManager("none", "container", 8),
            id="what makes no sense is ignored",
        ),
    ],
)
def test_what_a_report_says_of_the_kubelet(
    policies: tuple[str, ...], attributes: dict[str, str], expected: TopologyManager
) -> None:
    """Policy, scope and the most NUMA nodes."""
    given = tuple(Attribute(name=name, value=value) for name, value in attributes.items())
    assert manager_of(NodeResourceTopology(topology_policies=policies, attributes=given)) == expected


@pytest.mark.parametrize(
    ("name", "number"),
    [("node-0", 0), ("node-63", 63), ("node-64", None), ("node--1", None), ("node-", None), ("0", None)],
)
def test_names_of_zones(name: str, number: int | None) -> None:
    """A prefix and a number below 64."""
    assert numa_id(name) == number


def test_hashes_are_those_of_xxh64() -> None:
    """Published values, short and beyond 32 bytes."""
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1
