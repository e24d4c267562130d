"""Pictures of what plans do: every node as a bar of its pods, before and after.

python tools/plan_pictures.py docs/planning docs/pictures
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from kubesched import Simulation
from kubesched.apps.plan.defrag.goals import Fit
from kubesched.apps.plan.hypotheses import Drain
from kubesched.objects import Node, Pod
from kubesched.objects.pod_resources import in_scheduler_units, incoming_requests

BAR, ROW, LEFT, GAP, TOP = 300, 30, 70, 60, 46
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d")
STYLE = "font-family: sans-serif; font-size: 12px; fill: #24292f"

Bars = Mapping[str, Sequence[tuple[str, str, int]]]
"""By node: (pod, workload, amount)."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw plans as SVG.")
    parser.add_argument("clusters", type=Path)
    parser.add_argument("pictures", type=Path)
    arguments = parser.parse_args()
    for name, picture in pictures(arguments.clusters).items():
        (arguments.pictures / name).write_text(picture, encoding="utf-8")


def pictures(clusters: Path) -> dict[str, str]:
    """All pictures by file name, made from the clusters of the page on planning."""
    return {"plan-drain.svg": drain(clusters / "shop.yaml"), "plan-defrag.svg": defrag(clusters)}


def drain(cluster: Path) -> str:
    with Simulation() as simulation:
        simulation.load(cluster)
        before = bars(simulation, "cpu")
        report = simulation.what_if(Drain("node-1"))
        after = moved(before, {move.pod: move.node for move in report.moved})
        return drawing("CPU requests, before and after draining node-1", before, after, sizes(simulation, "cpu"))


def defrag(clusters: Path) -> str:
    gpu = "nvidia.com/gpu"
    with Simulation() as simulation, Simulation() as other:
        simulation.load(clusters / "gpus.yaml")
        other.load(clusters / "big-job.yaml")
        job = other.objects(Pod)[0]
        before = bars(simulation, gpu)
        plan = simulation.defrag(Fit([job]))
        after = {**moved(before, {step.pod: step.lands_on for step in plan.steps if step.pod})}
        for one in plan.placed:
            after[one.node] = [*after[one.node], (one.pod, "big-job", incoming_requests(job)[gpu])]
        return drawing("GPUs, before and after making room for big-job", before, after, sizes(simulation, gpu))


def bars(simulation: Simulation, resource: str) -> Bars:
    found: dict[str, list[tuple[str, str, int]]] = {name: [] for name in sizes(simulation, resource)}
    for name in found:
        for pod in simulation.pods_on(name):
            found[name].append((pod.key, pod.metadata.labels.get("app", ""), incoming_requests(pod).get(resource, 0)))
    return found


def sizes(simulation: Simulation, resource: str) -> dict[str, int]:
    nodes = sorted(simulation.objects(Node), key=lambda node: node.metadata.name)
    return {node.metadata.name: in_scheduler_units(node.status.allocatable)[resource] for node in nodes}


def moved(before: Bars, moves: Mapping[str, str]) -> dict[str, list[tuple[str, str, int]]]:
    after = {node: [entry for entry in pods if entry[0] not in moves] for node, pods in before.items()}
    for pods in before.values():
        for entry in pods:
            if entry[0] in moves:
                after[moves[entry[0]]].append(entry)
    return after


def drawing(title: str, before: Bars, after: Bars, size: Mapping[str, int]) -> str:
    width, height = LEFT + 2 * BAR + GAP + 10, TOP + ROW * len(size) + 10
    workloads = sorted({entry[1] for pods in (*before.values(), *after.values()) for entry in pods})
    colour = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(workloads)}
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<title>{escape(title)}</title><rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18" style="{STYLE}; font-weight: bold">{escape(title)}</text>',
    ]
    for row, name in enumerate(size):
        y = TOP + ROW * row
        body.append(f'<text x="8" y="{y + 15}" style="{STYLE}">{escape(name)}</text>')
        for x, pods in ((LEFT, before[name]), (LEFT + BAR + GAP, after[name])):
            body += _bar(x, y, pods, size[name], colour)
    return "\n".join((*body, "</svg>", ""))


def _bar(
    x: float, y: float, pods: Sequence[tuple[str, str, int]], size: int, colour: Mapping[str, str]
) -> Iterator[str]:
    yield f'<rect x="{x}" y="{y}" width="{BAR}" height="{ROW - 8}" fill="#eaeef2"/>'
    for pod, workload, amount in pods:
        width = BAR * amount / size
        name = pod.rpartition("/")[2]
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{max(0.0, width - 1):.1f}" height="{ROW - 8}" fill="{colour[workload]}">'
            f"<title>{escape(pod)}</title></rect>"
        )
        if width > 7 * len(name):
            yield f'<text x="{x + 4:.1f}" y="{y + 15}" style="{STYLE}; fill: #ffffff">{escape(name)}</text>'
        x += width


if __name__ == "__main__":
    main()
