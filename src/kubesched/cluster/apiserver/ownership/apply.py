"""Server-side apply: merge a configuration into an object, as far as ownership allows (`Updater.Apply` upstream)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from kubesched.cluster.apiserver.ownership.field_sets import (
    FieldSet,
    Path,
    field_set,
    field_type,
    is_atomic,
    key_step,
    leaves,
    value_step,
)
from kubesched.cluster.apiserver.ownership.managers import Manager
from kubesched.cluster.apiserver.ownership.removal import Fields, remove_fields
from kubesched.cluster.apiserver.schema import FieldType, Shape, Struct
from kubesched.errors import KubeschedError
from kubesched.objects.base import Json


class ApplyConflictError(KubeschedError):
    """Other managers own fields that the configuration would change."""

    def __init__(self, conflicts: Sequence[tuple[Manager, Path]]) -> None:
        self.conflicts = conflicts
        super().__init__(f"{len(conflicts)} field(s) have another owner")


def apply_configuration(
    live: Json,
    configuration: Json,
    kind: Struct,
    managers: Sequence[Manager],
    applier: Manager,
    *,
    force: bool,
) -> tuple[Json, list[Manager]]:
    """The merged object and its managers. `applier` names who applies; its time is now, its fields are computed.

    A field that the applier owned and no longer names is removed, unless somebody else owns it too.
    """
    wanted = _owned_part(field_set(configuration, kind), applier.subresource)
    merged = _merge_struct(copy.deepcopy(live), configuration, kind)
    before = next((item for item in managers if item.identity == applier.identity), None)
    others = [item for item in managers if item.identity != applier.identity]
    if before is not None:
        owned_elsewhere = frozenset().union(*(item.fields for item in others))
        remove_fields(merged, before.fields - wanted, owned_elsewhere | wanted, kind)
    changed = changed_fields(live, merged, kind) & wanted
    conflicts = [(item, path) for item in others for path in sorted(item.fields & changed)]
    if conflicts and not force:
        raise ApplyConflictError(conflicts)
    now = applier.time
    kept = [item.owning(without_removed(item.fields - changed, live, merged, kind), now) for item in others]
    mine = (before or applier).owning(wanted, now)
    return merged, [*kept, mine]


def changed_fields(old: Json, new: Json, kind: Struct) -> FieldSet:
    """The fields of `new` that `old` lacks or has with another value."""
    before = dict(leaves(old, kind))
    missing = object()
    return frozenset(path for path, value in leaves(new, kind) if before.get(path, missing) != value)


def without_removed(fields: FieldSet, old: Json, new: Json, kind: Struct) -> FieldSet:
    """What is left of a manager's fields; one that never shows, such as a secret's `stringData`, stays its own."""
    now, before = Fields(new, kind), Fields(old, kind)
    return frozenset(path for path in fields if now.contains(path) or not before.contains(path))


def _owned_part(fields: FieldSet, subresource: str) -> FieldSet:
    """An apply of a subresource owns only its part, and one of the object nothing of its status."""
    if subresource:
        return frozenset(path for path in fields if path[0] == f"f:{subresource}")
    return frozenset(path for path in fields if path[0] != "f:status")


def _merge(live: Any, wanted: Any, kind: FieldType) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict) and not is_atomic(kind):
        if kind.shape is Shape.MAP:
            assert kind.item is not None
            return live | {key: _merge(live.get(key), item, kind.item) for key, item in wanted.items()}
        return _merge_struct(live, wanted, kind.struct)
    if isinstance(wanted, list) and isinstance(live, list) and not is_atomic(kind):
        return _merge_list(live, wanted, kind)
    return copy.deepcopy(wanted)


def _merge_struct(live: Json, wanted: Json, kind: Struct | None) -> Json:
    for key, item in wanted.items():
        live[key] = _merge(live.get(key), item, field_type(kind, key))
    return live


def _merge_list(live: list[Any], wanted: list[Any], kind: FieldType) -> list[Any]:
    """Items keep the server's order; new ones come where the configuration has them, after what precedes them."""
    if kind.is_set:
        known_values = {value_step(item) for item in live}
        return live + [item for item in wanted if value_step(item) not in known_values]
    assert kind.item is not None
    inner = kind.item.struct
    new = {key_step(item, kind.map_keys): item for item in wanted}
    known = {key_step(item, kind.map_keys) for item in live}
    merged = []
    for item in live:
        match = new.get(key_step(item, kind.map_keys))
        merged.append(item if match is None else _merge_struct(item, match, inner))
    return merged + [copy.deepcopy(item) for step, item in new.items() if step not in known]
