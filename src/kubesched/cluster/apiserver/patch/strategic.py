"""Strategic merge patch: lists are merged by key as the field table says (`strategicpatch` upstream).

Directives: `$patch: replace|delete` in an object, `$retainKeys` beside its keys, and beside a list
`$deleteFromPrimitiveList/<field>` and `$setElementOrder/<field>`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Hashable
from typing import Any, Final

from kubesched.cluster.apiserver.patch.errors import PatchError
from kubesched.cluster.apiserver.schema import FieldType, Shape, Struct

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_PREFIX: Final = "$deleteFromPrimitiveList/"
ORDER_PREFIX: Final = "$setElementOrder/"

_UNTYPED: Final = FieldType(shape=Shape.ANY)


def apply_strategic_patch(target: dict[str, Any], patch: Any, kind: Struct) -> dict[str, Any]:
    """The patched object; `target` is changed in place."""
    if not isinstance(patch, dict):
        raise PatchError("error decoding patch: a strategic merge patch is an object", malformed=True)
    return _merge_object(target, patch, kind)


def _merge_object(target: dict[str, Any], patch: dict[str, Any], kind: Struct | None) -> dict[str, Any]:
    if DIRECTIVE in patch:
        return _obey_directive(patch)
    patch = dict(patch)
    _retain_keys(target, patch)
    _merge_ordered_lists(target, patch, kind)
    for key, value in patch.items():
        if key.startswith(DELETE_PREFIX):
            field = key.removeprefix(DELETE_PREFIX)
            gone = {_comparable(item) for item in _as_list(value, key)}
            if isinstance(target.get(field), list):
                target[field] = [item for item in target[field] if _comparable(item) not in gone]
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = _merge_value(target.get(key), value, _field(kind, key))
    return target


def _obey_directive(patch: dict[str, Any]) -> dict[str, Any]:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise PatchError(f"Unknown patch type '{other}' in patch")


def _retain_keys(target: dict[str, Any], patch: dict[str, Any]) -> None:
    if RETAIN_KEYS not in patch:
        return
    retained = {_comparable(key) for key in _as_list(patch.pop(RETAIN_KEYS), RETAIN_KEYS)}
    strays = [key for key, value in patch.items() if value is not None and key not in retained and key[0] != "$"]
    if strays:
        raise PatchError("invalid patch format of $retainKeys: it must list every key of the patch")
    for key in [key for key in target if key not in retained]:
        del target[key]


def _merge_ordered_lists(target: dict[str, Any], patch: dict[str, Any], kind: Struct | None) -> None:
    """Merge the lists that come with an order, and take them out of the patch."""
    for directive in [key for key in patch if key.startswith(ORDER_PREFIX)]:
        order = _as_list(patch.pop(directive), directive)
        key = directive.removeprefix(ORDER_PREFIX)
        field = _field(kind, key)
        before = target.get(key)
        if key not in patch and before is None:
            continue
        changes = patch.pop(key, [])
        if changes is None:
            target.pop(key, None)
            continue
        merged = _merge_value(list(before) if before is not None else None, changes, field)
        target[key] = _in_order(merged, order, before or [], field.merge_key)


def _merge_value(before: Any, patch: Any, field: FieldType) -> Any:
    if isinstance(patch, dict):
        if isinstance(before, dict) and not field.replaces:
            return _merge_object(before, patch, field.struct)
        return _without_directives(patch)
    if isinstance(patch, list):
        if isinstance(before, list) and field.merges:
            return _merge_list(before, patch, field)
        return _without_directives(patch)
    return patch


def _merge_list(before: list[Any], patch: list[Any], field: FieldType) -> list[Any]:
    key = field.merge_key
    if not key:
        known = {_comparable(item) for item in before}
        return _in_order(before + [item for item in patch if _comparable(item) not in known], patch, before, key)
    kind = field.item.struct if field.item else None
    replaces, plain, deleted = False, [], set()
    for item in patch:
        _require_key(item, key)
        match item.get(DIRECTIVE):
            case None:
                plain.append(item)
            case "delete":
                deleted.add(_comparable(item[key]))
            case "replace":
                replaces = True
            case other:
                raise PatchError(f"Unknown patch type '{other}' in patch")
    if replaces:
        return plain
    merged = [old for old in before if _comparable(old.get(key)) not in deleted]
    places = _first_places(merged, key)
    for item in plain:
        index = places.get(_comparable(item[key]))
        if index is None:
            places[_comparable(item[key])] = len(merged)
            merged.append(_without_directives(item))
        else:
            merged[index] = _merge_object(merged[index], item, kind)
    return _in_order(merged, plain, before, key)


def _require_key(item: Any, key: str) -> None:
    if not isinstance(item, dict) or (key not in item and item.get(DIRECTIVE) != "replace"):
        raise PatchError(f"map: {item} does not contain declared merge key: {key}")


def _in_order(merged: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """Items named by `order` in that order; the others stay where the server had them (`normalizeElementOrder`)."""
    wanted, server = _first_places(order, key), _first_places(server_order, key)
    named = [item for item in merged if _identity(item, key) in wanted]
    named.sort(key=lambda item: wanted[_identity(item, key)])
    others = deque(item for item in merged if _identity(item, key) not in wanted)
    result: list[Any] = []
    for item in named:
        place = server.get(_identity(item, key))
        while place is not None and others and server.get(_identity(others[0], key), place) < place:
            result.append(others.popleft())
        result.append(item)
    return [*result, *others]


def _first_places(items: list[Any], key: str) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        places.setdefault(_identity(item, key), index)
    return places


def _identity(item: Any, key: str) -> Hashable:
    return _comparable(item.get(key) if key and isinstance(item, dict) else item)


def _comparable(value: Any) -> Hashable:
    """Equal for equal values, and to be looked up: lists and objects as their text."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value


def _without_directives(value: Any) -> Any:
    """A part of a patch that has nothing to merge with: what stays are its values."""
    if isinstance(value, list):
        items = [item for item in value if not (isinstance(item, dict) and item.get(DIRECTIVE) == "delete")]
        kept = [_without_directives(item) for item in items]
        return kept if {} in value else [item for item in kept if item != {}]
    if isinstance(value, dict):
        return {
            key: _without_directives(item)
            for key, item in value.items()
            if item is not None
            and key not in (DIRECTIVE, RETAIN_KEYS)
            and not key.startswith((DELETE_PREFIX, ORDER_PREFIX))
        }
    return value


def _field(kind: Struct | None, key: str) -> FieldType:
    return kind.fields.get(key, _UNTYPED) if kind is not None else _UNTYPED


def _as_list(value: Any, directive: str) -> list[Any]:
    if not isinstance(value, list):
        raise PatchError(f"{directive} must be a list")
    return value
