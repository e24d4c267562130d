"""The search for devices: the first way to satisfy all claims of a pod on one node (allocator.allocateOne).

One claim after the other, one request after the other, one device after the other, with all devices of the node as
candidates, in their order. Each level of the search is a generator that makes one choice, asks for the rest
(`yield`), and when that failed undoes the choice and makes the next one. That is a recursion without its depth limit,
and one that can be interrupted between two choices and go on later.
"""

from __future__ import annotations

import enum
from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.scheduler.plugins.dynamic_resources.capacity import CapacityError
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.dynamic_resources.lookahead import Lookahead
from kubesched.scheduler.plugins.dynamic_resources.node_classes import NodePools
from kubesched.scheduler.plugins.dynamic_resources.requests import Alternative, ClaimPlan
from kubesched.scheduler.plugins.dynamic_resources.tentative_allocation import DevicePosition, Pick, TentativeAllocation
from kubesched.scheduler.plugins.support.devices.budget import Budget, BudgetSpent
from kubesched.scheduler.plugins.support.devices.selection import Selectors

MOST_DEVICES_PER_CLAIM: Final = 32
_LONG: Final = 256
"""After so many steps a search looks ahead, and remembers what was in vain. A short one would only get longer."""
_LOOKAHEAD_STEPS: Final = 4
_MOST_REMEMBERED: Final = 50_000
_START: Final = (0, 0)


class Answer(enum.Enum):
    FAILED = enum.auto()
    EXCEEDED = enum.auto()
    """There would be more devices than a claim can hold: other devices make no difference, fewer would."""


@dataclass(frozen=True, slots=True)
class _Level:
    """What to decide next. `choice` is the chosen entry of a prioritised list, None if that is to be chosen."""

    claim: int = 0
    request: int = 0
    choice: int | None = None
    device: int = 0
    start: DevicePosition = _START


_Search = Generator[_Level | None, Answer, Answer]
"""Yields what comes after a choice, or None when all is decided."""


