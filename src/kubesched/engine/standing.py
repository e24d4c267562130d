"""How a pod template stands to a profile's plugins: what their answers rest on, and which templates share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
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


_SUMS, _CYCLE = Reach.SUMS, Reach.CYCLE  # to look up a member of an enumeration is a call
_OF_EVERY_CYCLE = Tie(None, _CYCLE, _CYCLE)


def _nothing() -> None:
    return None


class Standing:
    """One template's ties to all plugins, and the bases that they hold for.

    Templates with the same ties share everything that is kept (`Kept`). Those that differ in the ties of plugins that
    see sums only still share the rest (`Family`). A basis that changes may change ties: these are asked for again.
    """

    __slots__ = ("_lineup", "_number", "_open", "_open_bases", "bases", "family", "kept", "sums", "ties")

    def __init__(self, template: PodTemplate, lineup: Lineup, number: int) -> None:
        """`number` is this template's own."""
        self._lineup = lineup
        self._number = number
        self.bases = [plugin.basis(template) for plugin in lineup.with_basis]
        """In the order of the lineup's `with_basis`; another list when one of them has changed."""
        # Those of them that may change.
        self._open = [plugin for plugin, basis in zip(lineup.with_basis, self.bases, strict=True) if basis is not FIXED]
        self._open_bases = [basis for basis in self.bases if basis is not FIXED]
        self.ties = self._ties_to(lineup.plugins.values(), template)
        self.kept: Callable[[], Kept | None] = _nothing
        """Gives what is kept for the template, as long as it is."""
        self._divide()

    def keep(self, kept: Kept) -> None:
        self.kept = ref(kept)

    @property
    def key(self) -> Hashable:
        return (self.family, self.sums)

    def renew(self, template: PodTemplate) -> None:
        """Look whether anything has changed outside that matters to the template."""
        bases = [plugin.basis(template) for plugin in self._open]
        if bases == self._open_bases:
            return
        changed = [p for p, old, new in zip(self._open, self._open_bases, bases, strict=True) if old != new]
        ties = self._ties_to(changed, template)
        self._open_bases = bases
        news = iter(bases)
        self.bases = [basis if basis is FIXED else next(news) for basis in self.bases]
        if any(self.ties[name] != tie for name, tie in ties.items()):
            self.ties |= ties
            self.kept = _nothing
            self._divide()

    def _ties_to(self, plugins: Iterable[Plugin], template: PodTemplate) -> dict[str, Tie]:
        lineup, ties = self._lineup, {}
        fixed = lineup.fixed_reaches
        for plugin in plugins:
            name = plugin.name
            reach, score_reach = fixed.get(name) or lineup.reaches_of(plugin, template)
            if reach is _CYCLE and score_reach is _CYCLE:
                ties[name] = _OF_EVERY_CYCLE
            else:
                aspect = plugin.aspect(template)
                ties[name] = Tie(self._number if aspect is None else (aspect,), reach, score_reach)
        return ties

    def _divide(self) -> None:
        family: list[Tie] = []
        sums: list[Hashable] = []
        for tie in self.ties.values():
            aspect, reach, score_reach = tie
            if reach is _SUMS and score_reach is _SUMS:
                sums.append(aspect)
            else:
                family.append(tie)
        self.family: Hashable = tuple(family)
        self.sums: Hashable = tuple(sums)
