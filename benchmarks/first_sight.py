"""How long the first look at a pod takes: a template that was never seen, against 5,000 nodes with 10,000 pods.

    python benchmarks/first_sight.py [NODES] [PODS]

Every pod asks for other amounts and has other labels, so nothing that is kept can be reused. CPU time of filtering and
ranking, all default plugins.
"""

from __future__ import annotations

import statistics
import sys
import time
from random import Random
from typing import Any

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates, default_config
from kubesched.objects import Pod
from kubesched.objects.completion import completed
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.testing import make_node, make_pod
from kubesched.testing.recording import RecordingRecorder

ROUNDS = 60
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def plain(number: int) -> Pod:
    return make_pod(f"plain-{number}", cpu=f"{100 + number}m", memory="200Mi", labels={"app": f"new-{number}"})


def demanding(number: int) -> Pod:
    """Required and preferred inter-pod affinity, and topology spread in both forms."""
    selector = {"matchLabels": {"app": f"app-{number % 100}"}}
    term = {"labelSelector": selector, "topologyKey": ZONE}
    own = {"matchLabels": {"app": f"new-{number}"}}
    affinity: dict[str, Any] = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [term],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": term}],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": own, "topologyKey": HOST}]
        },
    }
    spread = [
        {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own},
        {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": own},
    ]
    return make_pod(
        f"demanding-{number}",
        cpu=f"{100 + number}m",
        memory="200Mi",
        labels={"app": f"new-{number}"},
        affinity=affinity,
        spread=spread,
    )


def main(nodes: int, pods: int) -> None:
    gates, api = FeatureGates(), MemoryApi()
    dependencies = Dependencies(api=api, recorder=RecordingRecorder(), clock=SystemClock(), random=Random(1))  # noqa: S311
    scheduler = build_scheduler(default_config(gates), gates, dependencies)
    api.connect(scheduler.objects, scheduler.handlers)
    for number in range(nodes):
        labels = {ZONE: f"zone-{number % 3}"}
        scheduler.handlers.add(make_node(f"node-{number}", cpu="16", memory="64Gi", labels=labels))
    for number in range(pods):
        placed = make_pod(
            f"placed-{number}", cpu="100m", labels={"app": f"app-{number % 100}"}, node=f"node-{number % nodes}"
        )
        scheduler.handlers.add(completed(placed))
    evaluator = scheduler.evaluators["default-scheduler"]
    print(f"{nodes} nodes, {pods} pods, {ROUNDS} pods that were never seen: CPU milliseconds")
    for name, make in (("plain", plain), ("affinity and spread", demanding)):
        times = []
        for number in range(ROUNDS):
            info = scheduler.cache.cluster.templates.info(completed(make(number)))
            started = time.process_time()
            evaluator.rank(evaluator.filter(info)).best()
            times.append((time.process_time() - started) * 1e3)
        print(f"  {name:20} median {statistics.median(times):6.2f}   best {min(times):6.2f}   worst {max(times):6.2f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3] or ("5000", "10000")))
