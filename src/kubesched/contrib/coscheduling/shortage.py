"""Whether the nodes together have what a group needs at least (CheckClusterResource)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from kubesched.contrib.coscheduling.pod_group import group_name
from kubesched.framework import Integers, NodeView, PodTemplate, Quantity

CPU: Final = "cpu"
PODS: Final = "pods"


def shortage(nodes: NodeView, namespace: str, group: str, needed: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """What is missing; empty if nothing is. What pods of the group have already does not count as taken.

    Nodes are gone through until there is enough: one that is overcommitted takes from what those before it have.
    """

    def share(resource: str) -> Callable[[PodTemplate], int]:
        def of_group(pod: PodTemplate) -> int:
            if pod.namespace != namespace or group_name(pod.labels) != group:
                return 0
            return 1 if resource == PODS else pod.requests.get(resource, 0)

        return of_group

    missing: dict[str, Quantity] = {}
    exists = nodes.exists
    for resource, amount in needed.items():
        own = nodes.count(("Coscheduling", namespace, group, resource), share(resource))
        so_far = np.cumsum(np.where(exists, _free(nodes, resource) + nodes.pods_on_node(own), 0))
        nanos_per_unit = _amount(resource, 1).nanos
        enough = -(-amount.nanos // nanos_per_unit)
        if not len(so_far) or so_far.max() < enough:
            missing[resource] = amount - _amount(resource, int(so_far[-1]) if len(so_far) else 0)
    return missing


def _free(nodes: NodeView, resource: str) -> Integers:
    if resource == PODS:
        return nodes.allowed_pods - nodes.pod_count
    return nodes.allocatable(resource) - nodes.requested(resource)


def _amount(resource: str, units: int) -> Quantity:
    """CPU is counted in thousandths."""
    return Quantity.of_milli(units) if resource == CPU else Quantity.of(units)


def as_go_prints_it(missing: Mapping[str, Quantity]) -> str:
    """A Go map of quantities with `%v`: users find this text in events, and search for it."""
    return f"map[{' '.join(f'{name}:{_quantity(missing[name])}' for name in sorted(missing))}]"


def _quantity(quantity: Quantity) -> str:
    scale = quantity.scale
    if scale is None:
        return f"{{{{0 0}} {{{quantity}}}  {quantity.number_format}}}"
    return f"{{{{{quantity.nanos // 10 ** (scale + 9)} {scale}}} {{<nil>}}  {quantity.number_format}}}"
