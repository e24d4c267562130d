"""What does a pod cost with a plugin of kubesched.contrib, beside a plain one?

    python benchmarks/contrib.py [--nodes 5000] [--pods 2000] [--runs 5] [PLUGIN ...]

CPU time per pod of a simulation whose pods are replicas of one deployment, in the plugin's common case: groups that
fit, quotas that are not exhausted, nodes that are measured. Runs with and without the plugin take turns, and the least
of each counts: what else the machine does only adds. The ratio is what matters.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

from kubesched import Simulation
from kubesched.contrib.coscheduling import POD_GROUP_LABEL
from kubesched.contrib.node_resource_topology import NodeResourceTopology
from kubesched.contrib.node_resource_topology.topology import Zone, ZoneResource
from kubesched.framework import ObjectMeta, Quantity
from kubesched.testing import make_node, make_pod

GROUP_SIZE = 10
WATCHER = "http://watcher"
KIND = "scheduling.x-k8s.io/v1alpha1"


def score(name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return profile({"score": {"enabled": [{"name": name, "weight": 1}]}}, name, args)


def profile(plugins: dict[str, Any], name: str = "", args: dict[str, Any] | None = None) -> dict[str, Any]:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = [{"name": name, "args": args}] if args is not None else []
    return {**kind, "profiles": [{"plugins": plugins, "pluginConfig": config}]}


def instead(point: str, name: str) -> dict[str, Any]:
    return {point: {"disabled": [{"name": "*"}], "enabled": [{"name": name}]}}


MULTI = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
QUOTAS = {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}, **instead("postFilter", "CapacityScheduling")}
NUMA = {"multiPoint": {"enabled": [{"name": "NodeResourceTopologyMatch"}]}}
CONFIGS: dict[str, dict[str, Any]] = {
    "NodeResourceTopologyMatch": profile(NUMA),
    "NodeResourceTopologyMatch, over-reserve": profile(
        NUMA, "NodeResourceTopologyMatch", {"cacheResyncPeriodSeconds": 5}
    ),
    "NodeResourcesAllocatable": score("NodeResourcesAllocatable"),
    "PodState": score("PodState"),
    "QOSSort": profile(instead("queueSort", "QOSSort")),
    "PreemptionToleration": profile(instead("postFilter", "PreemptionToleration")),
    "Coscheduling": profile({**MULTI, **instead("queueSort", "Coscheduling")}),
    "CapacityScheduling": profile(QUOTAS),
    "TargetLoadPacking": score("TargetLoadPacking", {"watcherAddress": WATCHER}),
    "LoadVariationRiskBalancing": score("LoadVariationRiskBalancing", {"watcherAddress": WATCHER}),
    "LowRiskOverCommitment": score("LowRiskOverCommitment", {"watcherAddress": WATCHER}),
    "Peaks": score("Peaks", {"watcherAddress": WATCHER, "nodePowerModel": {"n0": {"k0": 1, "k1": 1, "k2": 0.1}}}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("plugins", nargs="*")
    chosen = parser.parse_args()
    for name in chosen.plugins or CONFIGS:
        runs = [
            (cost("", chosen.nodes, chosen.pods), cost(name, chosen.nodes, chosen.pods)) for _ in range(chosen.runs)
        ]
        plain, own = (min(costs) for costs in zip(*runs, strict=True))
        print(f"{name:40} {own * 1e6:6.0f} us per pod, plain {plain * 1e6:6.0f} us: {own / plain:.2f} times")


def cost(name: str, nodes: int, pods: int) -> float:
    """CPU seconds per pod, after the first ones."""
    config = CONFIGS.get(name)
    with Simulation(config) as simulation:
        simulation.add(*(make_node(f"n{i}", cpu="16", memory="64Gi") for i in range(nodes)))
        prepare(simulation, name, nodes, pods)
        make = member if name == "Coscheduling" else guaranteed_pod if "Topology" in name else plain_pod
        simulation.add(*(make(i) for i in range(-GROUP_SIZE, 0)))
        simulation.schedule()
        simulation.add(*(make(i) for i in range(pods)))
        start = process_time()
        placed = simulation.schedule()
        took = process_time() - start
    assert all(placed.values()), f"{name}: not all pods got a node"
    return took / pods


def prepare(simulation: Simulation, name: str, nodes: int, pods: int) -> None:
    if name == "Coscheduling":
        for i in range(-1, pods // GROUP_SIZE + 1):
            simulation.load(
                f"{{apiVersion: {KIND}, kind: PodGroup, metadata: {{name: g{i}, namespace: default}}, "
                f"spec: {{minMember: {GROUP_SIZE}}}}}"
            )
    if name == "CapacityScheduling":
        much = "{cpu: 100000, memory: 1000Ti}"
        metadata = "{name: quota, namespace: default}"
        spec = f"{{min: {much}, max: {much}}}"
        simulation.load(f"{{apiVersion: {KIND}, kind: ElasticQuota, metadata: {metadata}, spec: {spec}}}")
    if "Topology" in name:
        simulation.add(*(topology(f"n{i}") for i in range(nodes)))
    if "watcherAddress" in str(CONFIGS.get(name)):
        simulation.publish(f"{WATCHER}/watcher", measured(nodes))


def measured(nodes: int) -> dict[str, Any]:
    def of(i: int) -> dict[str, Any]:
        kinds = [
            {"type": kind, "operator": operator, "value": (i * 7 + offset) % 60}
            for kind in ("CPU", "Memory")
            for operator, offset in (("AVG", 1), ("STD", 3))
        ]
        return {"metrics": kinds}

    return {"window": {"end": 10}, "data": {"NodeMetricsMap": {f"n{i}": of(i) for i in range(nodes)}}}


def plain_pod(i: int) -> Any:
    return make_pod(f"p{i}", cpu="100m", memory="128Mi", labels={"app": "web"})


def guaranteed_pod(i: int) -> Any:
    asked = {"cpu": "1", "memory": "128Mi"}
    return make_pod(f"p{i}", requests=asked, limits=asked, labels={"app": "web"})


def topology(name: str) -> NodeResourceTopology:
    """Two zones, each with half of the node."""
    half = tuple(ZoneResource(name=n, available=Quantity.parse(a)) for n, a in (("cpu", "8"), ("memory", "32Gi")))
    return NodeResourceTopology(
        metadata=ObjectMeta(name=name),
        topology_policies=("SingleNUMANodeContainerLevel",),
        zones=tuple(Zone(name=f"node-{number}", type="Node", resources=half) for number in (0, 1)),
    )


def member(i: int) -> Any:
    return make_pod(f"p{i}", cpu="100m", memory="128Mi", labels={POD_GROUP_LABEL: f"g{i // GROUP_SIZE}"})


if __name__ == "__main__":
    main()
