"""Who belongs to whom: controllers adopt what matches their selector and has no controller, and release the rest.

`PodControllerRefManager` and `ReplicaSetControllerRefManager` upstream. Only what changed is looked at: an owner of
many thousand pods is settled as fast as one of ten.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.controllers.context import ControllerContext, Owned
from kubesched.cluster.informer import HasMetadata
from kubesched.cluster.records import WorkloadRecord, controller_uid, owner_reference
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta

T = TypeVar("T", bound=HasMetadata)


class ControllerRefs(Generic[T]):
    """Between owners of one resource and their dependents of another."""

    def __init__(self, context: ControllerContext, resource: Resource, dependents: Owned[T]) -> None:
        self._context = context
        self._resource = resource
        self._dependents = dependents
        self._unsettled: dict[str, dict[tuple[str, str], None]] = {}  # owners by uid: dependents with other labels
        dependents.informer.listen(self._changed)

    def settle(self, owner: WorkloadRecord) -> None:
        """Adopt and release. An owner that is being deleted does neither."""
        metadata = owner.metadata
        unsettled = self._unsettled.pop(metadata.uid, {})
        if metadata.deletion_timestamp is not None:
            return
        selector = object_selector(owner.spec.get("selector"))
        for namespace, name in unsettled:
            item = self._dependents.informer.get(name, namespace)
            if item is not None and not selector.matches(item.metadata.labels):
                self._release(item.metadata, metadata.uid)
        for item in self._dependents.orphans[metadata.namespace]:
            if item.metadata.deletion_timestamp is None and selector.matches(item.metadata.labels):
                self._adopt(item.metadata, metadata)

    def _adopt(self, item: ObjectMeta, owner: ObjectMeta) -> None:
        reference = owner_reference(self._resource.api_version, self._resource.kind, owner)

        def adopt(value: Json) -> None:
            value["metadata"].setdefault("ownerReferences", []).append(reference)

        self._context.change(self._dependents.informer.resource, item, adopt)

    def _release(self, item: ObjectMeta, owner_uid: str) -> None:
        def release(value: Json) -> None:
            owners = value["metadata"].get("ownerReferences") or ()
            value["metadata"]["ownerReferences"] = [owner for owner in owners if owner.get("uid") != owner_uid]

        self._context.change(self._dependents.informer.resource, item, release)

    def _changed(self, old: T | None, new: T | None) -> None:
        if new is None or (old is not None and old.metadata.labels == new.metadata.labels):
            return
        if uid := controller_uid(new.metadata):
            self._unsettled.setdefault(uid, {})[(new.metadata.namespace, new.metadata.name)] = None
