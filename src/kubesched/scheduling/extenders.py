"""HTTP extenders in the scheduling cycle: they filter and score after the plugins."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, Protocol

from kubesched.engine import Fit, Ranking
from kubesched.errors import KubeschedError
from kubesched.framework import MAX_SCORE, Extender, Status
from kubesched.objects import Node, Pod
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


class ExtenderChain:
    """All extenders in the order of the configuration."""

    def __init__(self, extenders: Sequence[CyclingExtender] = ()) -> None:
        self._extenders = extenders
        self.is_empty = not extenders

    async def filter(self, fit: Fit) -> None:
        """Each extender sees what the plugins and the extenders before it left; an ignorable one may fail."""
        pod = fit.pod.pod
        for extender in self._extenders:
            if not extender.is_filter or not extender.is_interested(pod) or not fit.count:
                continue
            try:
                verdict = await extender.filter(pod, fit.nodes())
            except KubeschedError as error:
                if not extender.is_ignorable:
                    raise
                log.info("Skipping extender that failed and is ignorable", extender=extender.name, err=error)
                continue
            hopeless = {name: Status.unresolvable(text) for name, text in verdict.failed_unresolvable.items()}
            failed = {name: Status.unschedulable(text) for name, text in verdict.failed.items()}
            fit.keep_only_named(verdict.fitting, failed | hopeless, by=EXTENDER)

    async def accept(self, fit: Fit, node_name: str) -> bool:
        """Whether the filtering extenders take one node; a failure counts as no."""
        if not self._extenders:
            return True
        pod = fit.pod.pod
        nodes = [node for node in fit.nodes() if node.metadata.name == node_name]
        for extender in self._extenders:
            if extender.is_filter and extender.is_interested(pod):
                try:
                    verdict = await extender.filter(pod, nodes)
                except KubeschedError:
                    if extender.is_ignorable:
                        continue
                    return False
                if node_name not in verdict.fitting:
                    return False
        return True

    async def best(self, fit: Fit, ranking: Ranking, random: Random) -> str:
        """One of the best nodes with the extenders' scores added, scaled to the plugins' range and weighted.

        An extender that fails gives no points.
        """
        pod = fit.pod.pod
        asked = [e for e in self._extenders if e.is_prioritizer and e.is_interested(pod)]
        if not asked:
            return ranking.best()
        totals = ranking.by_name()
        answers = await asyncio.gather(*(e.prioritize(pod, fit.nodes()) for e in asked), return_exceptions=True)
        for extender, answer in zip(asked, answers, strict=True):
            if isinstance(answer, BaseException):
                log.info("Extender gave no scores", v=5, extender=extender.name, err=answer)
                continue
            for name in totals.keys() & answer.keys():
                totals[name] += answer[name] * extender.weight * (MAX_SCORE // _MAX_EXTENDER_SCORE)
        highest = max(totals.values())
        return random.choice([name for name, total in totals.items() if total == highest])

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        """The first interested binder binds; None if there is none."""
        for extender in self._extenders:
            if extender.is_binder and extender.is_interested(pod):
                try:
                    await extender.bind(pod, node_name)
                except KubeschedError as error:
                    if extender.is_ignorable:
                        log.info("Skipping extender that failed and is ignorable", extender=extender.name, err=error)
                        continue
                    return Status.failed(error)
                return Status()
        return None
