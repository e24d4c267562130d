"""Ownership when an object that was applied before is written in another way (`Updater.Update` upstream)."""

from __future__ import annotations

from kubesched.cluster.apiserver.ownership.apply import changed_fields, without_removed
from kubesched.cluster.apiserver.ownership.managers import Manager, read_managers, write_managers
from kubesched.cluster.apiserver.schema import Struct
from kubesched.objects.base import Json


def track_update(old: Json, new: Json, kind: Struct, writer: Manager) -> None:
    """The writer owns what it changed; nobody owns what this write removed. `writer.time` is now.

    Who owned what before is said by `new`: a writer may also change that.
    """
    managers = read_managers(new["metadata"])
    changed = changed_fields(old, new, kind)
    tracked = []
    for manager in managers:
        fields = without_removed(manager.fields, old, new, kind)
        if manager.identity != writer.identity:
            fields -= changed
        else:
            fields |= changed
        tracked.append(manager.owning(fields, writer.time))
    if changed and writer.identity not in {manager.identity for manager in managers}:
        tracked.append(writer.owning(changed, writer.time))
    write_managers(new["metadata"], tracked)
