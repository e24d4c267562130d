"""Plans carried out on the embedded cluster: every pod lands where the report said, or it was left to a tie.

KUBESCHED_REALITY=1 runs 20 drains, 5 rollouts and 10 defragmentations; a few are run always.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

from kubesched import Simulation
from kubesched.apps.inputs.live_cluster import fetch_objects
from kubesched.apps.plan.defrag.execution import execute
from kubesched.apps.plan.defrag.goals import Fit, FreeNodes
from kubesched.apps.plan.defrag.plan import DefragPlan
from kubesched.apps.plan.hypotheses import Drain
from kubesched.apps.plan.rollout import Order, Pace, rollout
from kubesched.apps.plan.what_if import WhatIfReport
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.up.cluster import ClusterOptions
from kubesched.apps.up.lifecycle import Up, UpSettings, run_up
from kubesched.client.http_transport import HttpTransport
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates, default_config
from kubesched.errors import ApiStatusError
from kubesched.objects import Node, Pod
from kubesched.testing import make_pod

ALL = bool(os.environ.get("KUBESCHED_REALITY"))
DRAINS, DEFRAGS, ROLLOUTS = (20, 10, 5) if ALL else (2, 2, 1)
GATES = FeatureGates.parse("GenericWorkload=true")
GANG = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "gang"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}


class Cluster:
    """A cluster that runs, and what a test does with it."""

    def __init__(self, rest: RestClient, kubeconfig: Path) -> None:
        self.rest = rest
        self.clock = SystemClock()
        self._kubeconfig = str(kubeconfig)

    async def simulation(self) -> Simulation:
        """The cluster as it is now, to try things on."""
        simulation = Simulation(feature_gates="GenericWorkload=true")
        simulation.add(*await fetch_objects(self._kubeconfig, GATES))
        return simulation

    async def create(self, path: str, manifest: dict[str, Any]) -> None:
        await self.rest.call("POST", path, body=json.dumps(manifest).encode())

    async def deploy(self, name: str, replicas: int, requests: dict[str, str], **spec: Any) -> None:
        labels = {"app": name}
        container = {"name": "c", "image": "x", "resources": {"requests": requests, "limits": requests}}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
        manifest = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }
        await self.create("/apis/apps/v1/namespaces/default/deployments", manifest)

    async def pods(self) -> list[Pod]:
        return [pod for pod in await self.rest.list_all(Pod) if not pod.is_terminal]

    async def at_rest(self, count: int) -> list[Pod]:
        """Wait until so many pods are there, none of them is leaving, and all that have a node are ready."""
        for _ in range(600):
            pods = await self.pods()
            ready = [any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions) for pod in pods]
            if len(pods) == count and all(ready) and not any(pod.is_terminating for pod in pods):
                return pods
            await asyncio.sleep(0.1)
        raise AssertionError(f"the cluster does not come to rest: {[(p.key, p.spec.node_name) for p in pods]}")

    async def drain(self, node: str, pods: list[str]) -> None:
        """As kubectl does: cordon, then evict all, and again those that a budget protects for now."""
        await self.rest.patch(Node, node, {"spec": {"unschedulable": True}})
        while pods:
            refused = []
            for key in pods:
                namespace, _, name = key.partition("/")
                path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
                body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
                try:
                    await self.rest.call("POST", path, body=json.dumps(body).encode(), retries=0)
                except ApiStatusError as error:
                    if error.code != 429:
                        raise
                    refused.append(key)
            pods = refused
            await asyncio.sleep(0.2)


def with_cluster(tmp_path: Path, nodes: int, scenario: Callable[[Cluster], Awaitable[None]], **options: Any) -> None:
    kubeconfig = tmp_path / "kubeconfig"

    async def show(up: Up) -> None:
        clock = SystemClock()
        transport = HttpTransport(choose_connection(str(up.kubeconfig), clock))
        try:
            await scenario(Cluster(RestClient(transport, clock, Random(0)), up.kubeconfig))
        finally:
            await transport.close()

    cluster = ClusterOptions(port=0, nodes=nodes, kubeconfig=str(kubeconfig), **options)
    asyncio.run(run_up(UpSettings(cluster=cluster, config=default_config(GATES), gates=GATES), show))


def by_workload(pods: list[Pod]) -> Counter[tuple[str, str]]:
    return Counter((pod.metadata.labels["app"], pod.spec.node_name) for pod in pods)


def predicted(report: WhatIfReport, before: list[Pod]) -> Counter[tuple[str, str]]:
    app = {pod.key: pod.metadata.labels["app"] for pod in before}
    counts = by_workload(before)
    for move in report.moved:
        counts[app[move.pod], move.before] -= 1
        counts[app[move.pod], move.node] += 1
    return +counts


def test_drains_go_as_predicted(tmp_path: Path) -> None:
    """Pods of several sizes, one workload with a budget: node after node is drained and opened again."""

    async def scenario(cluster: Cluster) -> None:
        random = Random(7)
        for number in range(4):
            cpu = random.choice((150, 250, 350))
            await cluster.deploy(f"app{number}", 3, {"cpu": f"{cpu}m", "memory": f"{random.randint(100, 900)}Mi"})
        await cluster.create(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "app0"},
                "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "app0"}}},
            },
        )
        await cluster.at_rest(12)
        exact = 0
        for round_ in range(DRAINS):
            before = await cluster.at_rest(12)
            busy = Counter(pod.spec.node_name for pod in before)
            node = sorted(busy)[round_ % len(busy)]
            with await cluster.simulation() as simulation:
                report = simulation.what_if(Drain(node))
            assert len(report.moved) == busy[node]
            assert (report.waiting, report.blocked, report.gone) == ((), (), ())
            await cluster.drain(node, [move.pod for move in report.moved])
            after = await cluster.at_rest(12)
            if not any(move.tied or move.by_timing for move in report.moved):
                exact += 1
                assert by_workload(after) == predicted(report, before)
            await cluster.rest.patch(Node, node, {"spec": {"unschedulable": None}})
        assert exact or not ALL

    with_cluster(tmp_path, 5, scenario)


def test_rollouts_go_as_predicted(tmp_path: Path) -> None:
    """Every node is drained and opened again, in the report's order: as many evictions as it says, node by node."""

    async def scenario(cluster: Cluster) -> None:
        random = Random(11)
        for number in range(3):
            cpu = random.choice((150, 250, 350))
            await cluster.deploy(f"app{number}", 2, {"cpu": f"{cpu}m", "memory": f"{random.randint(100, 900)}Mi"})
        pace = Pace(grace=1, start_up=1, node_time=1)
        for round_ in range(ROLLOUTS):
            order = list(Order)[round_]
            await cluster.at_rest(6)
            with await cluster.simulation() as simulation:
                report = rollout(simulation, "", pace, order)
            assert report.finishes
            evictions = []
            for upgrade in report.nodes:
                leaving = [pod.key for pod in await cluster.at_rest(6) if pod.spec.node_name == upgrade.node]
                await cluster.drain(upgrade.node, sorted(leaving))
                evictions.append(len(leaving))
                await cluster.at_rest(6)
                await cluster.rest.patch(Node, upgrade.node, {"spec": {"unschedulable": None}})
            assert evictions[0] == report.nodes[0].evictions
            if ALL and not report.ties and not report.by_timing:  # on a busy machine, successors come in other orders
                assert evictions == [upgrade.evictions for upgrade in report.nodes]

    with_cluster(tmp_path, 3, scenario)


