"""LeastNUMANodes: the fewer zones a pod would be spread over, the better; among those, zones close to each other.

Unlike other scores it counts for all policies. Zones are looked for as the kubelet does: the fewest that have together
what is asked for, and of equally many those with the least average distance.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Final, NamedTuple

import numpy as np

from kubesched.contrib.node_resource_topology.demand import Amounts, Demand
from kubesched.contrib.node_resource_topology.zones import (
    ABSENT,
    OTHER_BY_CONTAINER,
    OTHER_BY_POD,
    SINGLE_BY_CONTAINER,
    SINGLE_BY_POD,
    UNKNOWN_DISTANCE,
    Zones,
)
from kubesched.framework import MAX_SCORE, Booleans, Floats, Integers, NodeView, Positions

MOST_COMBINATIONS: Final = 1 << 14
"""Of zones: a node on which more would have to be tried scores 0. Of sixteen zones there are 12870 of eight."""
_CELLS: Final = 1 << 20
"""How many combinations of how many rows are looked at in one step."""
_TOO_FAR: Final = 256


class Chosen(NamedTuple):
    """The zones that a request is to be given, by row."""

    zones: Booleans
    """Rows × zones. None, if those of the row have too little together."""
    are_closest: Booleans
    """Whether no equally many zones are closer to each other."""


def least_numa_scores(zones: Zones, demand: Demand, nodes: NodeView) -> Integers:
    """The score of each row; 0 where nothing is known."""
    kinds, rows = zones.kinds[nodes.rows], nodes.row_ids()
    scores = np.zeros(len(nodes), dtype=np.int64)
    containers = [*[amounts for _, amounts in demand.init_containers], *demand.containers]
    for scope, asked in (
        ((SINGLE_BY_POD, OTHER_BY_POD), [demand.pod]),
        ((SINGLE_BY_CONTAINER, OTHER_BY_CONTAINER), containers),
    ):
        for positions, count in _by_zone_count(zones, rows, np.flatnonzero(np.isin(kinds, scope))):
            scores[positions] = _scores(zones, rows[positions], count, asked)
    return scores


def _by_zone_count(zones: Zones, rows: Positions, positions: Positions) -> list[tuple[Positions, int]]:
    if not len(positions):
        return []
    counts = (zones.ids[rows[positions]] != ABSENT).sum(axis=1)
    return [(positions[counts == count], int(count)) for count in np.unique(counts)]


def _scores(zones: Zones, rows: Positions, count: int, requests: list[Amounts]) -> Integers:
    """Of rows with so many zones, for requests that are given zones one after the other."""
    available = zones.available[rows][:, :count].copy()
    ids, distances = zones.ids[rows][:, :count], zones.distances[rows][:, :count, :count]
    most = np.zeros(len(rows), dtype=np.int64)
    all_closest, all_fit = np.ones(len(rows), dtype=np.bool_), np.ones(len(rows), dtype=np.bool_)
    for asked in requests:
        places = [zones.resources[name] for name, _ in asked if name in zones.resources]
        concerned = (available[:, :, places] != ABSENT).any(axis=(1, 2))
        if not concerned.any():
            continue
        chosen = _choose(available, distances, zones, asked)
        all_fit &= ~concerned | chosen.zones.any(axis=1)
        all_closest &= ~concerned | chosen.are_closest
        most = np.maximum(most, np.where(concerned, chosen.zones.sum(axis=1), 0))
        _take(available, ids, chosen.zones & concerned[:, np.newaxis], zones, asked)
    per_zone = MAX_SCORE // zones.most_numa_nodes[rows]
    scores = MAX_SCORE - most * per_zone + np.where(all_closest, per_zone // 2, 0)
    return np.where(all_fit, np.where(most == 0, MAX_SCORE, scores), 0)


def _choose(available: Integers, distances: Integers, zones: Zones, asked: Amounts) -> Chosen:
    """The fewest zones, then the closest, then the first ones (numaNodesRequired). Each must list all resources."""
    rows, count, _ = available.shape
    chosen, closest = np.zeros((rows, count), dtype=np.bool_), np.zeros(rows, dtype=np.bool_)
    if any(name not in zones.resources for name, _ in asked):
        return Chosen(chosen, closest)
    wanted = available[:, :, [zones.resources[name] for name, _ in asked]]
    amounts = np.array([amount for _, amount in asked], dtype=np.int64)
    lists_all = (wanted != ABSENT).all(axis=2)
    together = np.where(lists_all[:, :, np.newaxis], wanted, 0).sum(axis=1)
    waiting = np.flatnonzero(lists_all.any(axis=1) & (together >= amounts).all(axis=1))
    for size in range(1, count + 1):
        if not len(waiting) or comb(count, size) > MOST_COMBINATIONS:
            break
        found = []
        for block in np.array_split(waiting, 1 + len(waiting) * comb(count, size) // _CELLS):
            has = _combine(wanted[block], amounts, lists_all[block], size)
            best, distance, least = _closest(has, distances[block], count, size)
            fits = distance < _TOO_FAR
            chosen[block[fits]] = _members(count, size)[best[fits]]
            closest[block[fits]] = distance[fits] == least[fits]
            found.append(block[~fits])
        waiting = np.concatenate(found)
    return Chosen(chosen, closest)


def _combine(wanted: Integers, amounts: Integers, lists_all: Booleans, size: int) -> Booleans:
    """Rows × combinations: where so many zones together have what is asked for."""
    members = _members(wanted.shape[1], size)
    together = np.einsum("rzn,cz->rcn", wanted, members.astype(np.int64))
    complete = lists_all.astype(np.int64) @ members.T == size
    enough: Booleans = (together >= amounts).all(axis=2) & complete
    return enough


def _closest(has: Booleans, distances: Integers, count: int, size: int) -> tuple[Positions, Floats, Floats]:
    """By row: the best combination, its average distance (infinite if none will do), and the least of all."""
    members = _members(count, size).astype(np.int64)
    pairs = (members[:, :, np.newaxis] * members[:, np.newaxis, :]).reshape(len(members), -1)
    average = (distances.reshape(len(distances), -1) @ pairs.T).astype(np.float32) / np.float32(size * size)
    least = np.minimum(average.min(axis=1), UNKNOWN_DISTANCE)
    fitting = np.where(has, average, np.float32(np.inf))
    best = fitting.argmin(axis=1)
    return best, fitting[np.arange(len(best)), best].astype(np.float64), least.astype(np.float64)


def _take(available: Integers, ids: Integers, chosen: Booleans, zones: Zones, asked: Amounts) -> None:
    """What a request is given is gone for the next ones; the zones with the lowest ids give first.

    A zone is found by its id, as if zones were listed in the order of their ids (subtractFromNUMAs).
    """
    for name, amount in asked:
        place = zones.resources.get(name)
        if place is None:
            continue
        missing = np.full(len(available), amount, dtype=np.int64)
        for zone in range(available.shape[1]):
            gives = ((ids == zone) & chosen).any(axis=1) & (available[:, zone, place] != ABSENT)
            given = np.where(gives, np.minimum(missing, available[:, zone, place]), 0)
            available[:, zone, place] -= given
            missing -= given


@lru_cache(maxsize=256)
def _members(count: int, size: int) -> Booleans:
    """Combinations × zones, in lexicographic order."""
    found = list(combinations(range(count), size))
    members = np.zeros((len(found), count), dtype=np.bool_)
    members[np.repeat(np.arange(len(found)), size), np.ravel(found)] = True
    return members
