"""The nodes in columns, as the browser gets them: all of them once, then the rows that have changed.

A node is known by its row in the scheduler's table. Amounts are integers: thousandths of a CPU, bytes, pieces.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kubesched.apps.simulate.simulation import Simulation
from kubesched.objects import Node
from kubesched.scheduler.columns import NodeTable
from kubesched.scheduler.columns.journal import EVERYTHING, Follower

PODS: Final = "pods"
MOST_VALUES: Final = 256
"""Of a label by which nodes can be grouped; one that tells nearly every node from the others is of no use for that."""

Amounts = npt.NDArray[np.int64]


class NodeMap:
    """Follows a node table. `advance` reports what changed since its last call; `everything` is as of that call."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._facts_changed = Follower(table.node_changes)
        self._pods_changed = Follower(table.pod_changes)
        self._nodes: dict[int, Node] = {}
        self._requested: dict[str, Amounts] = {}

    def advance(self) -> dict[str, Any]:
        """`nodes`: those that are new or have changed; `gone`: rows; `rows` with `requested` by resource. Or empty."""
        facts, pods = self._facts_changed.changed(), self._pods_changed.changed()
        news: dict[str, Any] = {}
        if facts:
            before = self._nodes
            self._nodes = dict(self._table.existing())
            looked_at = self._nodes if facts is EVERYTHING else {row for row in facts if row in self._nodes}
            if changed := [row for row in looked_at if self._nodes[row] is not before.get(row)]:
                news["nodes"] = [self._node(row) for row in changed]
            if gone := [row for row in before if row not in self._nodes]:
                news["gone"] = gone
        if facts or pods:
            before_amounts, self._requested = self._requested, self._amounts()
            if rows := _changed_rows(before_amounts, self._requested):
                rows = [row for row in rows if row in self._nodes]
                news["rows"] = rows
                news["requested"] = {name: amounts[rows].tolist() for name, amounts in self._requested.items()}
        return news

    def everything(self) -> dict[str, Any]:
        """The same as columns; labels are lists of values, and for each node the place of its value (-1: none)."""
        rows = list(self._nodes)
        nodes = list(self._nodes.values())
        taints, taint_ids = _interned(_taints(node) for node in nodes)
        return {
            "rows": rows,
            "names": [node.name for node in nodes],
            "ready": [int(is_ready(node)) for node in nodes],
            "cordoned": [int(node.spec.unschedulable) for node in nodes],
            "taints": {"values": taints, "index": taint_ids},
            "labels": _labels(nodes),
            "allocatable": {name: self._offered(name)[rows].tolist() for name in self._requested},
            "requested": {name: amounts[rows].tolist() for name, amounts in self._requested.items()},
        }

    def totals(self) -> dict[str, Any]:
        """Sums over all nodes, by resource: [requested, allocatable]."""
        rows = list(self._nodes)
        return {
            name: [int(amounts[rows].sum()), int(self._offered(name)[rows].sum())]
            for name, amounts in self._requested.items()
        }

    def _node(self, row: int) -> dict[str, Any]:
        node = self._nodes[row]
        offered = {name: int(self._offered(name)[row]) for name in self._resources()}
        return {
            "row": row,
            "name": node.name,
            "ready": int(is_ready(node)),
            "cordoned": int(node.spec.unschedulable),
            "taints": _taints(node),
            "labels": dict(node.metadata.labels),
            "allocatable": offered,
        }

    def _resources(self) -> list[str]:
        names = self._table.resources.values
        offered = [names[number] for number in range(len(self._table.allocatable)) if self._is_offered(number)]
        return [*offered, PODS]

    def _is_offered(self, number: int) -> bool:
        return bool(self._table.allocatable[number][slice(0, len(self._table))].any())

    def _amounts(self) -> dict[str, Amounts]:
        table, used = self._table, slice(0, len(self._table))
        amounts = {}
        for name in self._resources():
            column = table.pod_count if name == PODS else table.requested[table.resource_id(name)]
            amounts[name] = np.array(column[used])
        return amounts

    def _offered(self, name: str) -> Amounts:
        table = self._table
        column = table.allowed_pods if name == PODS else table.allocatable[table.resource_id(name)]
        return np.asarray(column[slice(0, len(table))])


def amounts_by_name(simulation: Simulation) -> dict[str, dict[str, Any]]:
    """Every node of a simulation: what is requested of what, and whether it is cordoned."""
    return {
        node.name: {
            "requested": {**node.requested, PODS: len(node.pods)},
            "allocatable": {**node.allocatable, PODS: node.allowed_pods},
            "cordoned": int(node.node.spec.unschedulable),
            "labels": dict(node.labels),
        }
        for node in simulation.nodes()
    }


def _changed_rows(before: dict[str, Amounts], now: dict[str, Amounts]) -> list[int]:
    length = len(now[PODS])
    changed = np.zeros(length, dtype=np.bool_)
    for name, amounts in now.items():
        known = before.get(name, np.empty(0, dtype=np.int64))[:length]
        changed[: len(known)] |= amounts[: len(known)] != known
        changed[len(known) :] = True
    rows: list[int] = np.flatnonzero(changed).tolist()
    return rows


def _labels(nodes: list[Node]) -> dict[str, Any]:
    keys = sorted({key for node in nodes for key in node.metadata.labels})
    labels = {}
    for key in keys:
        values, index = _interned(node.metadata.labels.get(key) for node in nodes)
        if len(values) <= MOST_VALUES and (len(values) < len(nodes) or len(nodes) == 1):
            labels[key] = {"values": values, "index": index}
    return labels


def _interned(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """The different values, and for each the place of its own; -1 for None."""
    known: dict[str, int] = {}
    kept: list[Any] = []
    index = []
    for value in values:
        if value is None:
            index.append(-1)
            continue
        place = known.setdefault(repr(value), len(kept))
        if place == len(kept):
            kept.append(value)
        index.append(place)
    return kept, index


def _taints(node: Node) -> list[str]:
    return [f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in node.spec.taints]


def is_ready(node: Node) -> bool:
    """A node without that condition is one of a file or of a test: nobody says that it is not."""
    return all(item.status == "True" for item in node.status.conditions if item.type == "Ready")
