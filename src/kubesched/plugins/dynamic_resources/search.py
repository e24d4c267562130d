"""The search for devices: the first way to satisfy all claims of a pod on one node (allocator.allocateOne).

One claim after the other, one request after the other, one device after the other, with all devices of the node as
candidates, in their order. Each level of the search is a generator that makes one choice, asks for the rest
(`yield`), and when that failed undoes the choice and makes the next one. That is a recursion without its depth limit.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects import Quantity
from kubesched.plugins.dynamic_resources.capacity import consumption, fits_capacity
from kubesched.plugins.dynamic_resources.constraints import Constraint, constraints_of
from kubesched.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.plugins.dynamic_resources.places import NodePools
from kubesched.plugins.dynamic_resources.requests import Alternative, ClaimPlan
from kubesched.plugins.dynamic_resources.selection import Selectors
from kubesched.plugins.dynamic_resources.taints import taints_prevent

MOST_DEVICES_PER_CLAIM: Final = 32

DevicePosition = tuple[int, int]
"""(pool, device in the pool)"""
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


@dataclass(frozen=True, slots=True)
class Pick:
    """A device chosen for a request. `consumed` is set for devices that are shared."""

    alternative: Alternative
    position: DevicePosition
    consumed: dict[str, Quantity] | None = None


Undo = Callable[[], None]


class Search:
    """One run over one node's pools. Pools and plans are only read."""

    def __init__(
        self,
        plans: Sequence[ClaimPlan],
        node: NodePools,
        selectors: Selectors,
        features: DeviceFeatures,
        check_time: Callable[[], None] = lambda: None,
    ) -> None:
        """`check_time` raises when the search takes too long."""
        self._plans = plans
        self._pools = node.pools
        self._states = node.states
        self._selectors = selectors
        self._features = features
        self._check_time = check_time
        self._claimed: dict[DevicePosition, set[int]] = {}
        self._consumed = {(p, k): dict(amounts) for p, state in enumerate(node.states) for k, amounts in state.consumed}
        self._consuming: dict[DevicePosition, dict[str, int]] = {}
        self._counters: dict[int, dict[tuple[str, str], int]] = {}
        self._constraints: list[list[Constraint]] = []
        self._everything: dict[Alternative, list[DevicePosition]] = {}
        self.picks: list[list[Pick]] = []
        self.choices: dict[tuple[int, int], int] = {}
        """By claim and request: the chosen entry of a prioritised list."""

    def run(self) -> bool:
        """Whether all claims can be satisfied; `picks` tells how. InvalidObjectError if a claim makes no sense."""
        for plan in self._plans:
            self._prepare(plan)
        levels = [self._decide(_Level())]
        answer: Answer | None = None
        while levels:
            try:
                following = next(levels[-1]) if answer is None else levels[-1].send(answer)
            except StopIteration as end:
                levels.pop()
                answer = end.value
                continue
            if following is None:
                return True
            levels.append(self._decide(following))
            answer = None
        return False

    def _prepare(self, plan: ClaimPlan) -> None:
        fewest = 0
        for request in plan.requests:
            for alternative in request.alternatives:
                if alternative.wants_all:
                    self._everything[alternative] = self._all_devices(plan, alternative)
            fewest += min(map(self._device_count, request.alternatives))
        if fewest > MOST_DEVICES_PER_CLAIM:
            raise InvalidObjectError(
                f"claim {plan.key}: number of requested devices {fewest} exceeds the claim limit of "
                f"{MOST_DEVICES_PER_CLAIM}"
            )
        self._constraints.append(constraints_of(plan.claim))
        self.picks.append([])

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
                if self._is_selected(alternative, (p, k)) and self._has_capacity(alternative, (p, k))
            ]
        return found

    def _device_count(self, alternative: Alternative) -> int:
        return len(self._everything[alternative]) if alternative.wants_all else alternative.count

    def _decide(self, at: _Level) -> _Search:
        self._check_time()
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
        undo = self._take(at.claim, alternative, self._everything[alternative][at.device], must=True)
        if undo is None:
            return Answer.FAILED
        answer = yield _Level(at.claim, at.request, at.choice, at.device + 1)
        undo()
        return answer

    def _decide_device(self, at: _Level, alternative: Alternative) -> _Search:
        hopeless = set()
        for p in range(at.start[0], len(self._pools)):
            pool = self._pools[p]
            if pool.is_incomplete or pool.is_invalid:
                continue
            for k in range(at.start[1] if p == at.start[0] else 0, len(pool.devices)):
                position = (p, k)
                if not self._is_free(at.claim, alternative, position):
                    continue
                # What could not be completed with one device cannot be with its twin: there are even fewer left.
                twins = self._interchangeable(position)
                if twins in hopeless or not self._is_selected(alternative, position):
                    continue
                undo = self._take(at.claim, alternative, position, must=False)
                if undo is not None:
                    answer = yield _Level(at.claim, at.request, at.choice, at.device + 1, (p, k + 1))
                    undo()
                    if answer is Answer.EXCEEDED:
                        return answer
                hopeless.add(twins)
        return Answer.FAILED

    def _interchangeable(self, position: DevicePosition) -> object:
        p, k = position
        claimed, consumed = self._claimed.get(position), self._consumed.get(position)
        consuming = self._consuming.get(position)
        return (
            p,
            self._pools[p].devices[k].kind.number,
            frozenset(claimed) if claimed else None,
            frozenset(consumed.items()) if consumed is not None else None,
            frozenset(consuming.items()) if consuming is not None else None,
        )

    def _is_free(self, claim: int, alternative: Alternative, position: DevicePosition) -> bool:
        claimed = self._claimed.get(position)
        if alternative.admin_access:
            return not claimed or claim not in claimed
        return not claimed and not self._states[position[0]].in_use >> position[1] & 1

    def _is_selected(self, alternative: Alternative, position: DevicePosition) -> bool:
        kind = self._pools[position[0]].devices[position[1]].kind
        if kind.device.binding_conditions and not self._features.binding_conditions:
            return False
        return self._selectors.select(alternative.conditions, kind)

    def _has_capacity(self, alternative: Alternative, position: DevicePosition) -> bool:
        if not self._features.consumable_capacity:
            return True
        device = self._pools[position[0]].devices[position[1]].kind.device
        return fits_capacity(
            alternative.capacity,
            device.capacity,
            self._consumed.get(position, {}),
            self._consuming.get(position, {}),
        )

    def _take(self, claim: int, alternative: Alternative, position: DevicePosition, *, must: bool) -> Undo | None:
        """Choose a device that is selected; None if it cannot be had. `must`: there is no other choice."""
        kind = self._pools[position[0]].devices[position[1]].kind
        is_shared = self._features.consumable_capacity and bool(kind.device.allow_multiple_allocations)
        if not ((is_shared and alternative.admin_access) or self._is_free(claim, alternative, position)):
            return None
        if not self._has_capacity(alternative, position):
            return None
        if kind.consumes and not self._features.partitionable_devices:
            return None
        if self._features.device_taints and taints_prevent(kind.device.taints, alternative.tolerations):
            return None
        in_use_already = is_shared and (position in self._consumed or position in self._consuming)
        counts = bool(kind.consumes) and not in_use_already
        if counts and not self._consume_counters(position):
            return None
        broken = self._constrain(claim, alternative, position)
        if broken:
            if counts:
                self._release_counters(position)
            if must:
                raise InvalidObjectError(self._constraint_problem(claim, alternative, position))
            return None
        return self._taken(claim, alternative, position, is_shared=is_shared, counts=counts)

    def _taken(
        self, claim: int, alternative: Alternative, position: DevicePosition, *, is_shared: bool, counts: bool
    ) -> Undo:
        device = self._pools[position[0]].devices[position[1]]
        before = self._consuming.get(position)
        consumed: dict[str, Quantity] | None = None
        if is_shared:
            consumed = consumption(alternative.capacity, device.kind.device.capacity)
            total = dict(before or {})
            for name, amount in consumed.items():
                total[name] = total.get(name, 0) + amount.nanos
            self._consuming[position] = total
        else:
            self._claimed.setdefault(position, set()).add(claim)
        self.picks[claim].append(Pick(alternative, position, consumed))

        def undo() -> None:
            self.picks[claim].pop()
            if not is_shared:
                self._claimed[position].discard(claim)
            elif before is None:
                del self._consuming[position]
            else:
                self._consuming[position] = before
            for constraint in reversed(self._constraints[claim]):
                constraint.remove(alternative.request, alternative.sub_request, device.kind)
            if counts:
                self._release_counters(position)

        return undo

    def _constrain(self, claim: int, alternative: Alternative, position: DevicePosition) -> bool:
        """Whether a constraint of the claim would be broken; none has changed then."""
        kind = self._pools[position[0]].devices[position[1]].kind
        constraints = self._constraints[claim]
        for k, constraint in enumerate(constraints):
            if not constraint.add(alternative.request, alternative.sub_request, kind):
                for added in reversed(constraints[:k]):
                    added.remove(alternative.request, alternative.sub_request, kind)
                return True
        return False

    def _constraint_problem(self, claim: int, alternative: Alternative, position: DevicePosition) -> str:
        pool = self._pools[position[0]]
        return (
            f"claim {self._plans[claim].key}, request {alternative.name}: cannot add device "
            f"{'/'.join(pool.id)}/{pool.devices[position[1]].name} because a claim constraint would not be satisfied"
        )

    def _consume_counters(self, position: DevicePosition) -> bool:
        """False, and nothing is consumed, if any counter of the pool is overdrawn then."""
        p, k = position
        left = self._counters.get(p)
        if left is None:
            left = self._counters[p] = {(group, name): n for group, name, n in self._states[p].counters}
        for group, name, amount in self._pools[p].devices[k].kind.consumes:
            left[group, name] -= amount
        if any(amount < 0 for amount in left.values()):
            self._release_counters(position)
            return False
        return True

    def _release_counters(self, position: DevicePosition) -> None:
        p, k = position
        for group, name, amount in self._pools[p].devices[k].kind.consumes:
            self._counters[p][group, name] += amount
