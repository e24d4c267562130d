"""How a pod template stands to a profile's plugins: what their answers rest on, and which templates share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING
from weakref import ref

from kubesched.columns import PodTemplate
from kubesched.engine.lineup import BY_SUMS, IN_EVERY_CYCLE, Lineup, Reaches
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

    __slots__ = ("_lineup", "_open", "_open_bases", "_own", "bases", "family", "kept", "sums")

    def __init__(self, template: PodTemplate, lineup: Lineup) -> None:
        self._lineup = lineup
        self._own = object()  # the aspect of plugins that look at anything: no other template has it
        self.bases = [plugin.basis(template) for plugin in lineup.with_basis]
        """In the order of the lineup's `with_basis`; another list when one of them has changed."""
        self._open: list[Plugin] | None = None  # those of them that may change; many a template is seen once only
        self._open_bases: list[Hashable] = []
        reaches: list[Reaches] = []
        common: list[Hashable] = []
        sums: list[Hashable] = []
        for plugin, fixed in lineup.with_reaches:
            seen, aspect = self._seen_by(plugin, fixed, template)
            reaches.append(seen)
            common.append(None if seen is BY_SUMS else aspect)
            sums.append(aspect if seen is BY_SUMS else None)
        self.family = (tuple(reaches), tuple(common))
        """In the order of the lineup's `plugins`: their reaches, and the aspects of those that don't see sums only."""
        self.sums = tuple(sums)
        """Likewise: the aspects of the others."""
        self.kept: Callable[[], Kept | None] = _nothing
        """Gives what is kept for the template, as long as it is."""

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
        self._look_again(changed, template)

    def _look_again(self, plugins: list[Plugin], template: PodTemplate) -> None:
        """Take over what has become of the reaches and aspects of some plugins."""
        (*reaches,), (*common,) = self.family
        sums = list(self.sums)
        for plugin in plugins:
            number = self._lineup.number_of[plugin.name]
            seen, aspect = self._seen_by(plugin, self._lineup.with_reaches[number][1], template)
            reaches[number] = seen
            common[number], sums[number] = (None, aspect) if seen is BY_SUMS else (aspect, None)
        family, by_sums = (tuple(reaches), tuple(common)), tuple(sums)
        if (family, by_sums) != (self.family, self.sums):
            self.family, self.sums, self.kept = family, by_sums, _nothing

    def _seen_by(self, plugin: Plugin, fixed: Reaches | None, template: PodTemplate) -> tuple[Reaches, Hashable]:
        """A plugin's reaches, unless they are fixed, and its aspect."""
        reaches = fixed or self._lineup.reaches_of(plugin, template)
        if reaches is IN_EVERY_CYCLE:
            return reaches, None
        aspect = plugin.aspect(template)
        return reaches, self._own if aspect is None else aspect
