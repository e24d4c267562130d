"""HTTP extenders in the scheduling cycle: they filter and score after the plugins."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from kubesched.errors import KubeschedError
from kubesched.objects import Node, Pod
from kubesched.scheduler.framework import MAX_SCORE, ApiWriter, Extender, Status
from kubesched.telemetry.logging import log

EXTENDER: Final = "Extender"
"""Stands among the plugins that rejected a pod when an extender did; any event wakes such a pod."""

_MAX_EXTENDER_SCORE: Final = 10


class ExtenderVerdict(Protocol):
    """Names of nodes that fit, and messages for those that do not (and that no eviction would help)."""

    @property
    def fitting(self) -> Sequence[str]: ...
    @property
    def failed(self) -> Mapping[str, str]: ...
    @property
    def failed_unresolvable(self) -> Mapping[str, str]: ...


class CyclingExtender(Extender, Protocol):
    """What the cycle asks of an extender, besides what plugins may ask."""

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderVerdict: ...
    async def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, int]:
        """Scores from 0 to 10 by node name."""
        ...

    async def bind(self, pod: Pod, node_name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ExtenderAnswer:
    """What extenders said about nodes, by name: while they are asked, a row may become another node's."""

    fitting: Collection[str]
    rejected: Mapping[str, Status]
    scores: Mapping[str, int]
    """Weighted, to be added to the plugins' totals."""


class ExtenderChain:
    """All extenders in the order of the configuration."""

    def __init__(self, extenders: Sequence[CyclingExtender] = ()) -> None:
        self._extenders = extenders
        self.is_empty = not extenders

    async def ask(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderAnswer:
        """The nodes that the extenders leave of these, and their scores if that is more than one."""
        left, rejected = await self._filter(pod, nodes)
        scores = await self._weighted_scores(pod, left) if len(left) > 1 else {}
        return ExtenderAnswer([node.metadata.name for node in left], rejected, scores)

    async def accept(self, pod: Pod, node: Node) -> bool:
        """Whether all of them take one node; a failure counts as no."""
        try:
            left, _ = await self._filter(pod, [node])
        except KubeschedError as error:
            log.info("Evaluation failed on nominated node", pod=pod.key, node=node.metadata.name, err=error)
            return False
        return bool(left)

    async def _filter(self, pod: Pod, nodes: Sequence[Node]) -> tuple[Sequence[Node], dict[str, Status]]:
        """Each one sees what those before it left; an ignorable one may fail."""
        rejected: dict[str, Status] = {}
        for extender in self._extenders:
            if not extender.is_filter or not extender.is_interested(pod) or not nodes:
                continue
            try:
                verdict = await extender.filter(pod, nodes)
            except KubeschedError as error:
                if not extender.is_ignorable:
                    raise
                log.info("Skipping extender that failed and is ignorable", extender=extender.name, err=error)
                continue
            fitting = frozenset(verdict.fitting)
            nodes = [node for node in nodes if node.metadata.name in fitting]
            rejected |= {name: Status.unschedulable(text) for name, text in verdict.failed.items()}
            rejected |= {name: Status.unresolvable(text) for name, text in verdict.failed_unresolvable.items()}
        return nodes, rejected

    async def _weighted_scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """The sum of all extenders' scores, scaled to the plugins' range and weighted; one that fails gives none."""
        asked = [e for e in self._extenders if e.is_prioritizer and e.is_interested(pod)]
        answers = await asyncio.gather(*(e.prioritize(pod, nodes) for e in asked), return_exceptions=True)
        scores: Counter[str] = Counter()
        for extender, answer in zip(asked, answers, strict=True):
            if isinstance(answer, BaseException):
                log.info("Extender gave no scores", v=5, extender=extender.name, err=answer)
                continue
            for name, score in answer.items():
                scores[name] += score * extender.weight * (MAX_SCORE // _MAX_EXTENDER_SCORE)
        return scores

    async def bind(self, pod: Pod, node_name: str, api: ApiWriter) -> Status | None:
        """The first interested binder binds, in its turn among our own writes; None if there is none."""
        for extender in self._extenders:
            if extender.is_binder and extender.is_interested(pod):
                try:
                    await api.bind_by(pod, partial(extender.bind, pod, node_name))
                except KubeschedError as error:
                    if extender.is_ignorable:
                        log.info("Skipping extender that failed and is ignorable", extender=extender.name, err=error)
                        continue
                    return Status.failed(error)
                return Status()
        return None
