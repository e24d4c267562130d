"""NodeResourceTopology of topology.node.k8s.io/v1alpha2: the zones of a node, and how its kubelet is configured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kubesched.framework import CustomObject, CustomResource, KubeStruct, Quantity

NUMA_ZONE: Final = "Node"
ZONE_PREFIX: Final = "node-"
MOST_ZONES: Final = 64
"""NUMA ids are below this: upstream has them in a mask of so many bits."""

POLICY_ATTRIBUTE: Final = "topologyManagerPolicy"
SCOPE_ATTRIBUTE: Final = "topologyManagerScope"
MOST_NUMA_NODES_ATTRIBUTE: Final = "topologyManagerMaxNUMANodes"

SINGLE_NUMA_NODE: Final = "single-numa-node"
POLICIES: Final = ("none", "best-effort", "restricted", SINGLE_NUMA_NODE)
POD_SCOPE: Final = "pod"
CONTAINER_SCOPE: Final = "container"

_DEPRECATED_POLICIES: Final = {
    f"{words}{scope.capitalize()}Level": (policy, scope)
    for words, policy in (
        ("SingleNUMANode", SINGLE_NUMA_NODE),
        ("BestEffort", "best-effort"),
        ("Restricted", "restricted"),
    )
    for scope in (POD_SCOPE, CONTAINER_SCOPE)
}
_DEFAULT_NUMA_NODES: Final = 8
_LIMIT_OF_NUMA_NODES: Final = 1024
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_LARGEST: Final = 1 << 62
_NANOS_PER_MILLI: Final = 10**6


class Attribute(KubeStruct):
    name: str = ""
    value: str = ""


class Cost(KubeStruct):
    """The distance to another zone, from 10 (here) to 255 (unknown), as firmware reports it."""

    name: str = ""
    value: int = 0


class ZoneResource(KubeStruct):
    """`available` is what is left of `allocatable`."""

    name: str = ""
    capacity: Quantity = Quantity.ZERO
    allocatable: Quantity = Quantity.ZERO
    available: Quantity = Quantity.ZERO


class Zone(KubeStruct):
    name: str = ""
    type: str = ""
    parent: str = ""
    costs: tuple[Cost, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(CustomObject):
    """It has the name of its node. An agent there (NFD, the resource topology exporter) writes it."""

    resource = CustomResource("topology.node.k8s.io/v1alpha2", "noderesourcetopologies", namespaced=False)

    topology_policies: tuple[str, ...] = ()
    """Deprecated, for attributes: only the first is read."""
    zones: tuple[Zone, ...] = ()
    attributes: tuple[Attribute, ...] = ()


class TopologyManager(NamedTuple):
    """The configuration of a kubelet's topology manager."""

    policy: str = "none"
    scope: str = CONTAINER_SCOPE
    most_numa_nodes: int = _DEFAULT_NUMA_NODES


class NumaNode(NamedTuple):
    """A zone of type Node: what is available there, in thousandths, and the distances to others, by their ids."""

    id: int
    available: Mapping[str, int]
    costs: Mapping[int, int]


class Topology(NamedTuple):
    """What an object says, as plugins read it. Zones are in the object's order."""

    manager: TopologyManager
    numa_nodes: Sequence[NumaNode]


def topology_of(reported: NodeResourceTopology) -> Topology:
    """Zones of other types, and those whose name is not `node-` with a number, are left out."""
    found = [(numa_id(zone.name), zone) for zone in reported.zones if zone.type == NUMA_ZONE]
    numa_nodes = [
        NumaNode(
            number,
            {one.name: thousandths(one.available) for one in zone.resources},
            {other: cost.value for cost in zone.costs if (other := numa_id(cost.name)) is not None},
        )
        for number, zone in found
        if number is not None
    ]
    return Topology(manager_of(reported), numa_nodes)


def manager_of(reported: NodeResourceTopology) -> TopologyManager:
    """Attributes count more than the deprecated policies; values that make no sense are as if they were not there."""
    policy, scope, most = TopologyManager()
    policy, scope = _DEPRECATED_POLICIES.get("".join(reported.topology_policies[:1]), (policy, scope))
    for one in reported.attributes:
        if one.name == POLICY_ATTRIBUTE and one.value in POLICIES:
            policy = one.value
        elif one.name == SCOPE_ATTRIBUTE and one.value in (POD_SCOPE, CONTAINER_SCOPE):
            scope = one.value
        elif one.name == MOST_NUMA_NODES_ATTRIBUTE and (number := _number(one.value)) is not None and number > 1:
            most = min(number, _LIMIT_OF_NUMA_NODES)
    return TopologyManager(policy, scope, most)


def numa_id(zone_name: str) -> int | None:
    """None if the name is not that of a NUMA zone."""
    if not zone_name.startswith(ZONE_PREFIX):
        return None
    number = _number(zone_name.removeprefix(ZONE_PREFIX))
    return number if number is not None and 0 <= number < MOST_ZONES else None


def thousandths(amount: Quantity) -> int:
    """What there is, in whole thousandths: requests are in those, too."""
    return max(0, min(amount.nanos // _NANOS_PER_MILLI, _LARGEST))


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
