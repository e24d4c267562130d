"""How long plans take: losing each node, the capacity of a mix, and emptying GPU nodes. Seconds of CPU time.

    python benchmarks/plan.py [each | capacity | defrag]...

Clusters are made up, the same in every run. Loading them is not counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from random import Random
from typing import TypeVar

from kubesched import Simulation
from kubesched.apps.plan.defrag.goals import FreeNodes
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod

T = TypeVar("T")

GPU = "nvidia.com/gpu"
SIZES = (("500m", "1Gi"), ("1", "2Gi"), ("2", "4Gi"), ("250m", "8Gi"))


def owned(app: str) -> dict[str, str]:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app}


def web_cluster(nodes: int, pods: int) -> Simulation:
    """Workloads of 20 pods in four sizes, a fifth of them spread over zones; placed by the scheduler."""
    simulation = Simulation()
    simulation.add(*(make_node(f"n{i:04}", cpu="32", memory="128Gi", zone=f"z{i % 3}") for i in range(nodes)))
    for i in range(pods):
        app = f"app{i // 20}"
        cpu, memory = SIZES[(i // 20) % 4]
        spread = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": app}},
        }
        several = [spread] if (i // 20) % 5 == 0 else []
        pod = make_pod(f"{app}-{i % 20}", cpu=cpu, memory=memory, labels={"app": app}, spread=several, owner=owned(app))
        simulation.add(pod)
    simulation.schedule()
    return simulation


def gpu_cluster(nodes: int, pods: int) -> Simulation:
    """Jobs of one, two and four GPUs, wherever they happened to start."""
    random, free = Random(1), [8] * nodes  # noqa: S311 - the same in every run
    simulation = Simulation()
    simulation.add(*(make_node(f"g{i:03}", cpu="96", memory="1Ti", resources={GPU: 8}) for i in range(nodes)))
    placed: list[Pod] = []
    while len(placed) < pods:
        gpus, node = random.choices((1, 2, 4), (6, 3, 1))[0], random.randrange(nodes)
        if free[node] >= gpus:
            free[node] -= gpus
            name, job = f"job-{len(placed)}", f"train{len(placed) % 100}"
            asks = {"cpu": str(4 * gpus), "memory": f"{32 * gpus}Gi", "requests": {GPU: gpus}}
            owner = {"kind": "Job", "name": job, "uid": job}
            placed.append(make_pod(name, node=f"g{node:03}", labels={"job": job}, owner=owner, **asks))
    simulation.add(*placed)
    return simulation


def each() -> str:
    simulation = web_cluster(1000, 20_000)
    report, seconds = timed(lambda: simulation.what_if_each("node"))
    return f"each: losing each of 1,000 nodes with 20,000 pods: {seconds:.1f} s, {len(report.losses)} losses"


def capacity() -> str:
    simulation = Simulation()
    simulation.add(*(make_node(f"n{i:04}", cpu="16", memory="64Gi", zone=f"z{i % 3}") for i in range(5000)))
    simulation.add(*(make_pod(f"base-{i}", cpu="4", memory="16Gi", node=f"n{i % 5000:04}") for i in range(15_000)))
    mix = [
        make_pod("big", cpu="2", memory="4Gi"),
        make_pod("mid", cpu="1", memory="6Gi"),
        make_pod("small", cpu="500m"),
    ]
    report, seconds = timed(lambda: simulation.capacity(*mix))
    return f"capacity: a mix of three on 5,000 nodes: {seconds:.1f} s, {report.pods:,} pods fit"


def defrag() -> str:
    simulation = gpu_cluster(800, 3200)
    started = time.perf_counter()
    plan = simulation.defrag(FreeNodes(16))
    seconds = time.perf_counter() - started
    gap = "unknown" if plan.gap is None else f"{plan.gap:.1%}"
    return f"defrag: 16 of 800 nodes with 3,200 pods emptied: {seconds:.1f} s (wall), {plan.moves} moves, gap {gap}"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.process_time()
    return work(), time.process_time() - started


BENCHMARKS = {"each": each, "capacity": capacity, "defrag": defrag}


def main() -> None:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"error: no benchmark is named {unknown[0]!r}: there are {', '.join(BENCHMARKS)}")
    for name in wanted:
        print(BENCHMARKS[name](), flush=True)


if __name__ == "__main__":
    main()
