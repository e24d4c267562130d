"""Pods that wait for something to happen: rejected ones, and gated ones that may not even be tried.

UnschedulablePods   all of them
  RejectedPods      those with equal rejections: for all of them the hints of the same plugins are asked
    EqualPods       of these, those with equal templates: the answer is the same, too, where hints allow it
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


class EqualPods:
    """Waiting pods with equal rejections and equal templates, by uid."""

    __slots__ = ("pods", "rejected", "template")

    def __init__(self, rejected: RejectedPods, template: PodTemplate) -> None:
        self.rejected = rejected
        self.template = template
        self.pods: dict[str, QueuedPod] = {}


ByTemplate = dict[PodTemplate, EqualPods]


class RejectedPods:
    """Waiting pods with equal rejections, by template, and indexed by the tags that hints go by."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        self.plugins = rejection.plugins
        self.by_template: ByTemplate = {}
        self._filed: dict[Tags, dict[Hashable, ByTemplate]] = {}

    def open(self, template: PodTemplate) -> EqualPods:
        equals = self.by_template[template] = EqualPods(self, template)
        for tags, filed in self._filed.items():
            _file(equals, tags, filed)
        return equals

    def close(self, equals: EqualPods) -> None:
        template = equals.template
        del self.by_template[template]
        for tags, filed in self._filed.items():
            for tag in _tags_of(template, tags):
                del filed[tag][template]
                if not filed[tag]:
                    del filed[tag]

    def tagged(self, tags: Tags, wanted: Collection[Hashable]) -> ByTemplate:
        """The pods whose templates have at least one of the wanted tags."""
        filed = self._filed.get(tags)
        if filed is None:
            filed = self._filed[tags] = {}
            for equals in self.by_template.values():
                _file(equals, tags, filed)
        found: ByTemplate = {}
        for tag in (_ALL_TAGS, *wanted):
            found |= filed.get(tag, {})
        return found


def _file(equals: EqualPods, tags: Tags, filed: dict[Hashable, ByTemplate]) -> None:
    for tag in _tags_of(equals.template, tags):
        filed.setdefault(tag, {})[equals.template] = equals


def _tags_of(template: PodTemplate, tags: Tags) -> Iterable[Hashable]:
    try:
        own = tags.of_pod(template)
    except Exception:
        own = None
    return (_ALL_TAGS,) if own is None else dict.fromkeys(own)


class UnschedulablePods:
    """Waiting pods by uid, and by the plugins that rejected them.

    A pod is indexed when it is added: whoever changes a pod's rejections or template adds it again.
    """

    def __init__(self) -> None:
        self._equals_of: dict[str, EqualPods] = {}
        self._by_rejection: dict[Rejection, RejectedPods] = {}
        self._rejected_by: dict[Rejector, dict[Rejection, RejectedPods]] = {}
        self._gated = 0

    def __len__(self) -> int:
        return len(self._equals_of)

    def __contains__(self, uid: str) -> bool:
        return uid in self._equals_of

    def __iter__(self) -> Iterator[QueuedPod]:
        return (equals.pods[uid] for uid, equals in self._equals_of.items())

    @property
    def gated_count(self) -> int:
        return self._gated

    def get(self, uid: str) -> QueuedPod | None:
        equals = self._equals_of.get(uid)
        return equals.pods[uid] if equals is not None else None

    def add(self, queued: QueuedPod) -> None:
        """Add a pod, or file one that is here already under what it is now."""
        uid, template = queued.uid, queued.info.template
        rejection = Rejection.of(queued)
        current = self._equals_of.get(uid)
        if current is not None:
            if current.template is template and current.rejected.rejection == rejection:
                current.pods[uid] = queued
                return
            self.remove(uid)
        rejected = self._by_rejection.get(rejection) or self._open(rejection)
        equals = rejected.by_template.get(template) or rejected.open(template)
        equals.pods[uid] = queued
        self._equals_of[uid] = equals
        self._gated += bool(rejection.gating_plugin)

    def remove(self, uid: str) -> QueuedPod | None:
        """Take a pod out; None if it is not here."""
        equals = self._equals_of.pop(uid, None)
        if equals is None:
            return None
        queued = equals.pods.pop(uid)
        rejected = equals.rejected
        self._gated -= bool(rejected.rejection.gating_plugin)
        if not equals.pods:
            rejected.close(equals)
            if not rejected.by_template:
                self._close(rejected)
        return queued

    def by_rejection(self) -> list[RejectedPods]:
        return list(self._by_rejection.values())

    def rejected_by(self, rejectors: Iterable[Rejector]) -> list[RejectedPods]:
        """The pods that one or more of the plugins rejected, each once."""
        if not self._rejected_by:
            return []
        found: dict[Rejection, RejectedPods] = {}
        for rejector in rejectors:
            found.update(self._rejected_by.get(rejector, {}))
        return list(found.values())

    def _open(self, rejection: Rejection) -> RejectedPods:
        rejected = self._by_rejection[rejection] = RejectedPods(rejection)
        for plugin in rejected.plugins:
            self._rejected_by.setdefault((rejection.profile, plugin), {})[rejection] = rejected
        return rejected

    def _close(self, rejected: RejectedPods) -> None:
        rejection = rejected.rejection
        del self._by_rejection[rejection]
        for plugin in rejected.plugins:
            rejector = (rejection.profile, plugin)
            del self._rejected_by[rejector][rejection]
            if not self._rejected_by[rejector]:
                del self._rejected_by[rejector]
