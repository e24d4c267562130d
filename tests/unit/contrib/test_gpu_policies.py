"""The policies for shared GPUs, each against a plain formulation of its rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random as Chance
from typing import Any

import numpy as np
import pytest

from kubesched.contrib.gpu_sharing import (
    CLASSES,
    DEVICES,
    FGD,
    MODEL,
    RESOURCE,
    BestFit,
    DotProduct,
    GPUClustering,
    GPUPacking,
    PodShape,
    Random,
    Workload,
    gpu_models,
)
from kubesched.contrib.gpu_sharing.fragmentation import shapes_of
from kubesched.framework import ScorePlugin
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

EXPECTED: list[dict[str, Any]] = [
    {"count": 40, "cpuMilli": 4000, "gpuMilli": 500},
    {"count": 30, "cpuMilli": 8000, "gpuMilli": 1000},
    {"count": 15, "cpuMilli": 2000},
    {"count": 10, "cpuMilli": 32000, "gpuMilli": 4000, "models": ["A10", "T4"]},
    {"count": 4, "cpuMilli": 1000, "gpuMilli": 250, "models": ["T4"]},
    {"count": 1, "cpuMilli": 9000, "gpuMilli": 900},
]


@dataclass(frozen=True)
class OneNode:
    """A node as the rules are about it."""

    cpu: int  # left, in thousandths
    gpus: Sequence[int]  # left, in thousandths
    model: str
    kinds: Sequence[int]  # by pod with GPUs: 0 for a share, else how many

    @property
    def left(self) -> int:
        return sum(self.gpus)


def dot_product(node: OneNode, cpu: int, gpu: int) -> int:
    return int(100 * (1 - (node.cpu / 128000 * (cpu / 128000) + node.left / 8000 * (gpu / 8000)) / 2))


def best_fit(node: OneNode, cpu: int, gpu: int) -> int:
    return int((1 - ((node.cpu - cpu) / 128000 * 0.5 + (node.left - gpu) / 8000 * 0.5)) * 100)


def clustering(node: OneNode, cpu: int, gpu: int) -> int:
    if gpu == 0:
        return 0
    fill, kind = 25 * (8000 - node.left) // 8000, gpu // 1000
    if kind in node.kinds:
        return fill + (75 if set(node.kinds) == {kind} else 50)
    return fill if node.kinds else fill + 25


def packing(node: OneNode, cpu: int, gpu: int) -> int:
    if gpu == 0:
        return 0
    free = sum(left == 1000 for left in node.gpus)
    if free == len(node.gpus):
        return max(33 - free, free)
    fullest = [left for left in sorted(node.gpus) if left >= min(gpu, 1000)]
    used = fullest[: max(1, gpu // 1000)]
    if 1000 in used:
        return max(50 - used.count(1000), 33)
    return max(100 - sum(left * 100 // 1000 for left in used) // 10, 50)


def unusable(cpu: int, gpus: Sequence[int], model: str) -> float:
    """The fragmentation of a node: what is left and of no use, averaged over the pods that are expected."""
    popular = EXPECTED[:4]  # 95 of 100
    total = 0.0
    for pod in popular:
        wanted = pod.get("gpuMilli", 0)
        each = min(wanted, 1000)
        room = [left for left in gpus if left >= each]
        fits = wanted > 0 and len(room) >= max(1, wanted // 1000) and cpu >= pod["cpuMilli"]
        fits = fits and model in pod.get("models", [model])
        lost = sum(gpus) - sum(room) if fits else sum(gpus)
        total += pod["count"] / 95 * lost
    return total


def after(gpus: Sequence[int], gpu: int, device: int | None) -> list[int]:
    """What is left once a pod has got its GPUs: a share of this one, or the first free ones."""
    left = list(gpus)
    if device is not None:
        left[device] -= gpu
        return left
    for chosen in [k for k, one in enumerate(gpus) if one == 1000][: gpu // 1000]:
        left[chosen] = 0
    return left


def by_device(node: OneNode, cpu: int, gpu: int) -> dict[int | None, int]:
    """FGD's score of a node for each GPU that the pod may get."""
    is_share = 0 < gpu < 1000
    devices: list[int | None] = [k for k, one in enumerate(node.gpus) if one >= gpu] if is_share else [None]
    before = unusable(node.cpu, node.gpus, node.model)
    less = {k: before - unusable(node.cpu - cpu, after(node.gpus, gpu, k), node.model) for k in devices}
    return {k: int(100 / (1 + math.exp(-round(one, 6) / 1000))) for k, one in less.items()}


