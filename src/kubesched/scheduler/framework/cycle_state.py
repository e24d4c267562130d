"""What plugins remember about one pod within one scheduling attempt."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from kubesched.scheduler.columns import PodInfo
    from kubesched.scheduler.framework.stopwatch import Stopwatch

T = TypeVar("T")

NOBODY: Final[frozenset[str]] = frozenset()
NOTHING: Final[Mapping[Hashable, Any]] = MappingProxyType({})


class CycleState(msgspec.Struct, eq=False):
    """A dictionary from the PreFilter to the PostBind of one pod's attempt, with one key (or more) per plugin.

    What is stored must be treated as immutable: the state of an attempt whose evaluation is kept is the *parent* of
    the states of later attempts with the same template (a value written here hides the parent's).
    """

    pod: PodInfo
    """The pod of this attempt."""
    _parent: CycleState | None = None
    skipped_filters: Set[str] = NOBODY
    """Plugins whose PreFilter said Skip: their Filter is not called."""
    skipped_scores: Set[str] = NOBODY
    pods_to_activate: dict[str, PodInfo] = {}
    """Pods, by uid, that a plugin wants tried at once when this attempt ends well."""
    placed_group_members: Set[str] = NOBODY
    """While a group is tried: those of its pods, by uid, that have got a node hypothetically so far."""
    stopwatch: Stopwatch | None = None
    """Times the calls of this attempt, if it is one of those that are looked at."""
    _values: Mapping[Hashable, Any] = NOTHING

    def write(self, key: Hashable, value: object) -> None:
        self._values = {**self._values, key: value}

    def read(self, key: Hashable, kind: type[T]) -> T:
        """The value under a key. KeyError if nobody wrote it, TypeError if it is something else."""
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds a {type(value).__name__}, not a {kind.__name__}")
        return value

    def get(self, key: Hashable) -> Any:
        """The value under a key, or None."""
        if key in self._values:
            return self._values[key]
        return self._parent.get(key) if self._parent is not None else None

    def clone(self) -> CycleState:
        """An independent copy: what is written to it later stays there."""
        copy = CycleState(self.pod, self._parent)
        copy._values = self._values
        copy.skipped_filters = frozenset(self.skipped_filters)
        copy.skipped_scores = frozenset(self.skipped_scores)
        copy.pods_to_activate = self.pods_to_activate
        copy.placed_group_members = self.placed_group_members
        return copy
