"""Who belongs to whom: controllers adopt what matches their selector and has no controller, and release the rest.

`PodControllerRefManager` and `ReplicaSetControllerRefManager` upstream.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.controllers.world import Owned, World
from kubesched.cluster.observed import HasMetadata
from kubesched.cluster.views import WorkloadView, owner_reference
from kubesched.objects import ObjectMeta

Json = dict[str, Any]
T = TypeVar("T", bound=HasMetadata)


def claim(world: World, resource: Resource, owner: WorkloadView, dependents: Owned[T]) -> list[T]:
    """The dependents of `owner`, after adopting and releasing. An owner that is being deleted does neither."""
    metadata = owner.metadata
    mine = dependents.of[metadata.uid]
    if metadata.deletion_timestamp is not None:
        return mine
    selector = object_selector(owner.spec.get("selector"))
    kept = []
    for item in mine:
        if selector.matches(item.metadata.labels):
            kept.append(item)
        else:
            _release(world, dependents.observed.resource, item.metadata, metadata.uid)
    for item in dependents.orphans[metadata.namespace]:
        if item.metadata.deletion_timestamp is None and selector.matches(item.metadata.labels):
            reference = owner_reference(resource.api_version, resource.kind, metadata)
            _adopt(world, dependents.observed.resource, item.metadata, reference)
            kept.append(item)
    return kept


def _adopt(world: World, resource: Resource, item: ObjectMeta, reference: Json) -> None:
    def adopt(value: Json) -> None:
        value["metadata"].setdefault("ownerReferences", []).append(reference)

    world.change(resource, item, adopt)


def _release(world: World, resource: Resource, item: ObjectMeta, owner_uid: str) -> None:
    def release(value: Json) -> None:
        owners = value["metadata"].get("ownerReferences") or ()
        value["metadata"]["ownerReferences"] = [owner for owner in owners if owner.get("uid") != owner_uid]

    world.change(resource, item, release)