def fgd(node: OneNode, cpu: int, gpu: int) -> int:
    return max(by_device(node, cpu, gpu).values())


def random_cluster(chance: Chance) -> tuple[FakeHandle, dict[str, OneNode]]:
    """Nodes of several sizes with pods on some of their GPUs."""
    handle, plain = FakeHandle(random=chance), {}
    for number in range(12):
        name, count, model = f"n{number}", chance.choice((1, 2, 4, 8)), chance.choice(("T4", "A10", "V100"))
        handle.load(make_node(name, cpu="96", memory="1Ti", resources={RESOURCE: count * 1000}, labels={MODEL: model}))
        free, kinds, cpu = [1000] * count, [], 96000
        for device in range(count):
            thousandths = chance.choice((0, 0, 250, 500, 900, 1000))
            if thousandths:
                pod = make_pod(
                    f"{name}-{device}",
                    cpu="3",
                    requests={RESOURCE: thousandths},
                    annotations={DEVICES: str(device)},
                    node=name,
                )
                handle.load(pod)
                free[device] -= thousandths
                kinds.append(thousandths // 1000)
                cpu -= 3000
        plain[name] = OneNode(cpu, free, model, kinds)
    return handle, plain


PODS = [(6000, 0), (4000, 300), (2000, 500), (12000, 1000), (30000, 2000), (64000, 8000)]


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        pytest.param(DotProduct, dot_product, id="DotProduct"),
        pytest.param(BestFit, best_fit, id="BestFit"),
        pytest.param(GPUClustering, clustering, id="GPUClustering"),
        pytest.param(GPUPacking, packing, id="GPUPacking"),
        pytest.param(FGD, fgd, id="FGD"),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_scores_follow_the_rule(
    policy: Callable[..., ScorePlugin], rule: Callable[[OneNode, int, int], int], seed: int
) -> None:
    """On every node that has room."""
    handle, plain = random_cluster(Chance(seed))
    plugin = policy({"workload": EXPECTED}, handle)
    for cpu, gpu in PODS:
        pod = make_pod("p", cpu=f"{cpu}m", requests={RESOURCE: gpu} if gpu else {})
        scores = ask(plugin, pod, handle.cluster).scores
        assert scores is not None
        assert scores == {name: rule(plain[name], cpu, gpu) for name in scores}
        room = [name for name, node in plain.items() if gpu == 0 or has_room(node, gpu)]
        assert sorted(scores) == sorted(room)


def has_room(node: OneNode, gpu: int) -> bool:
    return max(node.gpus) >= gpu if gpu < 1000 else sum(left == 1000 for left in node.gpus) >= gpu // 1000


@pytest.mark.parametrize("seed", range(4))
def test_fgd_takes_the_gpu_that_its_score_is_about(seed: int) -> None:
    """The first one, if several are as good."""
    handle, plain = random_cluster(Chance(seed))
    plugin = FGD({"workload": EXPECTED}, handle)
    template = handle.cluster.templates.info(make_pod("p", cpu="4", requests={RESOURCE: 300})).template
    for name, node in plain.items():
        scores = by_device(node, 4000, 300)
        chosen = plugin.choose(template, plugin.devices.at(name), name)
        assert chosen == ((max(scores, key=lambda k: scores[k]),) if scores else ())


def test_random_is_fair_to_nodes_and_gpus() -> None:
    """Of nodes that fit one gets the 100; of GPUs with room, any."""
    handle = FakeHandle(random=Chance(1))
    handle.load(*(make_node(f"n{k}", resources={RESOURCE: 2000}) for k in range(4)))
    plugin = Random(None, handle)
    pod = make_pod("p", requests={RESOURCE: 300})
    template = handle.cluster.templates.info(pod).template
    best: dict[str, int] = dict.fromkeys([f"n{k}" for k in range(4)], 0)
    gpus = [0, 0, 0]
    for _ in range(400):
        scores = ask(plugin, pod, handle.cluster).scores
        assert scores is not None
        assert sorted(scores.values()) == [0, 0, 0, 100]
        best[max(scores, key=lambda name: scores[name])] += 1
        gpus[plugin.choose(template, [300, 200, 1000], "n0")[0]] += 1
    assert min(best.values()) > 60
    assert min(gpus[0], gpus[2]) > 150
    assert gpus[1] == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(None, "workload: expected a list", id="nothing"),
        pytest.param({"workload": "default"}, "workload: expected a list", id="a text"),
        pytest.param({"workload": []}, "workload: expected a list", id="no shapes"),
        pytest.param({"workload": [{"gpuMilli": 3}]}, r"workload\[0\]: KeyError\('cpuMilli'\)", id="no CPU"),
        pytest.param({"workload": [{"cpuMilli": -3}]}, r"workload\[0\]: a size or count below zero", id="below zero"),
        pytest.param({"workload": [{"cpuMilli": "x"}]}, r"workload\[0\]", id="no number"),
    ],
)
def test_fgd_says_what_is_wrong_with_its_arguments(args: Any, message: str) -> None:
    """In one line."""
    with pytest.raises(ValueError, match=message):
        FGD(args, FakeHandle())


