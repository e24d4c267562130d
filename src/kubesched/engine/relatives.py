"""Answers that a new template can start from: those of another that is alike in what a plugin looks at.

Two pods may differ in their labels or in the name of a claim and still be the same to NodeResourcesFit. A plugin says
what it looks at (`Plugin.aspect`). For a template that was never seen, its columns are then copied from a relative, and
only the rows that changed since are asked about.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from kubesched.engine.kept import Kept


class Relatives:
    """By plugin and aspect: whoever was brought up to date last. Holds nobody alive."""

    def __init__(self) -> None:
        self._latest: WeakValueDictionary[tuple[str, Hashable], Kept] = WeakValueDictionary()

    def of(self, plugin: str, aspect: Hashable) -> Kept | None:
        return self._latest.get((plugin, aspect)) if aspect is not None else None

    def remember(self, kept: Kept) -> None:
        for plugin, aspect in kept.aspects.items():
            self._latest[plugin, aspect] = kept
