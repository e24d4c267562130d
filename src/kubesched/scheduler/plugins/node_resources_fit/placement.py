"""How full a placement would be with a group in it: the fuller, the better (scorePlacement)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubesched.config.plugin_args import ResourceSpec
from kubesched.objects.resource_names import CPU, MEMORY, is_scalar_resource
from kubesched.scheduler.columns import Integers, NodeView
from kubesched.scheduler.framework import MAX_SCORE


def placement_score(resources: Sequence[ResourceSpec], requests: Iterable[Mapping[str, int]], nodes: NodeView) -> int:
    """MostAllocated over the sums of all nodes, whatever the strategy for single nodes is.

    `requests` are those of the pods that would come, with what scores count for a container without any.
    """
    asked = dict.fromkeys((spec.name for spec in resources), 0)
    for of_pod in requests:
        for name in asked:
            asked[name] += of_pod.get(name, 0)
    total = weight = 0
    for spec in resources:
        if not asked[spec.name] and is_scalar_resource(spec.name):
            continue
        allocatable = nodes.allocatable(spec.name)
        has_some = nodes.exists & (allocatable != 0)  # of other nodes, what is taken does not count either
        capacity = int(allocatable[has_some].sum())
        if capacity:
            taken = asked[spec.name] + int(_taken(spec.name, nodes)[has_some].sum())
            total += min(taken, capacity) * MAX_SCORE // capacity * spec.weight
            weight += spec.weight
    return total // weight if weight else 0


def _taken(resource: str, nodes: NodeView) -> Integers:
    if resource == CPU:
        return nodes.nonzero_cpu
    return nodes.nonzero_memory if resource == MEMORY else nodes.requested(resource)