class Search:
    """One run over one node's pools. Pools and plans are only read."""

    def __init__(
        self,
        plans: Sequence[ClaimPlan],
        node: NodePools,
        selectors: Selectors,
        features: DeviceFeatures,
    ) -> None:
        self._plans = plans
        self._pools = node.pools
        self._selectors = selectors
        self._features = features
        self._budget: Budget | None = None
        self._levels: list[tuple[_Search, Hashable]] = []
        """The choices so far, each with the state in which it was to be made (once the search is long)."""
        self._answer: Answer | None = None
        self._steps = 0
        self._failed: dict[Hashable, Answer] = {}
        """What came of choices that were to be made in a state, once the search is long."""
        self._lookahead: Lookahead | None = None
        self.is_broken = False
        """Whether it cannot go on, since it was interrupted in the middle of a choice."""
        self._allocation = TentativeAllocation(plans, node, features)
        self._everything: dict[Alternative, list[DevicePosition]] = {}
        self.choices: dict[tuple[int, int], int] = {}
        """By claim and request: the chosen entry of a prioritised list."""

    @property
    def picks(self) -> list[list[Pick]]:
        """The chosen devices of each claim."""
        return self._allocation.picks

    def run(self, budget: Budget | None = None) -> bool:
        """Whether all claims can be satisfied. InvalidObjectError if a claim makes no sense here.

        BudgetSpent if that takes too long: call it again to go on, unless the search is broken then.
        """
        self._budget = budget
        self.is_broken = True
        if not self._steps:
            for plan in self._plans:
                self._count_devices(plan)
            self._levels = [(self._decide(_Level()), None)]
        while self._levels:
            if budget is not None and budget.is_spent:
                self.is_broken = False
                raise BudgetSpent
            if self._step():
                return True
        return False

    def _step(self) -> bool:
        """Make one choice, or take one back; True if all is decided."""
        self._steps += 1
        if self._budget is not None:
            self._budget.steps += 1
        if self._steps == _LONG:
            self._lookahead = Lookahead.of(self._plans, self._allocation, self._positions(), self._is_selected)
        level, state = self._levels[-1]
        try:
            following = next(level) if self._answer is None else level.send(self._answer)
        except StopIteration as end:
            self._levels.pop()
            self._answer = end.value
            if state is not None:
                self._remember(state, end.value)
            return False
        if following is None:
            return True
        state = self._state(following) if self._steps > _LONG else None
        self._answer = self._failed.get(state)
        if self._answer is None and state is not None and self._is_hopeless(following):
            self._answer = Answer.FAILED
            self._remember(state, self._answer)
        if self._answer is None:
            self._levels.append((self._decide(following), state))
        return False

    def _state(self, at: _Level) -> Hashable:
        """Everything that the answer depends on."""
        if at.claim == len(self._plans):
            return None
        requests = self._plans[at.claim].requests
        name = requests[at.request].alternatives[0].request if at.request < len(requests) else ""
        return at, self._allocation.state(at.claim, name)

    def _remember(self, state: Hashable, answer: Answer) -> None:
        if len(self._failed) >= _MOST_REMEMBERED:
            self._failed.clear()
        self._failed[state] = answer

    def _is_hopeless(self, at: _Level) -> bool:
        if self._lookahead is None:
            return False
        if self._budget is not None:
            self._budget.steps += _LOOKAHEAD_STEPS
        return self._lookahead.is_hopeless(at.claim, at.request, at.choice, at.device, at.start)

    def _positions(self) -> list[DevicePosition]:
        return [
            (p, k)
            for p, pool in enumerate(self._pools)
            if not (pool.is_incomplete or pool.is_invalid)
            for k in range(len(pool.devices))
        ]

    def _count_devices(self, plan: ClaimPlan) -> None:
        fewest = 0
        for request in plan.requests:
            for alternative in request.alternatives:
                if alternative.wants_all:
                    self._everything[alternative] = self._all_devices(plan, alternative)
            more = min(map(self._device_count, request.alternatives))
            if self._features.names_devices and fewest + more > MOST_DEVICES_PER_CLAIM:
                raise InvalidObjectError(
                    f"claim {plan.key}, request {request.alternatives[0].request}: adding {more} devices exceeds the "
                    f"claim limit of {MOST_DEVICES_PER_CLAIM}, with {fewest} already accounted for"
                )
            fewest += more
        if fewest > MOST_DEVICES_PER_CLAIM:
            raise InvalidObjectError(
                f"claim {plan.key}: number of requested devices {fewest} exceeds the claim limit of "
                f"{MOST_DEVICES_PER_CLAIM}"
            )

    def _all_devices(self, plan: ClaimPlan, alternative: Alternative) -> list[DevicePosition]:
        found = []
        for p, pool in enumerate(self._pools):
            if pool.is_incomplete or pool.is_invalid:
                problem = "being updated" if pool.is_incomplete else "invalid"
                raise InvalidObjectError(
                    f"claim {plan.key}, request {alternative.name}: asks for all devices, but resource pool "
                    f"{'/'.join(pool.id)} is currently {problem}"
                )
            found += [
                (p, k)
                for k in range(len(pool.devices))
                if self._is_selected(alternative, (p, k))
                and self._has_capacity(plan, alternative, (p, k), at_all=self._features.all_means_all)
            ]
        return found

    def _has_capacity(
        self, plan: ClaimPlan, alternative: Alternative, position: DevicePosition, *, at_all: bool = False
    ) -> bool:
        try:
            return self._allocation.has_capacity(alternative, position, at_all=at_all)
        except CapacityError as error:
            device = (
                self._allocation.device(position).name
                if alternative.wants_all
                else self._allocation.device_name(position)
            )
            raise InvalidObjectError(
                f"claim {plan.key}, request {alternative.name}: checking capacity for device {device}: {error.problem}"
            ) from error

    def _device_count(self, alternative: Alternative) -> int:
        return len(self._everything[alternative]) if alternative.wants_all else alternative.count

    def _decide(self, at: _Level) -> _Search:
        if at.claim == len(self._plans):
            yield None
            raise AssertionError("nobody asks for more than the first solution")
        requests = self._plans[at.claim].requests
        if at.request == len(requests):
            yield _Level(at.claim + 1)
            return Answer.FAILED  # too many devices in a later claim do not speak against this one's choices
        if at.choice is None and requests[at.request].is_list:
            return (yield from self._decide_list(at, len(requests[at.request].alternatives)))
        alternative = requests[at.request].alternatives[at.choice or 0]
        count = self._device_count(alternative)
        if alternative.wants_all and not count:
            return Answer.FAILED
        if at.device >= count:
            return (yield _Level(at.claim, at.request + 1))
        if len(self.picks[at.claim]) + count - at.device > MOST_DEVICES_PER_CLAIM:
            return Answer.EXCEEDED
        if alternative.wants_all:
            return (yield from self._take_next_of_all(at, alternative))
        return (yield from self._decide_device(at, alternative))

    def _decide_list(self, at: _Level, entries: int) -> _Search:
        always_exceeded = True
        for choice in range(entries):
            self.choices[at.claim, at.request] = choice
            answer = yield _Level(at.claim, at.request, choice)
            always_exceeded &= answer is Answer.EXCEEDED
        return Answer.EXCEEDED if always_exceeded else Answer.FAILED

    def _take_next_of_all(self, at: _Level, alternative: Alternative) -> _Search:
        undo = self._allocation.allocate_device(
            at.claim, alternative, self._everything[alternative][at.device], must=True
        )
        if undo is None:
            return Answer.FAILED
        answer = yield _Level(at.claim, at.request, at.choice, at.device + 1)
        undo()
        return answer

    def _decide_device(self, at: _Level, alternative: Alternative) -> _Search:
        allocation, hopeless = self._allocation, set()
        for p in range(at.start[0], len(self._pools)):
            pool = self._pools[p]
            if pool.is_incomplete or pool.is_invalid:
                continue
            for k in range(at.start[1] if p == at.start[0] else 0, len(pool.devices)):
                position = (p, k)
                if not allocation.is_free(at.claim, alternative, position):
                    continue
                # What could not be completed with one device cannot be with its like: there are even fewer left then.
                equivalence_key = allocation.equivalence_key(position)
                if equivalence_key in hopeless or not self._is_selected(alternative, position):
                    continue
                if not self._has_capacity(self._plans[at.claim], alternative, position):
                    continue
                undo = allocation.allocate_device(at.claim, alternative, position, must=False)
                if undo is not None:
                    answer = yield _Level(at.claim, at.request, at.choice, at.device + 1, (p, k + 1))
                    undo()
                    if answer is Answer.EXCEEDED:
                        return answer
                hopeless.add(equivalence_key)
        return Answer.FAILED

    def _is_selected(self, alternative: Alternative, position: DevicePosition) -> bool:
        device = self._allocation.device(position)
        if device.kind.device.binding_conditions and not self._features.binding_conditions:
            return False
        name = self._allocation.device_name(position) if self._features.names_devices else ""
        return self._selectors.select(alternative.conditions, device.kind, self._budget, name) and device.is_here
