"""The evaluation of *Beware of Fragmentation* (USENIX ATC'23): six policies, up to 17 workloads, ten seeds.

    python examples/experiments/atc23.py DATA        # or: make atc23 DATA=...

DATA is a folder with the openb lists of nodes and pods, .csv or .csv.gz (docs/experiments.md says where they are), and
for the comparison an `expected.json` with what the authors published. One run: pods come in an order that the seed
gives, until they ask for 130 % of all GPUs; each is placed once or fails; nothing ends.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from itertools import product
from pathlib import Path
from statistics import mean
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from go_random import GoRandom
from msgspec.structs import replace

from kubesched import Simulation
from kubesched.contrib.gpu_sharing import (
    CLASSES,
    MODEL,
    RESOURCE,
    WHOLE,
    Workload,
    devices_of,
    requested_by,
    workload_args,
)
from kubesched.lab import chart
from kubesched.objects import Node, Pod
from kubesched.traces import Change, TraceError, import_trace

POLICIES = {
    "Random": "Random",
    "DotProduct": "DotProd",
    "GPUClustering": "GpuClustering",
    "GPUPacking": "GpuPacking",
    "BestFit": "BestFit",
    "FGD": "FGD",
}
"""Our plugins, and how `expected.json` calls them."""
SEEDS = range(42, 52)
LOAD = 1.3
"""Pods come until they ask for so many times what there is."""
OTHER_DRAWS = 10
"""How many numbers the artefact draws between the pods' order and the nodes' order: found by trying, none else fits."""


PLOTTED = 60
"""Percent of load from which plots begin: until then nothing fails."""
Key = tuple[str, str, int]
"""Of a run: workload, policy, seed."""


class Result(NamedTuple):
    """Shares are percent of all GPUs, by load: when pods for so many percent have come."""

    allocated: dict[int, float]
    fragmented: dict[int, float]
    """Of what is left: percent that is of no use to the workload."""
    classes: dict[str, float]
    """At the end: what is left by class, in percent of all GPUs."""
    pods: int
    failed: int
    seconds: float


def run(data: Path, workload: str, policy: str, seed: int) -> Result:
    """One run, deterministic."""
    started = process_time()
    all_nodes, all_pods = load(data, workload)
    nodes, pods = drawn(all_nodes, all_pods, seed)
    plugin = f"kubesched.contrib.gpu_sharing:{policy}"
    args = {"workload": workload_args(all_pods)} if policy == "FGD" else {}
    profile = {
        "plugins": {
            "multiPoint": {"enabled": [{"name": plugin}]},
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": plugin}]},
            "postFilter": {"disabled": [{"name": "*"}]},
        },
        "pluginConfig": [{"name": plugin, "args": args}],
    }
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    with Simulation({**config, "profiles": [profile]}, ties="first", seed=seed) as simulation:
        simulation.add(*nodes, *pods)
        simulation.schedule()
        placed = {pod.metadata.name: pod for pod in simulation.objects(Pod)}
    arrived = [placed[pod.metadata.name] for pod in pods]
    return measured(nodes, arrived, Workload.of(all_pods), lambda: process_time() - started)


@lru_cache(maxsize=2)
def load(data: Path, workload: str) -> tuple[list[Node], list[Pod]]:
    """Nodes and pods of a workload, sorted by name."""
    lists = [found(data, "openb_node_list_gpu_node"), found(data, f"openb_pod_list_{workload}")]
    objects = [one.object for one in import_trace("openb", lists) if isinstance(one, Change) and one.type == "ADDED"]
    objects.sort(key=lambda obj: obj.metadata.name)
    return [one for one in objects if isinstance(one, Node)], [one for one in objects if isinstance(one, Pod)]


def drawn(nodes: Sequence[Node], workload: Sequence[Pod], seed: int) -> tuple[list[Node], list[Pod]]:
    """Nodes in the order in which they win ties, and pods in the order in which they come."""
    random = GoRandom(seed)
    random.uint64()  # for a line of the artefact's log
    pods = list(workload)
    random.shuffle(pods)
    capacity = LOAD * sum(gpus_of(node) * WHOLE for node in nodes)
    requested = sum(map(requested_by, pods))
    is_more = requested > capacity
    while requested > capacity:
        requested -= requested_by(pods.pop(random.below(len(pods))))
    while not is_more:
        pod = workload[random.below(len(workload))]
        if requested + min(requested_by(pod), WHOLE) > capacity:  # of several GPUs one is looked at, as there
            break
        requested += requested_by(pod)
        name = f"{pod.metadata.name}-tuned-{len(pods)}"
        pods.append(replace(pod, metadata=replace(pod.metadata, name=name, uid=f"default/{name}")))
    for _ in range(OTHER_DRAWS):
        random.uint64()
    ranks = random.permutation(len(nodes))
    return [nodes[k] for k in sorted(range(len(nodes)), key=ranks.__getitem__)], pods


def measured(nodes: Sequence[Node], pods: Sequence[Pod], workload: Workload, seconds: Any) -> Result:
    """What follows from where the pods are, since each was decided on once, in this order."""
    total = sum(map(gpus_of, nodes)) * WHOLE
    arrived = np.cumsum([requested_by(pod) for pod in pods])
    used = np.cumsum([requested_by(pod) if pod.spec.node_name else 0 for pod in pods])
    left_by_class = np.cumsum(class_changes(nodes, pods, workload), axis=0)[1:]
    left = left_by_class.sum(axis=1)
    useless = 100 * (left - left_by_class[:, CLASSES.index("satisfied")]) / np.maximum(left, 1)
    load = np.round(100 * arrived / total).astype(int)
    allocated = np.round(100 * used / total, 2)
    percents = np.unique(load).tolist()
    return Result(
        allocated={percent: round(float(allocated[load == percent].mean()), 2) for percent in percents},
        fragmented={percent: round(float(useless[load == percent].mean()), 2) for percent in percents},
        classes=dict(zip(CLASSES, np.round(100 * left_by_class[-1] / total, 2).tolist(), strict=True)),
        pods=len(pods),
        failed=sum(not pod.spec.node_name for pod in pods),
        seconds=round(seconds(), 2),
    )


def class_changes(nodes: Sequence[Node], pods: Sequence[Pod], workload: Workload) -> Any:
    """How each class of what is left changes with each pod; the first row is the empty cluster."""
    index = {node.metadata.name: k for k, node in enumerate(nodes)}
    models = [node.metadata.labels.get(MODEL, "") for node in nodes]
    cpu = [node.status.allocatable["cpu"].milli_value() for node in nodes]
    free = [[WHOLE] * gpus_of(node) + [0] * (8 - gpus_of(node)) for node in nodes]
    states = [(k, cpu[k], list(free[k])) for k in range(len(nodes))]
    event = [0] * len(nodes)
    for number, pod in enumerate(pods, start=1):
        if pod.spec.node_name:
            k = index[pod.spec.node_name]
            cpu[k] -= sum(one.resources.requests["cpu"].milli_value() for one in pod.spec.containers)
            for device in devices_of(pod):
                free[k][device] -= min(requested_by(pod), WHOLE)
            states.append((k, cpu[k], list(free[k])))
            event.append(number)
    amounts = workload.by_class(
        np.array([state[1] for state in states]),
        np.array([state[2] for state in states]),
        [models[state[0]] for state in states],
    )
    changes = np.zeros((len(pods) + 1, len(CLASSES)))
    before: dict[int, int] = {}
    for number, (k, _, _) in enumerate(states):
        changes[event[number]] += amounts[number] - (amounts[before[k]] if k in before else 0)
        before[k] = number
    return changes


def gpus_of(node: Node) -> int:
    offered = node.status.allocatable.get(RESOURCE)
    return int(offered.value()) // WHOLE if offered is not None else 0


def found(data: Path, name: str) -> Path:
    for suffix in (".csv", ".csv.gz"):
        if (data / f"{name}{suffix}").exists():
            return data / f"{name}{suffix}"
    raise TraceError("no such list, as .csv or .csv.gz", name=str(data / name))


def workloads_in(data: Path) -> list[str]:
    names = {path.name.removesuffix(".gz").removesuffix(".csv") for path in data.glob("openb_pod_list_*.csv*")}
    return sorted(name.removeprefix("openb_pod_list_") for name in names)


def table(results: dict[tuple[str, str], list[Result]], published: dict[str, Any]) -> Iterator[str]:
    """Means over the seeds beside those that were published."""
    yield f"{'':12} {'':14} {'at 100 % load':>24}   {'at the end':>24}   {'useless':>8} {'failed':>7} {'s/run':>6}"
    columns = f"{'ours':>8}{'paper':>8}{'diff':>8}"
    yield f"{'workload':12} {'policy':14} {columns:>24}   {columns:>24}   {'% left':>8} {'pods':>7} {'CPU':>6}"
    worst = 0.0
    for (workload, policy), runs in results.items():
        known = published.get(workload, {}).get(POLICIES[policy], {})
        cells = []
        for percent, name in ((100, "at100"), (130, "final")):
            ours = mean(at(one, percent) for one in runs)
            paper = known.get(name)
            if paper is None:
                cells.append(f"{ours:8.2f}{'-':>8}{'':8}")
            else:
                worst = max(worst, abs(ours - paper))
                cells.append(f"{ours:8.2f}{paper:8.2f}{ours - paper:+8.2f}")
        useless = mean(one.fragmented[max(one.fragmented)] for one in runs)
        failed, seconds = mean(one.failed for one in runs), mean(one.seconds for one in runs)
        yield f"{workload:12} {policy:14} {cells[0]}   {cells[1]}   {useless:8.2f} {failed:7.0f} {seconds:6.1f}"
    if published:
        yield f"largest difference to the published means: {worst:.2f} points"
        names = dict.fromkeys(workload for workload, _ in results)
        wrong = [workload for workload in names if not same_order(results, workload, published)]
        yield f"order of the policies: {'as published' if not wrong else 'differs for ' + ', '.join(wrong)}"


def at(result: Result, percent: int) -> float:
    """Allocated at this load, or at the nearest one: of few pods, each is more than a percent."""
    return result.allocated[min(result.allocated, key=lambda load: abs(load - percent))]


def same_order(results: dict[tuple[str, str], list[Result]], workload: str, published: dict[str, Any]) -> bool:
    """At 100 % load. Policies within a tenth of a point of each other are on a par."""
    of_it = {policy: runs for (name, policy), runs in results.items() if name == workload}
    ours = {policy: mean(at(one, 100) for one in runs) for policy, runs in of_it.items()}
    paper = {policy: published.get(workload, {}).get(POLICIES[policy], {}).get("at100", 0) for policy in ours}
    pairs = product(ours, repeat=2)
    return all(ours[one] > ours[other] - 0.1 for one, other in pairs if paper[one] > paper[other])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder with the openb lists")
    parser.add_argument("--workloads", default="", help="some of those in the folder, with commas (all)")
    parser.add_argument("--policies", default=",".join(POLICIES), help="with commas (all)")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many, from 42 on (10)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="that run side by side (all cores)")
    parser.add_argument("--output", type=Path, help="a file for the runs, JSON lines; those in it are not done again")
    parser.add_argument("--plots", type=Path, help="a folder for a plot of each workload, SVG")
    options = parser.parse_args()
    there, policies = workloads_in(options.data), options.policies.split(",")
    workloads = options.workloads.split(",") if options.workloads else there
    for kind, wanted, known in (("policy", policies, list(POLICIES)), ("workload", workloads, there)):
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            sys.exit(f"unknown {kind} {unknown[0] if unknown else ''!r}; there are {', '.join(known) or 'none'}")
    runs = list(product(workloads, policies, range(SEEDS.start, SEEDS.start + options.seeds)))
    try:
        results = run_all(options.data, runs, options.processes, Journal(options.output))
        if options.plots:
            options.plots.mkdir(parents=True, exist_ok=True)
    except (TraceError, OSError) as error:
        sys.exit(f"error: {error}")
    grouped: dict[tuple[str, str], list[Result]] = {}
    for workload, policy, seed in runs:
        grouped.setdefault((workload, policy), []).append(results[workload, policy, seed])
    expected = options.data / "expected.json"
    for line in table(grouped, json.loads(expected.read_text()) if expected.exists() else {}):
        print(line)
    for workload in workloads if options.plots else ():
        (options.plots / f"{workload}.svg").write_text(plot(grouped, workload))


def plot(results: dict[tuple[str, str], list[Result]], workload: str) -> str:
    """Means over the seeds, from where the policies begin to differ."""
    curves = {}
    for policy in (policy for name, policy in results if name == workload):
        runs = results[workload, policy]
        loads = [load for load in runs[0].allocated if load >= PLOTTED and all(load in one.allocated for one in runs)]
        curves[policy] = [(load, mean(one.allocated[load] for one in runs)) for load in loads]
    return chart(f"Allocated GPUs, {workload}, %", "GPUs that arrived pods request, % of all", curves)


class Journal:
    """Finished runs, a line each, in a file if there is one: what is in it after `kill -9` need not be done again."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.results: dict[Key, Result] = {}
        text = path.read_text() if path and path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # the last line may be torn
        for line in whole.splitlines():
            found = json.loads(line)
            key = (found.pop("workload"), found.pop("policy"), found.pop("seed"))
            for name in ("allocated", "fragmented"):
                found[name] = {int(load): value for load, value in found[name].items()}
            self.results[key] = Result(**found)
        if path and whole != text:
            path.write_text(whole)

    def add(self, key: Key, result: Result) -> None:
        self.results[key] = result
        if self._path:
            names = dict(zip(("workload", "policy", "seed"), key, strict=True))
            with self._path.open("a") as file:
                file.write(json.dumps({**names, **result._asdict()}) + "\n")


def run_all(data: Path, runs: Sequence[Key], processes: int, journal: Journal) -> dict[Key, Result]:
    """All runs that are not in the journal yet on so many processes, with a line about progress."""
    started = perf_counter()
    missing = [one for one in runs if one not in journal.results]
    with ProcessPoolExecutor(max(1, processes)) as pool:
        futures = {pool.submit(run, data, *one): one for one in missing}
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                journal.add(futures[future], future.result())
                seconds = perf_counter() - started
                rest = seconds / number * (len(missing) - number)
                text = f"{number} of {len(missing)} runs, {seconds:.0f} s, {rest:.0f} s to go "
                print(f"\r{text}", end="", file=sys.stderr)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    print(file=sys.stderr)
    return {one: journal.results[one] for one in runs}


if __name__ == "__main__":
    main()
