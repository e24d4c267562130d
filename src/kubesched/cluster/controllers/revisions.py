"""The templates that a StatefulSet or DaemonSet has had, kept as ControllerRevisions for `kubectl rollout undo`."""

from __future__ import annotations

import copy
import itertools
from typing import Final

from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.pod_making import template_hash
from kubesched.cluster.records import RevisionRecord, WorkloadRecord, owner_reference
from kubesched.objects.base import Json

HASH_LABEL: Final = "controller-revision-hash"


class Revisions:
    """Of one owner, oldest first."""

    def __init__(self, context: ControllerContext, resource: Resource, owner: WorkloadRecord) -> None:
        self._context = context
        self._resource = resource
        self._owner = owner
        found = context.owned_revisions.of[owner.metadata.uid]
        self.all = sorted(found, key=lambda item: (item.revision, item.metadata.name))

    def current(self) -> RevisionRecord | None:
        """The revision of the owner's template, numbered as the newest; None: it was made just now, come again."""
        data = _data(self._owner.spec["template"])
        found = next((item for item in reversed(self.all) if item.data == data), None)
        newest = max((item.revision for item in self.all), default=0)
        if found is None:
            self._create(data, newest + 1)
        elif found.revision < newest:
            self._context.change(
                self._context.revisions.resource, found.metadata, lambda value: value.update(revision=newest + 1)
            )
        return found

    def find(self, name: str) -> RevisionRecord | None:
        return next((item for item in self.all if item.metadata.name == name), None)

    def forget(self, in_use: set[str]) -> None:
        """Keep as many that nobody uses as the owner's history limit says."""
        limit = self._owner.spec.get("revisionHistoryLimit", 10)
        unused = [item for item in self.all if item.metadata.name not in in_use]
        for item in unused[: max(0, len(unused) - limit)]:
            self._context.delete(self._context.revisions.resource, item.metadata)

    def _create(self, data: Json, number: int) -> None:
        metadata = self._owner.metadata
        for salt in itertools.count():
            short = template_hash(self._owner.spec["template"], salt)
            if self._context.revisions.get(f"{metadata.name}-{short}", metadata.namespace) is None:
                break
        labels = (self._owner.spec["template"].get("metadata") or {}).get("labels") or {}
        revision = {
            "metadata": {
                "name": f"{metadata.name}-{short}",
                "labels": {**labels, HASH_LABEL: short},
                "annotations": dict(metadata.annotations),
                "ownerReferences": [owner_reference(self._resource.api_version, self._resource.kind, metadata)],
            },
            "data": data,
            "revision": number,
        }
        self._context.api.create(self._context.revisions.resource, revision, metadata.namespace)


def template_of(revision: RevisionRecord) -> Json:
    template = copy.deepcopy(revision.data["spec"]["template"])
    template.pop("$patch", None)
    return dict(template)


def hash_of(revision: RevisionRecord) -> str:
    return revision.metadata.labels.get(HASH_LABEL, "")


def _data(template: Json) -> Json:
    """A strategic merge patch that brings the template back (`getPatch`)."""
    return {"spec": {"template": {**copy.deepcopy(template), "$patch": "replace"}}}
