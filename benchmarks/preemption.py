"""What one preemption costs on a full cluster, from the filters' refusal to the choice of victims.

    python benchmarks/preemption.py [NODES [PODS_PER_NODE [BUDGETS]]]

CPU time of the thread, the median and the worst of several attempts. The evictions go nowhere.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from datetime import timedelta
from random import Random

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import PodInfo
from kubesched.scheduler.plugins.default_preemption import DefaultPreemption
from kubesched.testing import EPOCH, make_node, make_pdb, make_pod
from kubesched.testing.recording import RecordingRecorder

ATTEMPTS = 20
NODE_CPU = 8000
APPS = 50


def full_cluster(nodes: int, pods_per_node: int, budgets: int) -> Assembled:
    gates, random = FeatureGates(), Random(1)  # noqa: S311 - the same cluster every time
    dependencies = Dependencies(api=MemoryApi(), recorder=RecordingRecorder(), clock=VirtualClock(), random=random)
    parts = build_scheduler(default_config(gates), gates, dependencies)
    for n in range(nodes):
        parts.handlers.add(make_node(f"n{n}", cpu=f"{NODE_CPU}m", memory="64Gi"))
    for k in range(nodes * pods_per_node):
        pod = make_pod(
            f"p{k}",
            node=f"n{k // pods_per_node}",
            cpu=f"{NODE_CPU // pods_per_node}m",
            memory="1Gi",
            labels={"app": f"a{k % APPS}"},
            priority=random.choice([0, 0, 10, 20]),
            start_time=EPOCH + timedelta(seconds=random.randrange(10**6)),
        )
        parts.handlers.add(pod)
    for b in range(budgets):
        selector = {"matchLabels": {"app": f"a{b % APPS}"}}
        parts.handlers.add(make_pdb(f"b{b}", selector=selector, disruptions_allowed=b % 2))
    return parts


async def seconds_for(parts: Assembled, pod: PodInfo) -> float:
    (profile,) = parts.profiles.values()
    preemption = profile.plugins["DefaultPreemption"]
    assert isinstance(preemption, DefaultPreemption)
    fit = parts.evaluators[profile.name].filter(pod)
    assert not fit.count, "the cluster is not full"
    diagnosis = fit.diagnosis()
    started = time.thread_time()
    _, status = await preemption.post_filter(fit.state, pod, diagnosis)
    elapsed = time.thread_time() - started
    assert status.is_success, status.message
    await parts.scheduler.tasks.finish()
    return elapsed


async def main() -> None:
    nodes, pods_per_node, budgets = (*map(int, sys.argv[1:]), *(5000, 5, 0)[len(sys.argv) - 1 :])
    parts = full_cluster(nodes, pods_per_node, budgets)
    waiting = make_pod("vip", cpu="2", memory="2Gi", priority=100)
    parts.handlers.add(waiting)
    pod = parts.cache.cluster.templates.info(waiting)
    times = [await seconds_for(parts, pod) * 1e3 for _ in range(ATTEMPTS)]
    print(f"{nodes} nodes, {pods_per_node} pods each, {budgets} budgets: ", end="")
    print(f"{statistics.median(times):.1f} ms per attempt (worst {max(times):.1f} ms)")


if __name__ == "__main__":
    asyncio.run(main())
