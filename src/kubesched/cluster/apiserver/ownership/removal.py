"""Finding and removing fields by path."""

from __future__ import annotations

from typing import Any

from kubesched.cluster.apiserver.ownership.field_sets import FieldSet, Path, field_type, key_step, value_step
from kubesched.cluster.apiserver.schema import FieldType, Shape, Struct
from kubesched.objects.base import Json


def contains(value: Json, path: Path, kind: Struct) -> bool:
    return _find(value, path, kind) is not None


def remove_fields(value: Json, gone: FieldSet, kept: FieldSet, kind: Struct) -> None:
    """Remove every path of `gone` unless it, or something below it, is in `kept`; containers that empty go too."""
    parents = {path[:length] for path in kept for length in range(1, len(path) + 1)}
    for path in sorted(gone, key=len):  # an item before its fields: they name it
        if path not in parents:
            _remove(value, path, kind)


def _find(value: Json, path: Path, kind: Struct) -> list[tuple[Any, Any]] | None:
    """The containers on the way to a path, each with the key or index of the next step; None if it is not there."""
    trail: list[tuple[Any, Any]] = []
    place: Any = value
    here = FieldType(shape=Shape.STRUCT, struct_name=kind.name)
    for step in path:
        key = _key_of(place, step, here)
        if key is None:
            return None
        trail.append((place, key))
        place, here = place[key], _inner(here, step)
    return trail


def _key_of(place: Any, step: str, kind: FieldType) -> Any:
    sort, name = step[:2], step[2:]
    if sort == "f:":
        return name if isinstance(place, dict) and name in place else None
    if not isinstance(place, list):
        return None
    for index, item in enumerate(place):
        found = key_step(item, kind.map_keys) if sort == "k:" and isinstance(item, dict) else value_step(item)
        if found == step:
            return index
    return None


def _inner(kind: FieldType, step: str) -> FieldType:
    if kind.shape is Shape.STRUCT:
        return field_type(kind.struct, step[2:])
    return kind.item if kind.item is not None else FieldType(shape=Shape.ANY)


def _remove(value: Json, path: Path, kind: Struct) -> None:
    trail = _find(value, path, kind)
    for depth, (place, key) in enumerate(reversed(trail or ())):
        if depth and place[key]:  # a parent that still holds something stays
            return
        del place[key]
