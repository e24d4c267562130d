"""Garbage collection: what belonged to objects that are gone goes too.

owner deleted, Background   its dependents follow once it is gone
owner deleted, Foreground   it stays, marked, until its dependents are gone
owner deleted, Orphan       its dependents are cut loose first
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kubesched.cluster.apiserver.options import DeleteOptions
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.verbs.deletion import FOREGROUND, ORPHAN
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.workqueue import Key
from kubesched.cluster.informer import Informer
from kubesched.cluster.records import OwnedRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

NAME: Final = "garbage"
NOT_COLLECTED: Final = ("events", "events.events.k8s.io", "leases.coordination.k8s.io")


class Item(NamedTuple):
    resource: Resource
    record: OwnedRecord

    @property
    def is_waiting(self) -> bool:
        """Marked for deletion in the foreground: it waits for its dependents."""
        metadata = self.record.metadata
        return metadata.deletion_timestamp is not None and FOREGROUND in metadata.finalizers


class GarbageCollector:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._items: dict[str, Item] = {}  # by uid
        self._dependents: dict[str, dict[str, Item]] = {}  # by the owner's uid, then by their own
        self._resources = {item.qualified: item for item in context.api.catalog if _is_collected(item)}
        for name, resource in self._resources.items():
            self._follow(resource, Informer(context.api, name, OwnedRecord))

    def reconcile(self, namespace: str, name: str) -> None:
        item = self._items.get(name)
        if item is None:
            return
        metadata = item.record.metadata
        if metadata.deletion_timestamp is None:
            self._collect(item)
        elif ORPHAN in metadata.finalizers:
            for dependent in list(self._dependents.get(metadata.uid, {}).values()):
                self._cut(dependent, {metadata.uid})
            self._drop_finalizer(item, ORPHAN)
        elif FOREGROUND in metadata.finalizers:
            self._delete_dependents(item)

    def _collect(self, item: Item) -> None:
        """Delete an object whose owners are all gone or going; forget owners that are, if others remain."""
        metadata = item.record.metadata
        gone = {owner.uid for owner in metadata.owner_references if owner.uid not in self._items}
        going = {owner.uid for owner in metadata.owner_references if self._is_going(owner.uid)}
        if len(gone) + len(going) < len(metadata.owner_references):
            if gone or going:
                self._cut(item, gone | going)
        elif going and self._dependents.get(metadata.uid):
            self._delete(item, "Foreground")
        elif gone or going:
            self._delete(item, "Background")

    def _delete_dependents(self, owner: Item) -> None:
        uid = owner.record.metadata.uid
        dependents = list(self._dependents.get(uid, {}).values())
        for item in dependents:
            metadata = item.record.metadata
            if metadata.deletion_timestamp is None and all(
                ref.uid == uid or self._is_going(ref.uid) or ref.uid not in self._items
                for ref in metadata.owner_references
            ):
                self._delete(item, "Foreground" if self._dependents.get(metadata.uid) else "Background")
        left = self._dependents.get(uid, {}).values()
        if not any(_blocks(item, uid) for item in left):
            self._drop_finalizer(owner, FOREGROUND)

    def _is_going(self, uid: str) -> bool:
        item = self._items.get(uid)
        return item is not None and item.is_waiting

    def _delete(self, item: Item, propagation: str) -> None:
        metadata = item.record.metadata
        options = DeleteOptions(uid=metadata.uid, propagation=propagation)
        try:
            self._context.api.delete(item.resource, metadata.name, metadata.namespace, options)
        except RequestRefusedError as refusal:
            if refusal.code not in (404, 409):
                raise

    def _cut(self, item: Item, owners: set[str]) -> None:
        def cut(value: Json) -> None:
            kept = [ref for ref in value["metadata"].get("ownerReferences") or () if ref["uid"] not in owners]
            value["metadata"]["ownerReferences"] = kept

        self._change(item, cut)

    def _drop_finalizer(self, item: Item, finalizer: str) -> None:
        def drop(value: Json) -> None:
            left = [name for name in value["metadata"].get("finalizers") or () if name != finalizer]
            value["metadata"]["finalizers"] = left

        self._change(item, drop)

    def _change(self, item: Item, change: Callable[[Json], None]) -> None:
        metadata = item.record.metadata
        found = self._context.api.reader.bucket(item.resource).get(metadata.namespace, metadata.name)
        if found is None:
            return
        old, value = found.decode(), found.decode()
        if value["metadata"]["uid"] == metadata.uid:
            change(value)
            for key in ("ownerReferences", "finalizers"):
                if not value["metadata"].get(key):
                    value["metadata"].pop(key, None)
            self._context.api.writer.replace(item.resource, found, old, value)

    # ---- following ------------------------------------------------------------------------------------------------

    def _follow(self, resource: Resource, informer: Informer[OwnedRecord]) -> None:
        def changed(old: OwnedRecord | None, new: OwnedRecord | None) -> None:
            if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
                self._gone(Item(resource, old))
                old = None
            if new is not None:
                self._seen(Item(resource, new), old)

        informer.listen(changed)

    def _seen(self, item: Item, old: OwnedRecord | None) -> None:
        metadata = item.record.metadata
        self._items[metadata.uid] = item
        if old is not None:
            for owner in old.metadata.owner_references:
                self._forget_dependent(owner.uid, metadata.uid)
        for owner in metadata.owner_references:
            self._dependents.setdefault(owner.uid, {})[metadata.uid] = item
        marked = metadata.deletion_timestamp is not None and bool({FOREGROUND, ORPHAN} & set(metadata.finalizers))
        if marked or (metadata.owner_references and (old is None or old.metadata != metadata)):
            self._enqueue(item)
        if metadata.deletion_timestamp is not None and FOREGROUND in metadata.finalizers:
            for dependent in self._dependents.get(metadata.uid, {}).values():
                self._enqueue(dependent)

    def _gone(self, item: Item) -> None:
        metadata = item.record.metadata
        self._items.pop(metadata.uid, None)
        for owner in metadata.owner_references:
            self._forget_dependent(owner.uid, metadata.uid)
            if self._is_going(owner.uid):
                self._enqueue(self._items[owner.uid])
        for dependent in self._dependents.get(metadata.uid, {}).values():
            self._enqueue(dependent)

    def _forget_dependent(self, owner: str, uid: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(uid, None)
            if not dependents:
                del self._dependents[owner]

    def _enqueue(self, item: Item) -> None:
        self._context.queue.add(Key(NAME, item.record.metadata.namespace, item.record.metadata.uid))


def _blocks(item: Item, owner: str) -> bool:
    return any(ref.uid == owner and ref.block_owner_deletion for ref in item.record.metadata.owner_references)


def _is_collected(resource: Resource) -> bool:
    return "delete" in resource.verbs and resource.qualified not in NOT_COLLECTED and not resource.bucket
