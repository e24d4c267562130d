"""How the cost of a pod grows: plots of benchmark results, as SVG."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kubesched.errors import ConfigurationError
from kubesched.reports.charts import LogAxis, chart

_SIZE: Final = re.compile(r"^(?P<case>[^/]+)/(?P<nodes>\d+)Nodes_(?P<pods>\d+)Pods/")
_KINDS: Final = re.compile(r"^Kinds(\d+)$")


class _Item(msgspec.Struct):
    data: dict[str, float]
    labels: dict[str, str]


class _Results(msgspec.Struct, rename="camel"):
    data_items: list[_Item]


def read_results(file: Path) -> dict[str, Any]:
    """What `bench --json` wrote; ConfigurationError if the file holds something else."""
    try:
        document: dict[str, Any] = msgspec.json.decode(file.read_bytes())
        msgspec.convert(document, _Results)
    except msgspec.DecodeError as error:
        raise ConfigurationError([f"{file}: not a file of results: {error}"]) from error
    return document


def growth_plots(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """SVG texts by file name, of the dataItems of workloads named `CASE/<n>Nodes_<m>Pods`.

    Cases called Kinds<n> are one curve over the number of kinds. ConfigurationError if there is nothing to plot.
    """
    by_nodes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    by_pods: dict[str, list[tuple[float, float]]] = defaultdict(list)
    by_kinds: list[tuple[float, float]] = []
    for size, cost in _costs(documents):
        case, nodes, pods = size["case"], float(size["nodes"]), float(size["pods"])
        if kinds := _KINDS.match(case):
            by_kinds.append((float(kinds[1]), cost))
            continue
        by_nodes[f"{case}, {pods:,.0f} pods"].append((nodes, cost))
        by_pods[f"{case}, {nodes:,.0f} nodes"].append((pods, cost))
    curves = {
        "cost-by-nodes.svg": ("nodes", by_nodes),
        "cost-by-pods.svg": ("pods", by_pods),
        "cost-by-kinds.svg": ("kinds of pods, in turns", {"Kinds": by_kinds}),
    }
    plots = {
        name: chart("CPU time per pod (µs)", label, several, axis=LogAxis, dots=True)
        for name, (label, series) in curves.items()
        if (several := {title: sorted(points) for title, points in series.items() if len(points) > 1})
    }
    if not plots:
        raise ConfigurationError(["nothing to plot: no two results differ in nodes, pods or kinds"])
    return plots


def _costs(documents: Sequence[Mapping[str, Any]]) -> list[tuple[re.Match[str], float]]:
    """CPU microseconds per pod of every result with a size in its name."""
    found = []
    for document in documents:
        for item in document["dataItems"]:
            size = _SIZE.match(item["labels"].get("Name", ""))
            if size and item["labels"].get("Metric") == "Seconds" and item["data"].get("Pods"):
                found.append((size, item["data"]["CPU"] / item["data"]["Pods"] * 1e6))
    return found
