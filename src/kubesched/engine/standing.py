"""How a pod template stands to a profile's plugins: what their answers rest on, and which templates share them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

from kubesched.columns import PodTemplate
from kubesched.engine.lineup import Lineup
from kubesched.framework import FIXED, Plugin, Reach

if TYPE_CHECKING:
    from kubesched.engine.kept import Kept


class Tie(NamedTuple):
    """What a plugin's answers follow from, besides its basis and the nodes: equal ties, equal answers."""

    aspect: Hashable
    """What the plugin looks at of a pod, or a number that no other template has."""
    reach: Reach
    score_reach: Reach

    @property
    def sees_sums_only(self) -> bool:
        return self.reach is Reach.SUMS and self.score_reach is Reach.SUMS


_OF_EVERY_CYCLE = Tie(None, Reach.CYCLE, Reach.CYCLE)


class Standing:
    """One template's ties to all plugins, and the bases that they hold for.

    Templates with the same ties share everything that is kept (`Kept`). Those that differ in the ties of plugins that
    see sums only still share the rest (`Family`). A basis that changes may change ties: these are asked for again.
    """

    __slots__ = ("_kept", "_lineup", "_number", "_open", "_open_bases", "bases", "family", "sums", "ties")

    def __init__(self, template: PodTemplate, lineup: Lineup, number: int) -> None:
        """`number` is this template's own."""
        self._lineup = lineup
        self._number = number
        self.bases = [plugin.basis(template) for plugin in lineup.with_basis]
        """In the order of the lineup's `with_basis`; another list when one of them has changed."""
        # Those of them that may change.
        self._open = [plugin for plugin, basis in zip(lineup.with_basis, self.bases, strict=True) if basis is not FIXED]
        self._open_bases = [basis for basis in self.bases if basis is not FIXED]
        self.ties = {plugin.name: self._tie(plugin, template) for plugin in lineup.plugins.values()}
        self._kept: ref[Kept] | None = None
        self._divide()

    @property
    def kept(self) -> Kept | None:
        """What is kept for the template, as long as it is."""
        return self._kept() if self._kept is not None else None

    @kept.setter
    def kept(self, kept: Kept) -> None:
        self._kept = ref(kept)

    @property
    def key(self) -> Hashable:
        return (self.family, self.sums)

    def renew(self, template: PodTemplate) -> None:
        """Look whether anything has changed outside that matters to the template."""
        bases = [plugin.basis(template) for plugin in self._open]
        if bases == self._open_bases:
            return
        changed = [p for p, old, new in zip(self._open, self._open_bases, bases, strict=True) if old != new]
        ties = {plugin.name: self._tie(plugin, template) for plugin in changed}
        self._open_bases = bases
        news = iter(bases)
        self.bases = [basis if basis is FIXED else next(news) for basis in self.bases]
        if any(self.ties[name] != tie for name, tie in ties.items()):
            self.ties |= ties
            self._kept = None
            self._divide()

    def _tie(self, plugin: Plugin, template: PodTemplate) -> Tie:
        lineup = self._lineup
        reach, score_reach = lineup.fixed_reaches.get(plugin.name) or lineup.reaches_of(plugin, template)
        if reach is Reach.CYCLE and score_reach is Reach.CYCLE:
            return _OF_EVERY_CYCLE
        aspect = plugin.aspect(template)
        return Tie(self._number if aspect is None else (aspect,), reach, score_reach)

    def _divide(self) -> None:
        """Reaches that are the same for every template need not be part of the keys."""
        ties, fixed = self.ties, self._lineup.fixed_reaches
        reaches = [(tie.reach.value, tie.score_reach.value) for name, tie in ties.items() if name not in fixed]
        self.family: Hashable = (*reaches, *[tie.aspect for tie in ties.values() if not tie.sees_sums_only])
        self.sums: Hashable = tuple([tie.aspect for tie in ties.values() if tie.sees_sums_only])
