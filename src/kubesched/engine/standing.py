"""How a pod template stands to a profile's plugins: what their answers rest on, and which templates share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING
from weakref import ref

from kubesched.columns import PodTemplate
from kubesched.engine.lineup import IN_EVERY_CYCLE, Lineup, Reaches
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

    __slots__ = ("_aspects", "_division", "_lineup", "_open", "_open_bases", "_own", "bases", "family", "kept", "sums")

    def __init__(self, template: PodTemplate, lineup: Lineup) -> None:
        self._lineup = lineup
        self.bases = [plugin.basis(template) for plugin in lineup.with_basis]
        """In the order of the lineup's `with_basis`; another list when one of them has changed."""
        self._open: list[Plugin] | None = None  # those of them that may change; many a template is seen once only
        self._open_bases: list[Hashable] = []
        reaches = lineup.fixed_reaches.copy()
        for number, reaches_of in lineup.asked_for_reaches.items():
            reaches[number] = reaches_of(template)
        self._division = lineup.division(tuple(reaches))
        if self._division.is_cyclic:
            self._aspects = [
                None if its is IN_EVERY_CYCLE else aspect(template)
                for its, aspect in zip(reaches, lineup.aspects, strict=True)
            ]
        else:
            self._aspects = [aspect(template) for aspect in lineup.aspects]
        self._own = object()  # stands for aspects that are None: no other template has it
        self.kept: Callable[[], Kept | None] = _nothing
        """Gives what is kept for the template, as long as it is."""
        self._divide()

    @property
    def reaches(self) -> tuple[Reaches, ...]:
        """In the order of the lineup's `plugins`."""
        return self._division.reaches

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
        lineup, reaches, before = self._lineup, list(self.reaches), self._aspects.copy()
        for plugin in plugins:
            number = lineup.number_of[plugin.name]
            if (reaches_of := lineup.asked_for_reaches.get(number)) is not None:
                reaches[number] = reaches_of(template)
            self._aspects[number] = None if reaches[number] is IN_EVERY_CYCLE else plugin.aspect(template)
        division, self._division = self._division, lineup.division(tuple(reaches))
        return division is not self._division or self._aspects != before

    def _divide(self) -> None:
        """Into what a family has in common, and what it has not."""
        aspects, division = self._aspects, self._division
        if None in aspects:
            aspects = [self._own if aspect is None else aspect for aspect in aspects]
        self.family: Hashable = (division, division.common(aspects))
        self.sums: Hashable = division.sums(aspects)