def test_defragmentations_are_carried_out(tmp_path: Path) -> None:
    """Nodes are emptied, and filled again, with the Eviction API; the plan of each round is kept to the letter."""

    async def scenario(cluster: Cluster) -> None:
        random = Random(3)
        for number in range(5):
            await cluster.deploy(f"app{number}", 2, {"cpu": f"{random.randint(2, 9)}00m", "memory": "500Mi"})
        for round_ in range(DEFRAGS):
            await cluster.at_rest(10)
            with await cluster.simulation() as simulation:
                plan = simulation.defrag(FreeNodes(1 + round_ % 2))
            assert plan.is_reached
            outcome = await execute(plan, cluster.rest, cluster.clock, patience=60.0)
            assert outcome.surprise == ""
            again = await execute(plan, cluster.rest, cluster.clock, patience=60.0)
            assert again.done == ()  # a plan that is done is recognised
            busy = {pod.spec.node_name for pod in await cluster.at_rest(10)}
            assert not busy & set(plan.emptied)
            for node in plan.emptied:
                await cluster.rest.patch(Node, node, {"spec": {"unschedulable": None}})

    with_cluster(tmp_path, 4, scenario)


def test_a_blocked_gang_is_bound_after_its_plan(tmp_path: Path) -> None:
    """Free CPUs would suffice in sum, and one pod of the gang would fit, but not both."""

    async def scenario(cluster: Cluster) -> None:
        await cluster.deploy("small", 4, {"cpu": "2"})
        await cluster.at_rest(4)
        await cluster.create("/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", GANG)
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "3500m"}}}
        for name in ("one", "two"):
            spec = {"schedulingGroup": {"podGroupName": "gang"}, "containers": [container]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
            await cluster.create("/api/v1/namespaces/default/pods", pod)
        for _ in range(100):
            if sum("Unschedulable" in str(pod.status.conditions) for pod in await cluster.pods()) == 2:
                break
            await asyncio.sleep(0.1)
        gang = [pod for pod in await cluster.pods() if pod.metadata.name in ("one", "two")]
        assert not any(pod.spec.node_name for pod in gang)
        with await cluster.simulation() as simulation:
            plan = simulation.defrag(Fit(gang))
        assert plan.is_reached
        assert plan.moves
        assert (await execute(plan, cluster.rest, cluster.clock, patience=60.0)).surprise == ""
        bound = {pod.key: pod.spec.node_name for pod in await cluster.at_rest(6) if pod.metadata.name in ("one", "two")}
        assert len(bound) == 2
        assert all(bound.values())  # on which node each is depends on which one is uncordoned first

    with_cluster(tmp_path, 3, scenario)


def test_a_cluster_that_has_changed_ends_the_execution(tmp_path: Path) -> None:
    """One clear line, and no node stays cordoned that was to be for a while only."""

    async def scenario(cluster: Cluster) -> None:
        await cluster.deploy("small", 4, {"cpu": "2"})
        await cluster.at_rest(4)
        with await cluster.simulation() as simulation:
            plan: DefragPlan = simulation.defrag(Fit([make_pod("big", cpu="7")]))
        target = next(step.lands_on for step in plan.steps if step.action == "evict")
        await cluster.rest.patch(Node, target, {"spec": {"unschedulable": True}})
        outcome = await execute(plan, cluster.rest, cluster.clock, patience=3.0)
        assert outcome.surprise
        assert "\n" not in outcome.surprise
        cordoned = {n.metadata.name for n in await cluster.rest.list_all(Node) if n.spec.unschedulable}
        assert cordoned == {target}

    with_cluster(tmp_path, 3, scenario)
