"""Policies for shared GPUs, with the rules of the artefact of *Beware of Fragmentation* (USENIX ATC'23).

Each is GPUSharing with a score. FGD, which the paper proposes, has a module of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from kubesched.contrib.gpu_sharing.devices import RESOURCE, WHOLE, is_share, kind_of, requested
from kubesched.contrib.gpu_sharing.plugin import GPUSharing
from kubesched.framework import MAX_SCORE, CycleState, DependsOn, Handle, Integers, NodeView, PodTemplate, ScorePlugin

LARGEST_CPU: Final = 128_000
LARGEST_GPUS: Final = 8 * WHOLE
"""What the largest node has, in thousandths: sizes are compared as parts of that. Argument `largestNode`."""


class GPUPolicy(GPUSharing, ScorePlugin):
    """What the policies have in common."""

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        super().__init__(args, handle)
        largest = (args or {}).get("largestNode") or {}
        self._cpu = int(largest.get("cpuMilli", LARGEST_CPU))
        self._gpus = int(largest.get("gpuMilli", LARGEST_GPUS))
        if self._cpu <= 0 or self._gpus <= 0:
            raise ValueError("largestNode: cpuMilli and gpuMilli must be above zero")

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.NODE_AND_PODS


class Random(GPUPolicy):
    """Any node that fits, and any of its GPUs: each is equally likely."""

    name = "Random"

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.ANYTHING

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        scores = np.zeros(len(nodes), np.int64)
        there = np.flatnonzero(nodes.exists)
        if len(there):
            scores[there[self._draw(len(there))]] = MAX_SCORE
        return scores

    def choose(self, pod: PodTemplate, free: Sequence[int], node_name: str) -> tuple[int, ...]:
        thousandths = requested(pod)
        if not is_share(thousandths):
            return super().choose(pod, free, node_name)
        fitting = [device for device, left in enumerate(free) if left >= thousandths]
        return (fitting[self._draw(len(fitting))],) if fitting else ()

    def _draw(self, below: int) -> int:
        return int(self.handle.random.random() * below)


class DotProduct(GPUPolicy):
    """The smaller the product of what the pod asks for and what the node has left, the better (after Tetris)."""

    name = "DotProduct"

    def signature(self, pod: PodTemplate) -> Hashable:
        return requested(pod), pod.nonzero_cpu

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.NODE_RESOURCES

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        cpu, gpus = left_of(nodes)
        by_cpu = (cpu / self._cpu) * (pod.nonzero_cpu / self._cpu)
        by_gpus = (gpus / self._gpus) * (requested(pod) / self._gpus)
        return as_scores(MAX_SCORE * (1 - (by_cpu + by_gpus) / 2))


class BestFit(GPUPolicy):
    """The less the node has left after the pod, the better. CPU and GPUs count the same."""

    name = "BestFit"

    def signature(self, pod: PodTemplate) -> Hashable:
        return requested(pod), pod.nonzero_cpu

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.NODE_RESOURCES

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        cpu, gpus = left_of(nodes)
        rest = (cpu - pod.nonzero_cpu) / self._cpu * 0.5 + (gpus - requested(pod)) / self._gpus * 0.5
        return as_scores((1 - rest) * MAX_SCORE)


class GPUClustering(GPUPolicy):
    """Pods of a kind together: those with a share of a GPU, with one whole GPU, with two, and so on.

    Best are nodes with pods of the same kind only, then with others as well, then nodes without any, then nodes with
    pods of other kinds only; among equals, the one with the fewest thousandths left.
    """

    name = "GPUClustering"

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.NODE_AND_PODS if requested(pod) else DependsOn.NODE

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        thousandths = requested(pod)
        if not thousandths:
            return np.zeros(len(nodes), np.int64)
        free, kinds = self.devices.view(nodes)
        kind, quarter = kind_of(thousandths), MAX_SCORE // 4
        same = np.where(kinds == kind, 3, 2)
        group = np.where(kinds & kind != 0, same, np.where(kinds == 0, 1, 0))
        taken = np.maximum(self._gpus - free.sum(axis=1), 0)
        scores: Integers = quarter * taken // self._gpus + group * quarter
        return scores


class GPUPacking(GPUPolicy):
    """GPUs that are in use first, then free GPUs of nodes in use, then free nodes. The fuller, the better."""

    name = "GPUPacking"

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.NODE_AND_PODS if requested(pod) else DependsOn.NODE

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        thousandths = requested(pod)
        if not thousandths:
            return np.zeros(len(nodes), np.int64)
        free, _ = self.devices.view(nodes)
        each, count = min(thousandths, WHOLE), max(thousandths // WHOLE, 1)
        whole = (free == WHOLE).sum(axis=1)
        on_free_node = np.maximum(MAX_SCORE // 3 - whole, whole)
        # rows × GPUs to use: the fullest that have room
        used = np.sort(np.where(free >= each, free, 2 * WHOLE), axis=1)[:, :count]
        whole_used = (used == WHOLE).sum(axis=1)
        on_free_gpus = np.maximum(MAX_SCORE // 2 - whole_used, MAX_SCORE // 3)
        percent_left = (used * 100 // WHOLE).sum(axis=1)
        on_used_gpus = np.maximum(MAX_SCORE - percent_left // 10, MAX_SCORE // 2)
        scores = np.where(whole_used > 0, on_free_gpus, on_used_gpus)
        scores = np.where(whole == self.devices.count[nodes.rows], on_free_node, scores)
        return as_scores(scores)


def left_of(nodes: NodeView) -> tuple[Integers, Integers]:
    """Thousandths of CPUs and of GPUs that no pod has requested."""
    return (
        nodes.allocatable("cpu") - nodes.requested("cpu"),
        nodes.allocatable(RESOURCE) - nodes.requested(RESOURCE),
    )


def as_scores(values: Any) -> Integers:
    """Cut to integers, as Go does; nodes that are larger than the largest node stay within the limits, too."""
    scores: Integers = np.clip(values, 0, MAX_SCORE).astype(np.int64)
    return scores
