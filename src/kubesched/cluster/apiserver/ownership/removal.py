"""Finding and removing fields by path. Each list is looked through once, however many paths lead into it."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.ownership.field_sets import FieldSet, Path, field_type, key_step, value_step
from kubesched.cluster.apiserver.schema import FieldType, Shape, Struct
from kubesched.objects.base import Json

_GONE: Final = object()


class Fields:
    """The fields of one object, by path. Removed items leave gaps in their lists until `close_gaps`."""

    def __init__(self, value: Json, kind: Struct) -> None:
        self._value = value
        self._kind = FieldType(shape=Shape.STRUCT, struct_name=kind.name)
        self._indexes: dict[tuple[int, str], dict[str, int]] = {}  # of a list: where the item of each step is
        self._left: dict[int, int] = {}  # of a list with gaps: items that are not gone
        self._with_gaps: list[list[Any]] = []

    def contains(self, path: Path) -> bool:
        return self._find(path) is not None

    def remove(self, path: Path) -> None:
        """And the containers that are empty then."""
        for depth, (place, key) in enumerate(reversed(self._find(path) or ())):
            if depth and self._holds_something(place[key]):
                return
            if isinstance(place, list):
                self._leave_gap(place, key)
            else:
                del place[key]

    def close_gaps(self) -> None:
        for place in self._with_gaps:
            place[:] = [item for item in place if item is not _GONE]

    def _find(self, path: Path) -> list[tuple[Any, Any]] | None:
        """The containers on the way, each with the key or index of the next step; None if the path leads nowhere."""
        trail: list[tuple[Any, Any]] = []
        place, here = self._value, self._kind
        for step in path:
            key = self._key_of(place, step, here)
            if key is None or place[key] is _GONE:
                return None
            trail.append((place, key))
            place, here = place[key], _inner(here, step)
        return trail

    def _key_of(self, place: Any, step: str, kind: FieldType) -> Any:
        sort, name = step[:2], step[2:]
        if sort == "f:":
            return name if isinstance(place, dict) and name in place else None
        if not isinstance(place, list):
            return None
        index = self._indexes.get((id(place), sort))
        if index is None:
            index = self._indexes[id(place), sort] = {}
            for position, item in enumerate(place):
                by_key = sort == "k:" and isinstance(item, dict)
                index.setdefault(key_step(item, kind.map_keys) if by_key else value_step(item), position)
        return index.get(step)

    def _leave_gap(self, place: list[Any], position: int) -> None:
        if id(place) not in self._left:
            self._left[id(place)] = len(place)
            self._with_gaps.append(place)
        self._left[id(place)] -= 1
        place[position] = _GONE

    def _holds_something(self, place: Any) -> bool:
        return bool(self._left.get(id(place), place)) if isinstance(place, list) else bool(place)


def remove_fields(value: Json, gone: FieldSet, kept: FieldSet, kind: Struct) -> None:
    """Remove every path of `gone` unless it, or something below it, is in `kept`; containers that empty go too."""
    parents = {path[:length] for path in kept for length in range(1, len(path) + 1)}
    fields = Fields(value, kind)
    for path in sorted(gone, key=len):  # an item before its fields: they name it
        if path not in parents:
            fields.remove(path)
    fields.close_gaps()


def _inner(kind: FieldType, step: str) -> FieldType:
    if kind.shape is Shape.STRUCT:
        return field_type(kind.struct, step[2:])
    return kind.item if kind.item is not None else FieldType(shape=Shape.ANY)
