"""Sets of fields. A path is a tuple of steps as FieldsV1 writes them: `f:name`, `k:{"key":…}`, `v:value`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from kubesched.cluster.apiserver.schema import FieldType, Shape, Struct
from kubesched.objects.base import Json

Path = tuple[str, ...]
FieldSet = frozenset[Path]

ITSELF: Final = "."
_KEY_DEFAULTS: Final = {"protocol": "TCP"}  # the only default of a list key in the served kinds
_UNTYPED: Final = FieldType(shape=Shape.ANY)
# What the server writes itself belongs to nobody (`stripMeta` upstream).
_UNOWNED: Final = frozenset(
    {
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "selfLink",
            "generation",
            "managedFields",
            "resourceVersion",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "clusterName",
        )
    }
    | {("f:kind",), ("f:apiVersion",), ("f:metadata",)}
)


def field_set(value: Json, kind: Struct) -> FieldSet:
    """All fields that a value sets and that somebody can own."""
    return frozenset(path for path, _ in leaves(value, kind))


def leaves(value: Json, kind: Struct) -> Iterator[tuple[Path, Any]]:
    """Every owned path with its value: scalars, atomic and empty containers, and the items of keyed lists."""
    for path, leaf in _walk_struct(value, kind, ()):
        if path[:2] not in _UNOWNED and path not in _UNOWNED:
            yield path, leaf


def key_step(item: Json, keys: tuple[str, ...]) -> str:
    """The step that names an item of a keyed list."""
    named = {key: item.get(key, _KEY_DEFAULTS.get(key)) for key in sorted(keys)}
    present = {key: value for key, value in named.items() if value is not None}
    return "k:" + json.dumps(present, separators=(",", ":"))


def value_step(item: Any) -> str:
    return "v:" + json.dumps(item, separators=(",", ":"))


def field_type(kind: Struct | None, name: str) -> FieldType:
    return kind.fields.get(name, _UNTYPED) if kind is not None else _UNTYPED


def is_atomic(kind: FieldType) -> bool:
    """Whether a container has one owner as a whole. Lists are, unless they say otherwise."""
    if kind.shape is Shape.LIST:
        return not (kind.map_keys or kind.is_set)
    if kind.shape is Shape.STRUCT:
        inner = kind.struct
        return kind.atomic or (inner is not None and inner.atomic)
    return kind.atomic or kind.shape is not Shape.MAP


def _walk(value: Any, kind: FieldType, path: Path) -> Iterator[tuple[Path, Any]]:
    if not isinstance(value, dict | list) or not value or is_atomic(kind):
        yield path, value
    elif isinstance(value, list):
        yield from _walk_list(value, kind, path)
    elif kind.shape is Shape.MAP:
        assert kind.item is not None
        for key, item in value.items():
            yield from _walk(item, kind.item, (*path, f"f:{key}"))
    else:
        yield from _walk_struct(value, kind.struct, path)


def _walk_struct(value: Json, kind: Struct | None, path: Path) -> Iterator[tuple[Path, Any]]:
    for key, item in value.items():
        yield from _walk(item, field_type(kind, key), (*path, f"f:{key}"))


def _walk_list(value: list[Any], kind: FieldType, path: Path) -> Iterator[tuple[Path, Any]]:
    assert kind.item is not None
    for item in value:
        if kind.is_set:
            yield (*path, value_step(item)), item
        else:
            here = (*path, key_step(item, kind.map_keys))
            yield here, None  # that the item exists; its fields follow
            yield from _walk_struct(item, kind.item.struct, here)


def to_fields_v1(fields: FieldSet) -> Json:
    """The set as FieldsV1 nests it."""
    root: Json = {}
    for path in sorted(fields):
        place = root
        for step in path:
            place = place.setdefault(step, {})
        place[ITSELF] = {}
    return {key: _without_lone_self(item) for key, item in root.items()}


def from_fields_v1(nested: Json) -> FieldSet:
    found: set[Path] = set()

    def collect(place: Json, path: Path) -> None:
        if not place or ITSELF in place:
            found.add(path)
        for step, inner in place.items():
            if step != ITSELF:
                collect(inner, (*path, step))

    for step, inner in nested.items():
        collect(inner, (step,))
    return frozenset(found)


def _without_lone_self(place: Json) -> Json:
    if set(place) == {ITSELF}:
        return {}
    return {step: _without_lone_self(inner) for step, inner in place.items()}
