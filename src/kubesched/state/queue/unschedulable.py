"""Pods that wait for something to happen: rejected ones, and gated ones that may not even be tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kubesched.columns import PodTemplate
from kubesched.framework import QueuedPod

Rejector = tuple[str, str]
"""(scheduler name, plugin): the same plugin may be set up differently in each profile."""


class Rejection(NamedTuple):
    """Who rejected a pod, and what the pod is like. An event means the same to all pods that agree in this."""

    template: PodTemplate
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str

    @classmethod
    def of(cls, queued: QueuedPod) -> Rejection:
        return cls(
            queued.info.template,
            frozenset(queued.unschedulable_plugins),
            frozenset(queued.pending_plugins),
            queued.gating_plugin,
        )

    @property
    def profile(self) -> str:
        return self.template.spec.scheduler_name

    @property
    def plugins(self) -> frozenset[str]:
        return self.unschedulable_plugins | self.pending_plugins


class Cohort:
    """The waiting pods with equal rejections: an event is judged once for all of them, where hints allow it."""

    __slots__ = ("pods", "rejection")

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        self.pods: dict[str, QueuedPod] = {}


class UnschedulablePods:
    """Waiting pods by uid, and their cohorts by the plugins that rejected them.

    The index is of the moment a pod is added: whoever changes a pod's rejections or template adds it anew.
    """

    def __init__(self) -> None:
        self._cohort_of: dict[str, Cohort] = {}
        self._cohorts: dict[Rejection, Cohort] = {}
        self._rejected_by: dict[Rejector, dict[Rejection, Cohort]] = {}
        self._gated = 0

    def __len__(self) -> int:
        return len(self._cohort_of)

    def __contains__(self, uid: str) -> bool:
        return uid in self._cohort_of

    def __iter__(self) -> Iterator[QueuedPod]:
        return (cohort.pods[uid] for uid, cohort in self._cohort_of.items())

    @property
    def gated_count(self) -> int:
        return self._gated

    def get(self, uid: str) -> QueuedPod | None:
        cohort = self._cohort_of.get(uid)
        return cohort.pods[uid] if cohort is not None else None

    def add(self, queued: QueuedPod) -> None:
        """Add a pod, or file one that is here already under what it is now."""
        uid = queued.uid
        self.remove(uid)
        rejection = Rejection.of(queued)
        cohort = self._cohorts.get(rejection) or self._open(rejection)
        cohort.pods[uid] = queued
        self._cohort_of[uid] = cohort
        self._gated += bool(rejection.gating_plugin)

    def remove(self, uid: str) -> QueuedPod | None:
        """Take a pod out; None if it is not here."""
        cohort = self._cohort_of.pop(uid, None)
        if cohort is None:
            return None
        queued = cohort.pods.pop(uid)
        self._gated -= bool(cohort.rejection.gating_plugin)
        if not cohort.pods:
            self._close(cohort)
        return queued

    def cohorts(self) -> list[Cohort]:
        return list(self._cohorts.values())

    def rejected_by(self, rejectors: Iterable[Rejector]) -> list[Cohort]:
        """The cohorts that one or more of the plugins rejected, each once."""
        found: dict[Rejection, Cohort] = {}
        if self._rejected_by:
            for rejector in rejectors:
                found.update(self._rejected_by.get(rejector, {}))
        return list(found.values())

    def _open(self, rejection: Rejection) -> Cohort:
        cohort = self._cohorts[rejection] = Cohort(rejection)
        for plugin in rejection.plugins:
            self._rejected_by.setdefault((rejection.profile, plugin), {})[rejection] = cohort
        return cohort

    def _close(self, cohort: Cohort) -> None:
        rejection = cohort.rejection
        del self._cohorts[rejection]
        for plugin in rejection.plugins:
            rejector = (rejection.profile, plugin)
            del self._rejected_by[rejector][rejection]
            if not self._rejected_by[rejector]:
                del self._rejected_by[rejector]
