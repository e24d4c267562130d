"""Answers that a new template can start from: those of another that is alike in what a plugin looks at.

Two pods may differ in their labels or in the name of a claim and still be the same to NodeResourcesFit. A plugin says
what it looks at (`Plugin.aspect`). For a template that was never seen, its columns are then taken from a relative, and
only the rows that changed since are asked about.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from kubesched.engine.kept import Kept


class Relatives:
    """By plugin and aspect: who has answers of the plugin's filter, and who of its score. Holds nobody alive."""

    def __init__(self) -> None:
        self._filtered: WeakValueDictionary[tuple[str, Hashable], Kept] = WeakValueDictionary()
        self._scored: WeakValueDictionary[tuple[str, Hashable], Kept] = WeakValueDictionary()

    def filtered(self, plugin: str, aspect: Hashable) -> Kept | None:
        return self._filtered.get((plugin, aspect)) if aspect is not None else None

    def scored(self, plugin: str, aspect: Hashable) -> Kept | None:
        return self._scored.get((plugin, aspect)) if aspect is not None else None

    def has_filtered(self, kept: Kept) -> None:
        for plugin in kept.filters.columns.keys() & kept.aspects.keys():
            self._filtered[plugin, kept.aspects[plugin]] = kept

    def has_scored(self, kept: Kept) -> None:
        for plugin in kept.scores.columns.keys() & kept.aspects.keys():
            self._scored[plugin, kept.aspects[plugin]] = kept
