"""How long a replay takes: a made-up hour of a cluster, the same in every run. Seconds of CPU time, one core.

    python benchmarks/replay.py [--nodes 5000] [--running 20000] [--arrivals 36000] [--seconds 3600] [--save FILE]

Workloads of several sizes, priorities and namespaces, a quarter of them spread over zones, some on GPUs; pods run
for half a minute to an hour. It is written as a trace, read as `kubesched replay` reads it, and run twice.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec.structs import replace

from kubesched import replay
from kubesched.objects import Pod
from kubesched.testing import ZONE_LABEL, make_node, make_pod
from kubesched.traces import Change, ChangeType, Entry, Header, Trace

STARTED = 1_763_456_400.0
GPU = "nvidia.com/gpu"
SIZES = (("100m", "256Mi"), ("500m", "1Gi"), ("1", "2Gi"), ("2", "8Gi"), ("4", "4Gi"))
PRIORITIES = (0, 0, 0, 100, 1000)


def entries(arguments: argparse.Namespace) -> Iterator[Entry]:
    """The state at the start, then arrivals, bindings and ends in the order of time."""
    chance = Random(1)  # noqa: S311 - the same in every run
    nodes = [f"n{number:04}" for number in range(arguments.nodes)]
    for number, name in enumerate(nodes):
        labels, gpus = {ZONE_LABEL: f"z{number % 3}"}, {GPU: 8} if number % 5 == 0 else None
        made = make_node(name, cpu=f"{(16, 32, 64)[number // 3 % 3]}", memory="128Gi", labels=labels, resources=gpus)
        yield Change(time=STARTED, type=ChangeType.ADDED, object=made)
    changes: list[tuple[float, int, ChangeType, Pod]] = []
    for number in range(arguments.running + arguments.arrivals):
        is_running = number < arguments.running
        at = 0.0 if is_running else chance.uniform(0.001, arguments.seconds)
        ends = at + min(chance.expovariate(1 / 900) + 30, 3600)
        node = nodes[number % len(nodes)] if is_running else chance.choice(nodes)
        pod = _pod(number, chance, with_gpu=not is_running)
        bound = replace(pod, spec=replace(pod.spec, node_name=node))
        changes.append((at, number, ChangeType.ADDED, bound if is_running else pod))
        if not is_running:
            changes.append((at + 0.01, number, ChangeType.MODIFIED, bound))
        if ends < arguments.seconds:
            changes.append((ends, number, ChangeType.DELETED, bound))
    for at, _, kind, pod in sorted(changes, key=lambda change: change[:2]):
        yield Change(time=STARTED + at, type=kind, object=pod)


def _pod(number: int, chance: Random, *, with_gpu: bool) -> Pod:
    app = chance.randrange(300)
    cpu, memory = SIZES[app % len(SIZES)]
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE_LABEL,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": f"app{app}"}},
    }
    pod = make_pod(
        f"app{app}-{number}",
        namespace=f"team-{app % 7}",
        cpu=cpu,
        memory=memory,
        priority=PRIORITIES[app % len(PRIORITIES)],
        labels={"app": f"app{app}"},
        spread=[spread] if app % 4 == 0 else [],
        owner={"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app{app}", "uid": f"app{app}"},
        requests={GPU: (1, 2, 4)[app % 3]} if with_gpu and app % 30 == 0 else None,
    )
    return replace(pod, metadata=replace(pod.metadata, uid=f"uid-{number}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--running", type=int, default=20_000)
    parser.add_argument("--arrivals", type=int, default=36_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--save", type=Path, help="Only write the trace here.")
    arguments = parser.parse_args()
    trace = Trace(Header(started=STARTED, source="benchmark"), lambda: entries(arguments))
    if arguments.save is not None:
        trace.save(arguments.save)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hour.jsonl.zst"
        trace.save(file)
        hashes = []
        for _ in range(2):
            began = time.process_time()
            run = replay(file)
            spent = time.process_time() - began
            hashes.append(run.hash)
            pods = len(run.scheduled_here())
            print(f"{arguments.nodes:,} nodes, {arguments.running:,} running, {pods:,} arrivals: {spent:.1f} s of CPU")
    sys.exit(0 if len(set(hashes)) == 1 else "error: two replays gave two results")


if __name__ == "__main__":
    main()
