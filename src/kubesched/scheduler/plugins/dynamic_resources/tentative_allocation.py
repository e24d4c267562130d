"""The devices chosen so far in a search, and what is left with them gone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kubesched.errors import InvalidObjectError
from kubesched.objects.quantity import Quantity
from kubesched.scheduler.plugins.dynamic_resources.capacity import consumption, fits_capacity
from kubesched.scheduler.plugins.dynamic_resources.constraints import constraints_of
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.dynamic_resources.node_classes import NodePools
from kubesched.scheduler.plugins.dynamic_resources.pools import PoolDevice
from kubesched.scheduler.plugins.dynamic_resources.requests import Alternative, ClaimPlan
from kubesched.scheduler.plugins.dynamic_resources.taints import taints_prevent
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind

DevicePosition = tuple[int, int]
"""(pool, device in the pool)"""
Undo = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Pick:
    """A device chosen for a request. `consumed` is set for devices that are shared."""

    alternative: Alternative
    position: DevicePosition
    consumed: dict[str, Quantity] | None = None

    def content(self) -> object:
        """Equal for picks of the same position for the same request."""
        consumed = tuple(self.consumed.items()) if self.consumed is not None else None
        return self.alternative.reference, self.position, consumed


class TentativeAllocation:
    """The devices of one node, with those gone that were chosen so far.

    `allocate_device` and its undo are called like brackets: the last device taken is the first to be given back.
    """

    def __init__(self, plans: Sequence[ClaimPlan], node: NodePools, features: DeviceFeatures) -> None:
        """InvalidObjectError for a claim whose constraints say nothing."""
        self._plans = plans
        self._node = node
        self._features = features
        self._constraints = [constraints_of(plan.claim, features) for plan in plans]
        self._order_matters = any(plan.wants_all and plan.claim.spec.devices.constraints for plan in plans)
        self._claimed: dict[DevicePosition, set[int]] = {}
        self._consumed = {(p, k): dict(amounts) for p, state in enumerate(node.states) for k, amounts in state.consumed}
        self._consuming: dict[DevicePosition, dict[str, int]] = {}
        self._counters: dict[int, dict[tuple[str, str], int]] = {}
        self._first_number = [0, *accumulate(len(pool.devices) for pool in node.pools)]
        self.picks: list[list[Pick]] = [[] for _ in plans]

    def device(self, position: DevicePosition) -> PoolDevice:
        return self._node.pools[position[0]].devices[position[1]]

    def kind(self, position: DevicePosition) -> DeviceKind:
        return self.device(position).kind

    def is_free(self, claim: int, alternative: Alternative, position: DevicePosition) -> bool:
        """Admin access may be had to any device, but only once per claim."""
        claimed = self._claimed.get(position)
        if alternative.admin_access:
            return not claimed or claim not in claimed
        return not claimed and not self._node.states[position[0]].in_use >> position[1] & 1

    def device_name(self, position: DevicePosition) -> str:
        """As messages name it, with its driver and pool."""
        return "/".join((*self._node.pools[position[0]].id, self.device(position).name))

    def has_capacity(self, alternative: Alternative, position: DevicePosition, *, at_all: bool = False) -> bool:
        """Whether enough is left of the device; `at_all`: whether it would be if nobody else used it.

        CapacityError for a request that cannot be counted.
        """
        if not self._features.consumable_capacity:
            return True
        capacity = self.kind(position).device.capacity
        if at_all:
            return fits_capacity(alternative.capacity, capacity, features=self._features)
        consumed, consuming = self._consumed.get(position, {}), self._consuming.get(position, {})
        return fits_capacity(alternative.capacity, capacity, consumed, consuming, features=self._features)

    def equivalence_key(self, position: DevicePosition) -> object:
        """Equal for two devices of a node if it makes no difference which of them is taken."""
        if self._order_matters:
            # All devices are wanted, one of them is taken, another breaks a constraint: which comes first is reported.
            return position
        claimed, consumed = self._claimed.get(position), self._consumed.get(position)
        consuming = self._consuming.get(position)
        device = self.device(position)
        return (
            position[0],
            device.kind.number,
            device.is_here,
            frozenset(claimed) if claimed else None,
            frozenset(consumed.items()) if consumed is not None else None,
            frozenset(consuming.items()) if consuming is not None else None,
        )

    def state(self, claim: int, request: str) -> Hashable:
        """Equal for two sets of choices that leave the same choices to the request and those after it."""
        claimed = [0] * len(self._plans)  # by claim: a bit for each device
        for (pool, device), claims in self._claimed.items():
            for holder in claims:
                claimed[holder] |= 1 << self._first_number[pool] + device
        return (
            *claimed,
            frozenset((position, frozenset(amounts.items())) for position, amounts in self._consuming.items()),
            *(constraint.state(request) for constraint in self._constraints[claim]),
            len(self.picks[claim]),
        )

    def may_be_had(self, claim: int, alternative: Alternative, position: DevicePosition) -> bool:
        """False only if the device cannot be chosen, whatever else is chosen besides the devices so far."""
        kind = self.kind(position)
        return self.is_free(claim, alternative, position) and all(
            constraint.allows(alternative.request, alternative.sub_request, kind)
            for constraint in self._constraints[claim]
        )

    def is_shared(self, position: DevicePosition) -> bool:
        """Whether several claims can have the device."""
        return self._features.consumable_capacity and bool(self.kind(position).device.allow_multiple_allocations)

    def allocate_device(
        self, claim: int, alternative: Alternative, position: DevicePosition, *, must: bool
    ) -> Undo | None:
        """Choose a device that the request selects; None, and nothing has changed, if it cannot be had.

        `must`: there is no other choice. A broken constraint is a mistake in the claim then: InvalidObjectError.
        """
        kind = self.kind(position)
        is_shared = self.is_shared(position)
        if not ((is_shared and alternative.admin_access) or self.is_free(claim, alternative, position)):
            return None
        if kind.consumes and not self._features.partitionable_devices:
            return None
        if self._features.device_taints and taints_prevent(kind.device.taints, alternative.tolerated):
            return None
        in_use_already = is_shared and (position in self._consumed or position in self._consuming)
        counts = bool(kind.consumes) and not in_use_already
        if counts and not self._consume_counters(position):
            return None
        is_constrained = not self._constrain(claim, alternative, kind)
        if is_constrained or not self.has_capacity(alternative, position):
            if not is_constrained:
                self._unconstrain(claim, alternative, kind)
            if counts:
                self._release_counters(position)
            if is_constrained and must:
                raise InvalidObjectError(self._constraint_problem(claim, alternative, position))
            return None
        return self._taken(claim, alternative, position, is_shared=is_shared, counts=counts)

    def _taken(
        self, claim: int, alternative: Alternative, position: DevicePosition, *, is_shared: bool, counts: bool
    ) -> Undo:
        kind = self.kind(position)
        before = self._consuming.get(position)
        consumed: dict[str, Quantity] | None = None
        if is_shared:
            consumed = consumption(alternative.capacity, kind.device.capacity, self._features)
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
            self._unconstrain(claim, alternative, kind)
            if counts:
                self._release_counters(position)

        return undo

    def _constrain(self, claim: int, alternative: Alternative, kind: DeviceKind) -> bool:
        """False, and no constraint has changed, if one of the claim's would be broken."""
        constraints = self._constraints[claim]
        for k, constraint in enumerate(constraints):
            if not constraint.add(alternative.request, alternative.sub_request, kind):
                for added in reversed(constraints[:k]):
                    added.remove(alternative.request, alternative.sub_request, kind)
                return False
        return True

    def _unconstrain(self, claim: int, alternative: Alternative, kind: DeviceKind) -> None:
        for constraint in reversed(self._constraints[claim]):
            constraint.remove(alternative.request, alternative.sub_request, kind)

    def _constraint_problem(self, claim: int, alternative: Alternative, position: DevicePosition) -> str:
        return (
            f"claim {self._plans[claim].key}, request {alternative.name}: cannot add device "
            f"{self.device_name(position)} because a claim constraint would not be satisfied"
        )

    def _consume_counters(self, position: DevicePosition) -> bool:
        """False, and nothing is consumed, if any counter of the pool is overdrawn then."""
        left = self._counters.get(position[0])
        if left is None:
            state = self._node.states[position[0]]
            left = self._counters[position[0]] = {(group, name): amount for group, name, amount in state.counters}
        for group, name, amount in self.kind(position).consumes:
            left[group, name] -= amount
        if any(amount < 0 for amount in left.values()):
            self._release_counters(position)
            return False
        return True

    def _release_counters(self, position: DevicePosition) -> None:
        left = self._counters[position[0]]
        for group, name, amount in self.kind(position).consumes:
            left[group, name] += amount
