"""The filter of nodes with the policy single-numa-node: is there a zone for each container, or for the whole pod?

As the kubelet's topology manager will decide there: containers are placed one after the other, each in the first zone
that has all it asks for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kubesched.contrib.node_resource_topology.demand import (
    Amounts,
    Demand,
    is_host_level,
    is_numa_affine,
)
from kubesched.contrib.node_resource_topology.zones import (
    ABSENT,
    SINGLE_BY_CONTAINER,
    SINGLE_BY_POD,
    STALE,
    Zones,
)
from kubesched.framework import Booleans, Integers, NodeView, Reason, Verdict

REASONS: Final = (
    Reason.unschedulable("invalid node topology data"),
    Reason.unschedulable("cannot align pod"),
    Reason.unschedulable("cannot align init container"),
    Reason.unschedulable("cannot align sidecar container"),
    Reason.unschedulable("cannot align container"),
)
_INVALID, _POD, _INIT, _SIDECAR, _CONTAINER = (1 << place for place in range(len(REASONS)))
_BEYOND_IDS: Final = 1 << 30


class Need(NamedTuple):
    """What one container (or pod) wants of a zone, by the places of resources in `Zones.available`."""

    at_least: Integers
    """0: the zone must list the resource, ABSENT: it need not."""
    taken: Integers
    """What is no longer available for the next container."""
    host_level: tuple[int, ...]
    """Places of resources that only count on nodes on which some zone lists them."""
    offered: tuple[str, ...]
    """Resources that the node must offer."""
    is_impossible: bool
    """It asks for something that no zone of any node has."""


def needs(zones: Zones, asked: Amounts, *, is_guaranteed: bool) -> Need:
    places = zones.resources
    at_least = np.full(zones.available.shape[2], ABSENT, dtype=np.int64)
    taken = np.zeros_like(at_least)
    host_level: list[int] = []
    is_impossible = False
    for name, amount in asked:
        if not amount:
            continue
        place = places.get(name)
        if is_host_level(name):
            host_level += [place] if place is not None else []
        elif place is None:
            is_impossible = True
        if place is not None:
            is_shared = is_numa_affine(name) and not is_guaranteed
            at_least[place] = 0 if is_shared else amount
            taken[place] = 0 if is_shared else amount
    offered = tuple([name for name, amount in asked if amount and name not in ("cpu", "memory")])
    return Need(at_least, taken, tuple(host_level), offered, is_impossible)


def alignment(zones: Zones, demand: Demand, nodes: NodeView) -> Verdict:
    """The verdict on each row."""
    kinds = zones.kinds[nodes.rows]
    bits = np.where(kinds == STALE, _INVALID, 0)
    by_pod, by_container = kinds == SINGLE_BY_POD, kinds == SINGLE_BY_CONTAINER
    if by_pod.any():
        bits[by_pod & ~_has_zone_for_pod(zones, demand, nodes)] = _POD
    if by_container.any():
        bits += np.where(by_container, _failing_container(zones, demand, nodes), 0)
    return Verdict(bits, REASONS)


def _has_zone_for_pod(zones: Zones, demand: Demand, nodes: NodeView) -> Booleans:
    need = needs(zones, demand.pod, is_guaranteed=demand.is_guaranteed)
    suitable = _suitable(zones, need, zones.available[nodes.rows], nodes)
    fits: Booleans = np.logical_or.reduce(suitable, axis=1)
    return fits


def _failing_container(zones: Zones, demand: Demand, nodes: NodeView) -> Integers:
    """The bit of the first container without a zone; 0 where all have one."""
    available = zones.available[nodes.rows].copy()
    ids, every_row = zones.ids[nodes.rows], np.arange(len(nodes))
    bits = np.zeros(len(nodes), dtype=np.int64)
    for is_sidecar, asked in demand.init_containers:
        need = needs(zones, asked, is_guaranteed=demand.is_guaranteed)
        fails = ~_suitable(zones, need, available, nodes).any(axis=1)
        bits[fails & (bits == 0)] = _SIDECAR if is_sidecar else _INIT
    for asked in demand.containers:
        need = needs(zones, asked, is_guaranteed=demand.is_guaranteed)
        suitable = _suitable(zones, need, available, nodes)
        bits[~suitable.any(axis=1) & (bits == 0)] = _CONTAINER
        chosen = np.where(suitable, ids, _BEYOND_IDS).argmin(axis=1)
        left = available[every_row, chosen]
        available[every_row, chosen] = np.where(left == ABSENT, ABSENT, left - need.taken)
    return bits


def _suitable(zones: Zones, need: Need, available: Integers, nodes: NodeView) -> Booleans:
    """Rows × zones: where the zone has what is asked for."""
    if need.is_impossible:
        return np.zeros(available.shape[:2], dtype=np.bool_)
    enough = available >= need.at_least
    for place in need.host_level:
        enough[:, :, place] |= (available[:, :, place] == ABSENT).all(axis=1)[:, np.newaxis]
    suitable: Booleans = np.logical_and.reduce(enough, axis=2)
    for name in need.offered:
        suitable &= zones.offered(nodes, name)[:, np.newaxis]
    return suitable
