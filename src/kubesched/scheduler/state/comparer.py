"""Does the scheduler's picture agree with what the API server sent? For `SIGUSR2` and for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubesched.objects import Node, Pod
from kubesched.scheduler.state.cache import Cache


@dataclass(frozen=True, slots=True)
class Comparison:
    """Missed: informers know it, the cache does not. Redundant: the other way round. Nodes by name, pods by uid."""

    missed_nodes: tuple[str, ...]
    redundant_nodes: tuple[str, ...]
    missed_pods: tuple[str, ...]
    redundant_pods: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not (self.missed_nodes or self.redundant_nodes or self.missed_pods or self.redundant_pods)


def compare(cache: Cache, pending: Iterable[Pod], nodes: Iterable[Node], pods: Iterable[Pod]) -> Comparison:
    """`nodes` and `pods` are the informers'; `pending` are the pods in the scheduling queue."""
    real_nodes = {node.metadata.name for node in nodes}
    known_nodes = {node.metadata.name for _, node in cache.cluster.nodes.existing()}
    real_pods = {pod.metadata.uid for pod in pods}
    known_pods = {state.info.uid for state in cache.pods()} | {pod.metadata.uid for pod in pending}
    return Comparison(
        tuple(sorted(real_nodes - known_nodes)),
        tuple(sorted(known_nodes - real_nodes)),
        tuple(sorted(real_pods - known_pods)),
        tuple(sorted(known_pods - real_pods)),
    )
