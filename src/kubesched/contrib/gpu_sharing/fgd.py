"""FGD, fragmentation gradient descent: place a pod where the fragmentation of GPUs grows least."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from kubesched.contrib.gpu_sharing.devices import WHOLE, best_fit, is_share, requested
from kubesched.contrib.gpu_sharing.fragmentation import Workload
from kubesched.contrib.gpu_sharing.policies import GPUPolicy
from kubesched.framework import MAX_SCORE, Booleans, CycleState, Floats, Handle, Integers, NodeView, PodTemplate

MOST_STATES: Final = 1 << 20
"""Whose fragmentation is remembered; then it is forgotten."""


class FGD(GPUPolicy):
    """The less the fragmentation for the expected workload grows by the pod, the better.

    `workload` (required) are the pods that are expected: a list of `{count, cpuMilli, gpuMilli, models}`. Looked at are
    the most frequent shapes that make up `popularity` percent (95).
    """

    name = "FGD"

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self.workload = Workload.of_args((args or {}).get("workload"), float((args or {}).get("popularity", 95)))
        self._known: dict[bytes, float] = {}
        """Fragmentation by state: CPU, model and GPUs as bytes."""

    def signature(self, pod: PodTemplate) -> Hashable:
        return requested(pod), pod.nonzero_cpu

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        free, _ = self.devices.view(nodes)
        cpu = nodes.allocatable("cpu") - nodes.requested("cpu")
        scores, _ = self._scores(pod, cpu, free, self.devices.model[nodes.rows])
        return scores

    def choose(self, pod: PodTemplate, free: Sequence[int], node_name: str) -> tuple[int, ...]:
        """The first of the GPUs with which the node has its score."""
        if not is_share(requested(pod)):
            return best_fit(free, requested(pod))
        row = self.handle.cluster.nodes.row_of[node_name]
        node = self.handle.cluster.view(np.array([row]))
        cpu = node.allocatable("cpu") - node.requested("cpu")
        scores, devices = self._scores(pod, cpu, np.array([free]), self.devices.model[[row]])
        return (int(devices[0]),) if scores[0] >= 0 and max(free) >= requested(pod) else ()

    def _scores(self, pod: PodTemplate, cpu: Integers, free: Integers, model: Integers) -> tuple[Integers, Integers]:
        """Per node: its score, and the GPU with which a share has it. Nodes without room have any score."""
        thousandths, rest = requested(pod), cpu - pod.nonzero_cpu
        if not is_share(thousandths):
            is_whole = free == WHOLE
            taken = is_whole & (np.cumsum(is_whole, axis=1) <= thousandths // WHOLE)
            before, after = self._before_and_after(cpu, free, model, rest, np.where(taken, 0, free), model)
            return descent(before - after), np.zeros(len(cpu), np.int64)
        rows, gpus = np.nonzero((free >= thousandths) & is_first_of_its_kind(free))
        left = free[rows]
        left[np.arange(len(rows)), gpus] -= thousandths
        by_gpu = np.full(free.shape, -1, np.int64)
        before, after = self._before_and_after(cpu, free, model, rest[rows], left, model[rows])
        by_gpu[rows, gpus] = descent(before[rows] - after)
        return np.maximum(by_gpu.max(axis=1), 0), by_gpu.argmax(axis=1)

    def _before_and_after(self, *states: Integers) -> tuple[Floats, Floats]:
        """The fragmentation of two lists of states, each as CPU, GPUs and model; in one call, which is faster."""
        both = self._fragmented(*(np.concatenate((states[k], states[k + 3])) for k in range(3)))
        return both[: len(states[0])], both[len(states[0]) :]

    def _fragmented(self, cpu: Integers, free: Integers, model: Integers) -> Floats:
        """That of nodes in these states. Most are known: nodes are alike, and so are pods."""
        if len(self._known) > MOST_STATES:
            self._known.clear()
        known, states = self._known, np.empty((len(cpu), free.shape[1] + 2), np.int32)
        states[:, 0], states[:, 1], states[:, 2:] = cpu, model, np.sort(free, axis=1)  # the order does not matter
        text, width = states.tobytes(), states.itemsize * states.shape[1]
        keys = [text[start : start + width] for start in range(0, len(text), width)]
        new = {key: position for position, key in enumerate(keys) if key not in known}
        if new:
            at = list(new.values())
            names = self.devices.models
            amounts = self.workload.fragmented(cpu[at], free[at], [names[m] for m in model[at].tolist()])
            known.update(zip(new, amounts.tolist(), strict=True))
        return np.array([known[key] for key in keys])


def is_first_of_its_kind(free: Integers) -> Booleans:
    """rows × GPUs: whether no GPU before it has as much left. Those after it would give the same."""
    same = free[:, :, None] == free[:, None, :]
    first: Booleans = same.argmax(axis=2) == np.arange(free.shape[1])
    return first


def descent(less: Floats) -> Integers:
    """A score for so many thousandths of fragmentation less: 50 for none."""
    sigmoid = 1.0 / (1.0 + np.exp(-(less / 1000)))
    return np.asarray(sigmoid * MAX_SCORE).astype(np.int64)
