"""What would make a pod fit: changes of the pod that plugins propose, each tried with the engine that decides.

One change at a time; where none is enough, two. Nothing is said about nodes that are cordoned or not ready: their own
reasons say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from msgspec.structs import replace

from kubesched.errors import PluginError
from kubesched.objects import Pod
from kubesched.objects.pod_resources import from_units
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.engine import Evaluator
from kubesched.scheduler.framework import FilterPlugin, PodChange
from kubesched.telemetry.logging import log

MOST_TOGETHER: Final = 2


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes of the pod that are enough together, and the nodes that would take it then."""

    changes: tuple[str, ...]
    nodes: tuple[str, ...]
    pod: Pod | None = field(default=None, compare=False, repr=False)
    """The pod with these changes; what it asks for less of, it asks for as much of as there is."""


def remedies(cluster: ClusterTables, evaluator: Evaluator, filters: Iterable[FilterPlugin], pod: Pod) -> list[Remedy]:
    """For a pod that fits nowhere now; empty if no small change helps."""
    changes = _proposed(filters, pod)
    for size in range(1, MOST_TOGETHER + 1):
        found = [
            Remedy(
                tuple(_said(change, cluster, nodes) for change in chosen),
                nodes,
                _changed_pod(pod, chosen, cluster, nodes[0]),
            )
            for chosen in combinations(changes, size)
            if (nodes := _taken_by(cluster, evaluator, pod, chosen))
        ]
        if found:
            return found
    return []


def _proposed(filters: Iterable[FilterPlugin], pod: Pod) -> list[PodChange]:
    """Each change once, though several plugins may propose it (a volume); to ask for less comes first."""
    changes: dict[str, PodChange] = {}
    for plugin in filters:
        try:
            for change in plugin.pod_changes(pod):
                change.apply(pod.spec)  # to see that it can be made
                changes.setdefault(change.says, change)
        except Exception as error:  # the explanation stands without its proposals
            log.error("Plugin raised", error, plugin=plugin.name, point="pod_changes")
    return sorted(changes.values(), key=lambda change: not change.resource)


def _taken_by(cluster: ClusterTables, evaluator: Evaluator, pod: Pod, changes: Sequence[PodChange]) -> tuple[str, ...]:
    """The nodes for the changed pod; if it is to ask for less, those where it may ask for most."""
    spec = pod.spec
    for change in changes:
        spec = change.apply(spec)
    try:
        fit = evaluator.filter(cluster.templates.info(replace(pod, spec=spec)))
    except PluginError:  # a plugin that cannot decide about the changed pod has nothing to say for it
        return ()
    if not fit.count:
        return ()
    scarce = [change.resource for change in changes if change.resource]
    free = {name: [_free(cluster, name, resource) for resource in scarce] for name in fit.names()}
    most = max(free.values())
    return tuple(sorted(name for name in free if free[name] == most)) if all(most) else ()


def _changed_pod(pod: Pod, changes: Sequence[PodChange], cluster: ClusterTables, node_name: str) -> Pod:
    spec = pod.spec
    for change in changes:
        spec = change.apply(spec)
        if change.resource and spec.containers:
            first, *others = spec.containers
            free = from_units(change.resource, _free(cluster, node_name, change.resource))
            requests = {**first.resources.requests, change.resource: free}
            first = replace(first, resources=replace(first.resources, requests=requests))
            spec = replace(spec, containers=(first, *others))
    return replace(pod, spec=spec)


def _said(change: PodChange, cluster: ClusterTables, nodes: Sequence[str]) -> str:
    if not change.resource:
        return change.says
    return change.says.format(free=from_units(change.resource, _free(cluster, nodes[0], change.resource)))


def _free(cluster: ClusterTables, node_name: str, resource: str) -> int:
    """What is left of a resource on a node; less than nothing counts as nothing."""
    table = cluster.nodes
    row, column = table.row_of[node_name], table.resource_id(resource)
    return max(0, int(table.allocatable[column][row]) - int(table.requested[column][row]))
