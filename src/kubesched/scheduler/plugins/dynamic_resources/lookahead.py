"""What a search for devices looks ahead for, once it has turned out to be a long one.

A search tries choices in kube-scheduler's order, and an impossible request at the end may make it try all ways to serve
those before it. Here such a choice is found to be hopeless at once. Nothing else changes: what is left out has no
solution, and no error either, since selectors are only asked ahead of their turn where they answer for all devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesched.errors import InvalidObjectError
from kubesched.scheduler.plugins.dynamic_resources.matching import can_be_served
from kubesched.scheduler.plugins.dynamic_resources.requests import Alternative, ClaimPlan
from kubesched.scheduler.plugins.dynamic_resources.tentative_allocation import DevicePosition, TentativeAllocation


class Lookahead:
    """Knows for every request which devices its selectors select."""

    def __init__(
        self,
        plans: Sequence[ClaimPlan],
        allocation: TentativeAllocation,
        positions: Sequence[DevicePosition],
        is_selected: Callable[[Alternative, DevicePosition], bool],
    ) -> None:
        """InvalidObjectError if a selector has no answer for some device, and what `is_selected` raises."""
        self._plans = plans
        self._allocation = allocation
        self._candidates: dict[Alternative, list[tuple[int, DevicePosition]]] = {}
        for plan in plans:
            for request in plan.requests:
                for alternative in request.alternatives:
                    self._candidates[alternative] = [
                        (number, position)
                        for number, position in enumerate(positions)
                        if is_selected(alternative, position)
                    ]

    @classmethod
    def of(
        cls,
        plans: Sequence[ClaimPlan],
        allocation: TentativeAllocation,
        positions: Sequence[DevicePosition],
        is_selected: Callable[[Alternative, DevicePosition], bool],
    ) -> Lookahead | None:
        """None where looking ahead could change what is reported."""
        if any(plan.wants_all for plan in plans):
            return None
        try:
            return cls(plans, allocation, positions, is_selected)
        except InvalidObjectError:
            return None

    def is_hopeless(self, claim: int, request: int, choice: int | None, taken: int, start: DevicePosition) -> bool:
        """Whether the requests from this one on cannot all be served. Of this one, `taken` devices are chosen.

        With the entry `choice` of its list, if that is chosen; the others are after `start` then.
        """
        wishes: list[tuple[int, int]] = []
        for c in range(claim, len(self._plans)):
            for r in range(request if c == claim else 0, len(self._plans[c].requests)):
                alternatives: Sequence[Alternative] = self._plans[c].requests[r].alternatives
                is_current = (c, r) == (claim, request)
                if is_current and choice is not None:
                    alternatives = alternatives[choice : choice + 1]
                wish = self._wish(c, alternatives, taken if is_current else 0, start if is_current else (0, 0))
                if wish is not None:
                    wishes.append(wish)
        return not can_be_served(wishes)

    def _wish(
        self, claim: int, alternatives: Sequence[Alternative], taken: int, start: DevicePosition
    ) -> tuple[int, int] | None:
        """How many devices there must be for the request at least, and of which; None if that says nothing."""
        candidates = 0
        for alternative in alternatives:
            if alternative.admin_access:
                return None
            for number, position in self._candidates[alternative]:
                if position < start or not self._allocation.may_be_had(claim, alternative, position):
                    continue
                if self._allocation.is_shared(position):
                    return None
                candidates |= 1 << number
        return min(alternative.count for alternative in alternatives) - taken, candidates
