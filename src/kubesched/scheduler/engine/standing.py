"""How a pod template stands to a profile's plugins: what their answers rest on, and which templates share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING
from weakref import ref

from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.engine.lineup import IN_EVERY_CYCLE, Based, Lineup, Reaches
from kubesched.scheduler.framework import FIXED, Plugin

if TYPE_CHECKING:
    from kubesched.scheduler.engine.kept import Kept


def _nothing() -> None:
    return None


class Standing:
    """What each plugin's answers follow from for one template, besides the nodes: version, dependencies, signature.

    Templates with the same reaches and signatures share everything that is kept (`Kept`). Those that differ in the
    signatures of plugins that see sums only still share the rest (`Family`). A external_version that changes may change
    reaches and signatures: these are asked for again.

    Every template has a standing for as long as it lives, so it is made of few objects.
    """

    __slots__ = ("_division", "_lineup", "_open", "_own", "_signatures", "bases", "family", "kept", "sums")

    def __init__(self, template: PodTemplate, lineup: Lineup) -> None:
        self._lineup = lineup
        self.bases = [plugin.external_version(template) for plugin in lineup.with_basis]
        """In the order of the lineup's `with_basis`; another list when one of them has changed."""
        self._open: Sequence[Based] | None = None  # those of them that may change; many a template is seen once only
        reaches = lineup.fixed_reaches.copy()
        for number, reaches_of in lineup.asked_for_reaches.items():
            reaches[number] = reaches_of(template)
        self._division = lineup.division(tuple(reaches))
        if self._division.is_cyclic:
            self._signatures = [
                None if its is IN_EVERY_CYCLE else signature(template)
                for its, signature in zip(reaches, lineup.signatures, strict=True)
            ]
        else:
            self._signatures = [signature(template) for signature in lineup.signatures]
        self._own = object()  # stands for signatures that are None: no other template has it
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
            self._open = self._lineup.based(
                tuple([k for k, external_version in enumerate(self.bases) if external_version is not FIXED])
            )
        bases = self.bases
        changed: list[Plugin] = []
        for number, version_of, plugin in self._open:
            external_version = version_of(template)
            if external_version != bases[number]:
                if not changed:
                    bases = bases.copy()
                bases[number] = external_version
                changed.append(plugin)
        if not changed:
            return
        self.bases = bases
        if self._are_seen_otherwise(changed, template):
            self.kept = _nothing
            self._divide()

    def _are_seen_otherwise(self, plugins: list[Plugin], template: PodTemplate) -> bool:
        """Ask these plugins for their reaches and signatures again; whether any has changed."""
        lineup, reaches, has_changed = self._lineup, self.reaches, False
        for plugin in plugins:
            number = lineup.number_of[plugin.name]
            reaches_of = lineup.asked_for_reaches.get(number)
            its = reaches[number] if reaches_of is None else reaches_of(template)
            signature = None if its is IN_EVERY_CYCLE else plugin.signature(template)
            if its is not reaches[number] or signature != self._signatures[number]:
                has_changed = True
                self._signatures[number] = signature
                reaches = (*reaches[:number], its, *reaches[number + 1 :])
        if has_changed:
            self._division = lineup.division(reaches)
        return has_changed

    def _divide(self) -> None:
        """Into what a family has in common, and what it has not."""
        signatures, division = self._signatures, self._division
        if None in signatures:
            signatures = [self._own if signature is None else signature for signature in signatures]
        self.family: Hashable = (division, division.common(signatures))
        self.sums: Hashable = division.sums(signatures)
