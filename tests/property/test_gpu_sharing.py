"""Kept answers of the plugins for shared GPUs equal answers from scratch, whatever happened before.

A long-lived `Evaluator` lives through random events: pods that are placed as the scheduler does it, that come from
elsewhere with any annotation, that change, and that go; nodes that come, change and go. Beside it stands a plain list
of what exists; a new plugin over a new cluster is asked about every node, and both must agree.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kubesched.contrib.gpu_sharing import (
    DEVICES,
    FGD,
    MODEL,
    RESOURCE,
    BestFit,
    DotProduct,
    GPUClustering,
    GPUPacking,
    GPUSharing,
)
from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import WhatIf
from kubesched.scheduler.engine import Evaluator, ProfilePlugins
from kubesched.scheduler.framework import CycleState, ScorePlugin
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

NODES = tuple(f"n{k}" for k in range(5))
SIZES = (0, 300, 500, 1000, 2000)
WORKLOAD = [
    {"count": 3, "cpuMilli": 1000, "gpuMilli": 500},
    {"count": 2, "cpuMilli": 2000, "gpuMilli": 2000, "models": ["T4"]},
    {"count": 1, "cpuMilli": 4000},
]


class KeptGPUs(RuleBasedStateMachine):
    """One policy after the other; the base plugin has no scores."""

    policy: type[GPUSharing] = GPUSharing

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.handle = FakeHandle()
        self.plugin = self.policy({"workload": WORKLOAD}, self.handle)
        scores = [(self.plugin, 1)] if isinstance(self.plugin, ScorePlugin) else []
        profile = ProfilePlugins(pre_filters=[], filters=[self.plugin], pre_scores=[], scores=scores)
        self.evaluator = Evaluator(profile, self.handle.cluster, self.handle.nominator, Random(7))
        self.serial = 0

    def new_name(self) -> str:
        self.serial += 1
        return f"p{self.serial}"

    @rule(name=st.sampled_from(NODES), gpus=st.sampled_from((0, 1, 2, 4)), model=st.sampled_from(("", "T4", "A10")))
    def set_node(self, name: str, gpus: int, model: str) -> None:
        labels = {MODEL: model} if model else {}
        node = make_node(name, cpu="16", resources={RESOURCE: gpus * 1000} if gpus else {}, labels=labels)
        self.nodes[name] = node
        self.handle.cluster.set_node(node)

    @rule(name=st.sampled_from(NODES))
    def remove_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.handle.cluster.remove_node(name)

    @rule(
        node=st.sampled_from(NODES),
        size=st.sampled_from(SIZES),
        devices=st.sampled_from(("", "0", "1", "0-1", "3", "no")),
        cpu=st.sampled_from(("1", "3")),
    )
    def a_pod_from_elsewhere(self, node: str, size: int, devices: str, cpu: str) -> None:
        pod = placed(self.new_name(), size, cpu, node, devices)
        self.pods[pod.metadata.uid] = pod
        self.handle.cluster.place(self.handle.cluster.templates.info(pod), node)

    @rule(data=st.data(), devices=st.sampled_from(("", "0", "1", "1-2")))
    def another_annotation(self, data: st.DataObject, devices: str) -> None:
        if self.pods:
            old = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
            size, cpu = old.metadata.labels["size"], old.metadata.labels["cpu"]
            new = placed(old.metadata.name, int(size), cpu, old.spec.node_name, devices)
            self.pods[new.metadata.uid] = new
            self.handle.cluster.replace(self.handle.cluster.templates.info(new))

    @rule(data=st.data())
    def a_pod_goes(self, data: st.DataObject) -> None:
        if self.pods:
            uid = data.draw(st.sampled_from(sorted(self.pods)))
            del self.pods[uid]
            self.handle.cluster.displace(uid)

    @rule(size=st.sampled_from(SIZES), count=st.integers(1, 4))
    def schedule(self, size: int, count: int) -> None:
        for _ in range(count):
            pod = pending(self.new_name(), size, "1")
            info = self.handle.cluster.templates.info(pod)
            fit = self.evaluator.filter(info)
            if fit.count:
                node = self.evaluator.rank(fit).first_best()
                assumed = self.plugin.assumed_pod(CycleState(info), pod, node)
                bound = placed(pod.metadata.name, size, "1", node, assumed.metadata.annotations.get(DEVICES, ""))
                assert bool(size) == bool(bound.metadata.annotations), "every pod that fits gets its GPUs"
                self.pods[bound.metadata.uid] = bound
                self.handle.cluster.place(self.handle.cluster.templates.info(assumed), node)

    @invariant()
    def equals_answers_from_scratch(self) -> None:
        fresh = FakeHandle().load(*self.nodes.values(), *self.pods.values())
        plugin = self.policy({"workload": WORKLOAD}, fresh)
        for size in SIZES if self.serial % 3 == 0 else SIZES[self.serial % len(SIZES) :][:1]:
            pod = pending("asked", size, "2")
            answer = ask(plugin, pod, fresh.cluster)
            assert self._kept(pod) == (
                {name: status for name, status in answer.statuses.items() if not status.is_success},
                answer.scores if isinstance(plugin, ScorePlugin) else None,
            )

    def _kept(self, pod: Pod) -> tuple[dict[str, Any], dict[str, int] | None]:
        fit = self.evaluator.filter(self.handle.cluster.templates.info(pod))
        scores: dict[str, int] | None = {} if isinstance(self.plugin, ScorePlugin) else None
        if fit.count and scores is not None:
            names = self.handle.cluster.nodes.names
            for row, total in zip(*self.evaluator.rank(fit).totals(), strict=True):
                scores[names[row]] = int(total)
        return dict(fit.diagnosis().statuses), scores

    @invariant()
    def a_hypothesis_equals_the_fact(self) -> None:
        """Without its pods, a node is as if it had none: preemption asks like that."""
        cluster = self.handle.cluster
        name = NODES[self.serial % len(NODES)]
        if name not in self.nodes:
            return
        row = cluster.nodes.row_of[name]
        rows = np.array([k for k, info in enumerate(cluster.pods.infos) if info and cluster.pods.node_row[k] == row])
        if len(rows):
            view = cluster.view(np.array([row]))
            empty = view.supposing(WhatIf.removed(cluster.pods, rows, np.zeros(len(rows), np.intp)))
            assert self.plugin.devices.view(empty)[0].sum() == 1000 * self.plugin.devices.count[row]


def pending(name: str, size: int, cpu: str) -> Pod:
    return make_pod(name, cpu=cpu, requests={RESOURCE: size} if size else {}, labels={"size": str(size), "cpu": cpu})


def placed(name: str, size: int, cpu: str, node: str, devices: str) -> Pod:
    return make_pod(
        name,
        cpu=cpu,
        requests={RESOURCE: size} if size else {},
        labels={"size": str(size), "cpu": cpu},
        annotations={DEVICES: devices} if devices else {},
        node=node,
    )


def machine(of: type[GPUSharing], examples: int) -> Any:
    kind: Any = type(f"Kept{of.__name__}", (KeptGPUs,), {"policy": of})
    case = kind.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=25, deadline=None, derandomize=True)
    return case


TestGPUSharing = machine(GPUSharing, 10)
TestDotProduct = machine(DotProduct, 5)
TestBestFit = machine(BestFit, 5)
TestGPUClustering = machine(GPUClustering, 10)
TestGPUPacking = machine(GPUPacking, 10)
TestFGD = machine(FGD, 10)
