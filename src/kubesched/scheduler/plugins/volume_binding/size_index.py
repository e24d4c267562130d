"""An index of items by size and node affinity: the smallest sufficient item for every node at once.

Volumes and storage capacities are such items. Most are pinned: one label of the node must have one of a few values
(its hostname, its zone). Items pinned by the same key, with equal other requirements, share a partition, sorted by
size; then a table from value to the first sufficient item answers for all nodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from kubesched.objects.node_selectors import NodeMatcher
from kubesched.objects.requirements import Operator
from kubesched.objects.selectors import Selector
from kubesched.scheduler.columns import Integers, NodeView
from kubesched.scheduler.columns.interning import Interner
from kubesched.scheduler.plugins.volume_binding.volume_affinity import matching_nodes

NONE: Final = -1
"""No item."""
_SPAN: Final = 1 << 32
_LARGEST: Final = np.iinfo(np.int64).max
_NANOS: Final = 10**9

Eligible = Callable[[str], bool]


class SizeIndex:
    """Items of all groups. An item found is a number (of its partition, and there), valid until the next change."""

    def __init__(self) -> None:
        self._partitions: list[Partition] = []
        self._in_group: defaultdict[Hashable, dict[tuple[str, NodeMatcher | None], int]] = defaultdict(dict)
        self._item: dict[str, tuple[int, int, tuple[str, ...]]] = {}  # by name: partition, size, values

    def add(self, group: Hashable, name: str, size: int, affinity: NodeMatcher | None) -> None:
        """Add an item, or move it. `size` counts in billionths of a byte; `affinity` None: for all nodes."""
        self.remove(name)
        key, values, others = _pin(affinity)
        partitions = self._in_group[group]
        number = partitions.get((key, others))
        if number is None:
            number = partitions[key, others] = len(self._partitions)
            self._partitions.append(Partition(key, others))
        self._item[name] = number, size, values
        self._partitions[number].add(name, size, values)

    def remove(self, name: str) -> None:
        """Remove an item, if it is there."""
        if (item := self._item.pop(name, None)) is not None:
            number, size, values = item
            self._partitions[number].remove(name, size, values)

    def names(self) -> list[str]:
        """Of all items."""
        return list(self._item)

    def name(self, item: int) -> str:
        return self._partitions[item // _SPAN].items[item % _SPAN][1]

    def sizes(self, items: Integers) -> Integers:
        """The size of each item in bytes, rounded up; 0 for NONE and whatever else is no item."""
        sizes = np.zeros(len(items), dtype=np.int64)
        for number in np.unique(items[items >= 0] // _SPAN).tolist():
            here = items // _SPAN == number
            sizes[here] = self._partitions[number].sizes[items[here] % _SPAN]
        return sizes

    def smallest(
        self,
        groups: Iterable[Hashable],
        at_least: int,
        nodes: NodeView,
        taken: Sequence[Integers] = (),
        eligible: Eligible | None = None,
    ) -> Integers:
        """Per node: the smallest sufficient item whose affinity matches it, or NONE.

        `taken` are items, per node, that are not to be found again; `eligible` narrows the choice by name.
        """
        best = np.full(len(nodes), NONE, dtype=np.int64)
        best_size = np.full(len(nodes), _LARGEST, dtype=np.int64)
        earlier = np.array(taken, dtype=np.int64).reshape(len(taken), len(nodes))
        for number in (number for group in groups for number in self._in_group.get(group, {}).values()):
            partition = self._partitions[number]
            from_here = earlier // _SPAN == number
            depth = int(from_here.sum(axis=0).max(initial=0)) + 1
            positions = partition.first_sufficient(at_least, nodes, depth, eligible)
            first = _first_left(positions, np.where(from_here, earlier % _SPAN, NONE)) if depth > 1 else positions[0]
            is_better = (first != NONE) & (partition.sizes[first] < best_size)
            best = np.where(is_better, number * _SPAN + first, best)
            best_size = np.where(is_better, partition.sizes[first], best_size)
        return best


def _first_left(positions: Integers, taken: Integers) -> Integers:
    """Per node (column): the first position that is not taken, or NONE."""
    nodes = np.arange(positions.shape[1])
    # One number for a position and a node: all of them are compared at once.
    is_left = (positions != NONE) & ~np.isin(positions * len(nodes) + nodes, taken * len(nodes) + nodes)
    first = is_left.argmax(axis=0)
    return np.where(is_left[first, nodes], positions[first, nodes], NONE)


class Partition:
    """Items that ask for one of a few values of the label `key` (none: "") and for the same other requirements."""

    def __init__(self, key: str, others: NodeMatcher | None) -> None:
        self._key = key
        self._others = others
        self._values: Interner[str] = Interner()
        self._value_of_label: Integers = np.full(1, NONE, dtype=np.int64)  # by label id; the last answers for ABSENT
        self._labels_seen = (-1, -1)  # the version of the column and the number of values that this was made with
        self.items: list[tuple[int, str, int]] = []
        """(size, name, value id), sorted; an item is here once for each of its values."""
        self.sizes: Integers = np.full(1, _LARGEST, dtype=np.int64)  # whole bytes; the last answers for NONE
        self._value_ids: Integers = np.zeros(0, dtype=np.int64)

    def add(self, name: str, size: int, values: tuple[str, ...]) -> None:
        for value in values:
            value_id = self._values.id_of(value)
            position = bisect_left(self.items, (size, name, value_id))
            self.items.insert(position, (size, name, value_id))
            # In one partition sizes are compared exactly; between partitions, fractions of a byte do not count.
            self.sizes = np.insert(self.sizes, position, min(-(-size // _NANOS), _LARGEST - 1))
            self._value_ids = np.insert(self._value_ids, position, value_id)

    def remove(self, name: str, size: int, values: tuple[str, ...]) -> None:
        for value in values:
            position = bisect_left(self.items, (size, name, self._values.id_of(value)))
            del self.items[position]
            self.sizes = np.delete(self.sizes, position)
            self._value_ids = np.delete(self._value_ids, position)

    def first_sufficient(self, at_least: int, nodes: NodeView, depth: int, eligible: Eligible | None) -> Integers:
        """The positions of the first, second, … item for each node, NONE where there is none: depth × nodes."""
        start = bisect_left(self.items, (at_least,))
        positions = np.arange(start, len(self.items))
        if eligible is not None:
            chosen = [eligible(name) for _, name, _ in self.items[start:]]
            positions = positions[np.array(chosen, dtype=np.bool_)]
        if not len(positions):
            return np.full((depth, len(nodes)), NONE, dtype=np.int64)
        found = self._by_value(positions, depth)[:, self._values_at(nodes)]
        if self._others is not None:
            found[:, ~matching_nodes(self._others, nodes)] = NONE
        return found

    def _by_value(self, positions: Integers, depth: int) -> Integers:
        """The first, second, … of the positions with each value; the last column answers for NONE."""
        values = self._value_ids[positions]
        table = np.full((depth, len(self._values) + 1), NONE, dtype=np.int64)
        if depth == 1:
            table[0, values[::-1]] = positions[::-1]  # the first is written last, and stays
            return table
        by_value = np.argsort(values, kind="stable")
        values, positions = values[by_value], positions[by_value]
        rank = np.arange(len(values)) - np.searchsorted(values, values)
        is_near = rank < depth
        table[rank[is_near], values[is_near]] = positions[is_near]
        return table

    def _values_at(self, nodes: NodeView) -> Integers:
        """Per node: the id of its value of the key, or NONE."""
        if not self._key:
            return np.full(len(nodes), self._values.id_of(""), dtype=np.int64)
        column = nodes.label(self._key)
        made_with = (column.version, len(self._values))
        if made_with != self._labels_seen:
            ids = [*(self._values.get(value, NONE) for value in column.values), NONE]
            self._value_of_label, self._labels_seen = np.array(ids, dtype=np.int64), made_with
        return self._value_of_label[nodes.domains(self._key)]


def _pin(affinity: NodeMatcher | None) -> tuple[str, tuple[str, ...], NodeMatcher | None]:
    """The key and the values that pin an item, and what else it asks of nodes (None: nothing)."""
    if affinity is None or len(affinity.terms) != 1:
        return "", ("",), affinity
    term = affinity.terms[0]
    if term.problems or term.labels.selects_nothing:
        return "", ("",), affinity
    requirements = term.labels.requirements
    if not requirements:
        return "", ("",), None
    pins = [requirement for requirement in requirements if requirement.operator is Operator.IN]
    if not pins:
        return "", ("",), affinity
    pin = min(pins, key=lambda requirement: (len(requirement.values), requirement.key))
    others = tuple(requirement for requirement in requirements if requirement is not pin)
    return pin.key, pin.values, NodeMatcher((replace(term, labels=Selector(others)),)) if others else None