def test_fragmentation_by_class() -> None:
    """One node for each reason."""
    workload = Workload.of_args(EXPECTED, popularity=100)
    assert [shape.cpu for shape in workload.shapes] == [4000, 8000, 2000, 32000, 1000, 9000]
    cpu, free = np.array([3000, 64000, 64000]), np.array([[400, 0], [1000, 1000], [1000, 400]])
    amounts = workload.by_class(cpu, free, ["V100", "T4", "T4"])
    assert amounts.sum(axis=1) == pytest.approx([400, 2000, 1400])
    named = dict(zip(CLASSES, np.round(amounts[0] / 400, 9).tolist(), strict=True))
    assert named["lacks both"] == 0.71  # shares of 500 and 900, and whole ones
    assert named["without GPU, satisfied"] == 0.15
    assert named["no access"] == 0.14
    alone = dict(zip(CLASSES, np.round(amounts[2], 6).tolist(), strict=True))
    assert alone["satisfied"] == pytest.approx(0.40 * 1000 + 0.30 * 1000 + 0.04 * 1400 + 0.01 * 1000)
    assert alone["lacks GPU"] == pytest.approx(0.40 * 400 + 0.30 * 400 + 0.10 * 1400 + 0.01 * 400)


def test_shapes_of_pods() -> None:
    """Models are read from node selector and affinity; a container without a request counts as 100m."""
    wants = {"key": MODEL, "operator": "In", "values": ["T4", "A10"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wants]}]}
    pods: list[Pod] = [
        make_pod("a"),
        make_pod("b", cpu="2", requests={RESOURCE: 300}, node_selector={MODEL: "T4"}),
        make_pod("c", cpu="2", requests={RESOURCE: 300}, node_selector={MODEL: "T4"}),
        make_pod(
            "d",
            cpu="2",
            requests={RESOURCE: 300},
            affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        ),
    ]
    expected = {PodShape(100, 0): 1, PodShape(2000, 300, ("T4",)): 2, PodShape(2000, 300, ("T4", "A10")): 1}
    assert shapes_of(pods) == expected
    assert gpu_models(pods[0]) == ()
