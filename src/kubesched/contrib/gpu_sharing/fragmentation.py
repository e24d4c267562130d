"""Fragmentation: how much of what nodes' GPUs have left is of no use to the pods that are expected.

After *Beware of Fragmentation* (USENIX ATC'23). A `Workload` says which pods are expected, and how often. For each
shape of them, what a node has left is in one class: all of it, if the pod does not fit; else the GPUs that are too full
for it are missed (`lacks GPU`), and the others are not (`satisfied`). The shapes are weighted by how often they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kubesched.contrib.gpu_sharing.devices import MODEL, WHOLE, is_share, requested
from kubesched.framework import ClusterTables, Floats, Integers, PodTemplate
from kubesched.objects import Pod

CLASSES: Final = (
    "lacks both",
    "lacks GPU",
    "satisfied",
    "lacks CPU",
    "without GPU, satisfied",
    "without GPU, lacks CPU",
    "no access",
)
"""Why a pod would not fit on a node, or that it would. Pods without GPUs leave GPUs unused, whether they fit or not."""
_BOTH, _GPU, _SATISFIED, _CPU, _PLAIN, _PLAIN_CPU, _NO_ACCESS = range(len(CLASSES))
_KINDS: Final = np.array(
    [_BOTH, _GPU, _CPU, _SATISFIED, *[_NO_ACCESS] * 4, _PLAIN_CPU, _PLAIN, _PLAIN_CPU, _PLAIN], np.int64
)
"""The class by 2 × whether there are GPUs + whether there is CPU: with access, without, and for pods without GPUs."""


class PodShape(NamedTuple):
    """What fragmentation reads of a pod. CPU is in thousandths, too; `models` are those that it accepts, or empty."""

    cpu: int
    thousandths: int
    models: tuple[str, ...] = ()

    @classmethod
    def of(cls, pod: PodTemplate) -> PodShape:
        """Without a request, CPU counts as kube-scheduler's scores count it: 100m for each container."""
        thousandths = requested(pod)
        return cls(pod.nonzero_cpu, thousandths, gpu_models(pod.exemplar) if thousandths else ())

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Decides between shapes that come equally often: CPU, part of each GPU, number of GPUs, models."""
        each = min(self.thousandths, WHOLE)
        return self.cpu, each, self.thousandths // each if each else 0, "|".join(self.models)


def gpu_models(pod: Pod) -> tuple[str, ...]:
    """The models that a pod accepts by node selector or by the first term of its required node affinity, or none."""
    if MODEL in pod.spec.node_selector:
        return (pod.spec.node_selector[MODEL],)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    wanted = [one for term in terms[:1] for one in term.match_expressions if one.key == MODEL and one.operator == "In"]
    return tuple(wanted[0].values) if wanted else ()


class Workload:
    """Shapes of pods with their frequencies, the most frequent first, cut off where they make up `popularity` percent.

    Sums are added up in the order of the paper's artefact, so that they are equal to the last bit.
    """

    def __init__(self, counts: Mapping[PodShape, int], popularity: float = 95) -> None:
        ranked = sorted(counts.items(), key=lambda item: (item[1], *item[0].rank), reverse=True)
        total = float(sum(counts.values()))
        covered, kept = 0.0, 0
        while covered < popularity * total / 100.0 and kept < len(ranked):
            covered += ranked[kept][1]
            kept += 1
        share = covered / total if kept < len(ranked) else 1.0
        self.shapes = tuple(shape for shape, _ in ranked[:kept])
        self.frequencies: Floats = np.array([count / total / share for _, count in ranked[:kept]])
        self._accesses: dict[str, Integers] = {}
        self._cpu: Integers = np.array([shape.cpu for shape in self.shapes], np.int64)
        each = [min(shape.thousandths, WHOLE) for shape in self.shapes]
        self._parts, self._part = np.unique(each, return_inverse=True)  # of a GPU, each once; and which one by shape
        self._count: Integers = np.array(
            [1 if is_share(shape.thousandths) else shape.thousandths // WHOLE for shape in self.shapes], np.int64
        )

    @classmethod
    def of(cls, pods: Iterable[Pod], popularity: float = 95) -> Workload:
        """That of these pods."""
        return cls(shapes_of(pods), popularity)

    @classmethod
    def of_args(cls, args: Any, popularity: float = 95) -> Workload:
        """From a plugin's arguments: a list of `{count, cpuMilli, gpuMilli, models}`. ValueError."""
        if not isinstance(args, Sequence) or isinstance(args, str) or not args:
            raise ValueError("workload: expected a list of {count, cpuMilli, gpuMilli, models}, one for each shape")
        counts: Counter[PodShape] = Counter()
        for number, entry in enumerate(args):
            try:
                shape = PodShape(int(entry["cpuMilli"]), int(entry.get("gpuMilli", 0)), tuple(entry.get("models", ())))
                counts[shape] += int(entry.get("count", 1))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(f"workload[{number}]: {error!r} in {entry!r}") from None
            if shape.cpu < 0 or shape.thousandths < 0 or counts[shape] <= 0:
                raise ValueError(f"workload[{number}]: a size or count below zero in {entry!r}")
        return cls(counts, popularity)

    def _access(self, model: str) -> Integers:
        """By shape: where its part of `_KINDS` begins on nodes with GPUs of a model."""
        if model not in self._accesses:
            accepted = [not shape.models or model in shape.models for shape in self.shapes]
            by_shape = [
                8 if not shape.thousandths else 0 if ok else 4 for shape, ok in zip(self.shapes, accepted, strict=True)
            ]
            self._accesses[model] = np.array(by_shape, np.int64)
        return self._accesses[model]

    def by_class(self, cpu: Integers, free: Integers, models: Sequence[str]) -> Floats:
        """states × CLASSES: thousandths of GPUs, for nodes with this CPU left, GPUs (states × GPUs) and model."""
        left = free.sum(axis=1)[:, None]
        fits = free[:, :, None] >= self._parts  # states × GPUs × parts
        usable = (free[:, :, None] * fits).sum(axis=1)[:, self._part]  # states × shapes, as all below
        has_gpus = fits.sum(axis=1)[:, self._part] >= self._count
        has_cpu = cpu[:, None] >= self._cpu
        kind = _KINDS[np.array([self._access(model) for model in models]) + 2 * has_gpus + has_cpu]
        is_satisfied = kind == _SATISFIED
        amounts = self.frequencies * np.where(is_satisfied, usable, left)
        missed = self.frequencies * np.where(is_satisfied, left - usable, 0)
        # `bincount` adds one after the other, in this order: for each shape what it could use, then what it misses.
        first = np.arange(len(cpu))[:, None] * len(CLASSES)
        into = np.stack((first + kind, np.broadcast_to(first + _GPU, kind.shape)), axis=2)
        amounts = np.stack((amounts, missed), axis=2)
        sums: Any = np.bincount(into.ravel(), amounts.ravel(), len(cpu) * len(CLASSES))
        by_class: Floats = sums.reshape(len(cpu), len(CLASSES))
        return by_class

    def fragmented(self, cpu: Integers, free: Integers, models: Sequence[str]) -> Floats:
        """Thousandths of GPUs that are of no use, for nodes in these states."""
        return fragmented(self.by_class(cpu, free, models))


def shapes_of(pods: Iterable[Pod]) -> Counter[PodShape]:
    """How often each shape occurs."""
    templates = ClusterTables().templates
    shapes: Counter[PodShape] = Counter()
    for template, count in Counter([templates.info(pod).template for pod in pods]).items():
        shapes[PodShape.of(template)] += count
    return shapes


def workload_args(pods: Iterable[Pod]) -> list[dict[str, Any]]:
    """The argument `workload` of FGD for pods like these."""
    return [
        {"count": count, "cpuMilli": shape.cpu, "gpuMilli": shape.thousandths, "models": list(shape.models)}
        for shape, count in shapes_of(pods).items()
    ]


def fragmented(by_class: Floats) -> Floats:
    """All classes but `satisfied`, added up in their order."""
    sums: Floats = np.zeros(len(by_class))
    for column in (_BOTH, _GPU, _CPU, _PLAIN, _PLAIN_CPU, _NO_ACCESS):
        sums = sums + by_class[:, column]
    return sums
