"""Pods that wait for something to happen: rejected ones, and gated ones that may not even be tried.

UnschedulablePods   all of them
  Docket            those with equal rejections: an event is put to the same plugins for all of them
    Cohort          of these, those with equal templates: the answer is the same, too, where hints allow it
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Final, NamedTuple

from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import QueuedPod, Tags

Rejector = tuple[str, str]
"""(scheduler name, plugin): the same plugin may be set up differently in each profile."""

_ALL_TAGS: Final = object()
"""Those who have every tag are filed under this one."""


class Rejection(NamedTuple):
    """Who rejected a pod."""

    profile: str
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str

    @classmethod
    def of(cls, queued: QueuedPod) -> Rejection:
        return cls(
            queued.info.template.spec.scheduler_name,
            frozenset(queued.unschedulable_plugins),
            frozenset(queued.pending_plugins),
            queued.gating_plugin,
        )

    @property
    def plugins(self) -> frozenset[str]:
        return self.unschedulable_plugins | self.pending_plugins


class Cohort:
    """Waiting pods with equal rejections and equal templates, by uid."""

    __slots__ = ("docket", "pods", "template")

    def __init__(self, docket: Docket, template: PodTemplate) -> None:
        self.docket = docket
        self.template = template
        self.pods: dict[str, QueuedPod] = {}


Cohorts = dict[PodTemplate, Cohort]


class Docket:
    """The cohorts with equal rejections, by template, and filed under the tags that hints go by."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        self.plugins = rejection.plugins
        self.cohorts: Cohorts = {}
        self._filed: dict[Tags, dict[Hashable, Cohorts]] = {}

    def open(self, template: PodTemplate) -> Cohort:
        cohort = self.cohorts[template] = Cohort(self, template)
        for tags, filed in self._filed.items():
            _file(cohort, tags, filed)
        return cohort

    def close(self, cohort: Cohort) -> None:
        template = cohort.template
        del self.cohorts[template]
        for tags, filed in self._filed.items():
            for tag in _tags_of(template, tags):
                del filed[tag][template]
                if not filed[tag]:
                    del filed[tag]

    def tagged(self, tags: Tags, wanted: Collection[Hashable]) -> Cohorts:
        """The cohorts that have at least one of the wanted tags."""
        filed = self._filed.get(tags)
        if filed is None:
            filed = self._filed[tags] = {}
            for cohort in self.cohorts.values():
                _file(cohort, tags, filed)
        found: Cohorts = {}
        for tag in (_ALL_TAGS, *wanted):
            found |= filed.get(tag, {})
        return found


def _file(cohort: Cohort, tags: Tags, filed: dict[Hashable, Cohorts]) -> None:
    for tag in _tags_of(cohort.template, tags):
        filed.setdefault(tag, {})[cohort.template] = cohort


def _tags_of(template: PodTemplate, tags: Tags) -> Iterable[Hashable]:
    try:
        own = tags.of_pod(template)
    except Exception:
        own = None
    return (_ALL_TAGS,) if own is None else dict.fromkeys(own)


class UnschedulablePods:
    """Waiting pods by uid, and in dockets by the plugins that rejected them.

    The index is of the moment a pod is added: whoever changes a pod's rejections or template adds it anew.
    """

    def __init__(self) -> None:
        self._cohort_of: dict[str, Cohort] = {}
        self._dockets: dict[Rejection, Docket] = {}
        self._rejected_by: dict[Rejector, dict[Rejection, Docket]] = {}
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
        uid, template = queued.uid, queued.info.template
        rejection = Rejection.of(queued)
        current = self._cohort_of.get(uid)
        if current is not None:
            if current.template is template and current.docket.rejection == rejection:
                current.pods[uid] = queued
                return
            self.remove(uid)
        docket = self._dockets.get(rejection) or self._open(rejection)
        cohort = docket.cohorts.get(template) or docket.open(template)
        cohort.pods[uid] = queued
        self._cohort_of[uid] = cohort
        self._gated += bool(rejection.gating_plugin)

    def remove(self, uid: str) -> QueuedPod | None:
        """Take a pod out; None if it is not here."""
        cohort = self._cohort_of.pop(uid, None)
        if cohort is None:
            return None
        queued = cohort.pods.pop(uid)
        docket = cohort.docket
        self._gated -= bool(docket.rejection.gating_plugin)
        if not cohort.pods:
            docket.close(cohort)
            if not docket.cohorts:
                self._close(docket)
        return queued

    def dockets(self) -> list[Docket]:
        return list(self._dockets.values())

    def rejected_by(self, rejectors: Iterable[Rejector]) -> list[Docket]:
        """The dockets of pods that one or more of the plugins rejected, each once."""
        if not self._rejected_by:
            return []
        found: dict[Rejection, Docket] = {}
        for rejector in rejectors:
            found.update(self._rejected_by.get(rejector, {}))
        return list(found.values())

    def _open(self, rejection: Rejection) -> Docket:
        docket = self._dockets[rejection] = Docket(rejection)
        for plugin in docket.plugins:
            self._rejected_by.setdefault((rejection.profile, plugin), {})[rejection] = docket
        return docket

    def _close(self, docket: Docket) -> None:
        rejection = docket.rejection
        del self._dockets[rejection]
        for plugin in docket.plugins:
            rejector = (rejection.profile, plugin)
            del self._rejected_by[rejector][rejection]
            if not self._rejected_by[rejector]:
                del self._rejected_by[rejector]
