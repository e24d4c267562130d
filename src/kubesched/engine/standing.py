"""How a pod template stands to a profile's plugins: what their answers rest on, and which templates share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING
from weakref import ref

from kubesched.columns import PodTemplate
from kubesched.engine.lineup import BY_SUMS, IN_EVERY_CYCLE, Lineup
from kubesched.framework import FIXED, Plugin

if TYPE_CHECKING:
    from kubesched.engine.kept import Kept


def _nothing() -> None:
    return None


class Standing:
    """What each plugin's answers follow from for one template, besides the nodes: its basis, its reaches, its aspect.

    Templates with the same reaches and aspects share everything that is kept (`Kept`). Those that differ in the aspects
    of plugins that see sums only still share the rest (`Family`). A basis that changes may change reaches and aspects:
    these are asked for again.

    Every template has a standing for as long as it lives, so it is made of few objects.
    """

    __slots__ = ("_aspects", "_lineup", "_open", "_open_bases", "_own", "bases", "family", "kept", "reaches", "sums")

    def __init__(self, template: PodTemplate, lineup: Lineup) -> None:
        self._lineup = lineup
        self.bases = [plugin.basis(template) for plugin in lineup.with_basis]
        """In the order of the lineup's `with_basis`; another list when one of them has changed."""
        self._open: list[Plugin] | None = None  # those of them that may change; many a template is seen once only
        self._open_bases: list[Hashable] = []
        plugins = lineup.with_reaches
        self.reaches = [fixed or lineup.reaches_of(plugin, template) for plugin, fixed in plugins]
        """In the order of the lineup's `plugins`."""
        self._aspects = [
            None if reaches is IN_EVERY_CYCLE else plugin.aspect(template)
            for (plugin, _), reaches in zip(plugins, self.reaches, strict=True)
        ]
        self._own = object()  # stands for aspects that are None: no other template has it
        self.kept: Callable[[], Kept | None] = _nothing
        """Gives what is kept for the template, as long as it is."""
        self._divide()

    def keep(self, kept: Kept) -> None:
        self.kept = ref(kept)

    def renew(self, template: PodTemplate) -> None:
        """Look whether anything has changed outside that matters to the template."""
        if self._open is None:
            self._open = [p for p, basis in zip(self._lineup.with_basis, self.bases, strict=True) if basis is not FIXED]
            self._open_bases = [basis for basis in self.bases if basis is not FIXED]
        bases = [plugin.basis(template) for plugin in self._open]
        if bases == self._open_bases:
            return
        changed = [p for p, old, new in zip(self._open, self._open_bases, bases, strict=True) if old != new]
        self._open_bases = bases
        news = iter(bases)
        self.bases = [basis if basis is FIXED else next(news) for basis in self.bases]
        if self._are_seen_otherwise(changed, template):
            self.kept = _nothing
            self._divide()

    def _are_seen_otherwise(self, plugins: list[Plugin], template: PodTemplate) -> bool:
        """Ask these plugins for their reaches and aspects again; whether any has changed."""
        has_changed = False
        for plugin in plugins:
            number = self._lineup.number_of[plugin.name]
            reaches = self._lineup.with_reaches[number][1] or self._lineup.reaches_of(plugin, template)
            aspect = None if reaches is IN_EVERY_CYCLE else plugin.aspect(template)
            has_changed |= reaches is not self.reaches[number] or aspect != self._aspects[number]
            self.reaches[number], self._aspects[number] = reaches, aspect
        return has_changed

    def _divide(self) -> None:
        """Into what a family has in common, and what it has not."""
        aspects, reaches, own = self._aspects, self.reaches, self._own
        if None in aspects:
            told = zip(aspects, reaches, strict=True)
            aspects = [own if aspect is None and r is not IN_EVERY_CYCLE else aspect for aspect, r in told]
        common = [None if r is BY_SUMS else aspect for aspect, r in zip(aspects, reaches, strict=True)]
        self.family: Hashable = (*reaches, *common)
        self.sums: Hashable = tuple([aspect for aspect, r in zip(aspects, reaches, strict=True) if r is BY_SUMS])
