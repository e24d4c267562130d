"""What searches found, kept per class of nodes for claims that want the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubesched.scheduler.columns import Integers
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.plugins.dynamic_resources.requests import Alternative, ClaimPlan
from kubesched.scheduler.plugins.dynamic_resources.search import Search
from kubesched.scheduler.plugins.dynamic_resources.tentative_allocation import Pick

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
INVALID_POOLS: Final = "invalid resource pools were encountered"
UNKNOWN: Final = -1
_LIST_SIZE: Final = 8  # FirstAvailableDeviceRequestMaxSize


@dataclass(frozen=True, slots=True)
class Outcome:
    """The devices chosen for each claim, by their positions; `problem` says why there are none."""

    picks: tuple[tuple[Pick, ...], ...] = ()
    choices: tuple[tuple[int, ...], ...] = ()
    """For each request of each claim: which alternative was taken."""
    problem: str = ""

    def chosen(self, plans: Sequence[ClaimPlan]) -> list[list[Alternative]]:
        return [
            [request.alternatives[choice] for request, choice in zip(plan.requests, choices, strict=True)]
            for plan, choices in zip(plans, self.choices, strict=True)
        ]

    def score(self) -> int:
        """The earlier in its list an alternative stands, the better (computeScore)."""
        taken = {
            (claim, pick.alternative.request): score_of_rank(pick.alternative.rank)
            for claim, picks in enumerate(self.picks)
            for pick in picks
            if pick.alternative.sub_request
        }
        return sum(taken.values())

    def content(self) -> object:
        """Equal for outcomes that take the same positions for the same requests."""
        picks = tuple(tuple(pick.content() for pick in of_claim) for of_claim in self.picks)
        return self.problem, self.choices, picks


def score_of_rank(rank: int) -> int:
    return _LIST_SIZE - rank


class OutcomeCache:
    """For claims that want the same: the outcome for each class of nodes that was searched. Few outcomes differ."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self._number_of: dict[object, int] = {}
        self._numbers: Integers = np.full(64, UNKNOWN, dtype=np.int64)
        self.seconds = 0.0
        """That searches took so far, and steps."""
        self.steps = 0
        self.interrupted: tuple[int, Search] | None = None
        """The class of nodes whose search is not done, and the search: it can go on."""

    def numbers(self, node_classes: Integers) -> Integers:
        """For each class, the number of its outcome in `outcomes`, or UNKNOWN."""
        highest = int(node_classes.max()) if len(node_classes) else 0
        if highest >= len(self._numbers):
            self._numbers = grown(self._numbers, 2 * highest, UNKNOWN)
        return self._numbers[node_classes]

    def is_unknown(self, node_class: int) -> bool:
        """Only for classes that `numbers` was asked about."""
        return bool(self._numbers[node_class] == UNKNOWN)

    def fits_any(self, node_classes: Integers) -> bool:
        """Whether devices were found for one of these classes."""
        found = np.unique(self.numbers(node_classes)).tolist()
        return any(number != UNKNOWN and not self.outcomes[number].problem for number in found)

    def add(self, node_class: int, outcome: Outcome) -> None:
        """Only for classes that `numbers` was asked about."""
        number = self._number_of.setdefault(outcome.content(), len(self.outcomes))
        if number == len(self.outcomes):
            self.outcomes.append(outcome)
        self._numbers[node_class] = number
