"""Which devices are taken: by claims as the informers know them, as just written, and as about to be written.

    reserve ──► pending ──PreBind──► assumed ──watch event──► (the store)
                   └──unreserve──► (nothing)

A pending allocation is decided, but not written: its devices are taken, and other pods must wait for the claim. Pods of
one group may hold it together: the first that is bound writes it, and if none is, the last that lets go ends it.
An assumed claim was written, and the watch has not delivered it yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from kubesched.objects import ResourceClaim
from kubesched.objects.dra import AllocationResult
from kubesched.scheduler.columns import Journal
from kubesched.scheduler.framework import ObjectStore, ObjectStores

PoolId = tuple[str, str]
"""(driver, pool name)"""


@dataclass(slots=True)
class PoolUsage:
    """What is taken of one pool, by device name. Admin access takes nothing."""

    owners: Counter[str] = field(default_factory=Counter)
    """Devices that belong to one claim alone."""
    shares: Counter[str] = field(default_factory=Counter)
    """Devices that are allocated to several claims, and how often."""
    capacity: dict[str, Counter[str]] = field(default_factory=dict)
    """Of shared devices: how much of each capacity is consumed, in nanos."""

    def count(self, devices: Iterable[str]) -> int:
        """How many of these devices somebody has, or a share of them."""
        owners, shares = self.owners, self.shares
        return sum([device in owners or device in shares for device in devices])


_UNUSED = PoolUsage()


@dataclass(frozen=True, slots=True)
class _Pending:
    """A claim with its allocation, and the uids of the pods that count on it."""

    claim: ResourceClaim
    holders: set[str]


class ClaimTracker:
    """The claims with their allocations, and the devices taken by them."""

    def __init__(self, claims: ObjectStore[ResourceClaim], *, counts_shares: bool) -> None:
        """Without `counts_shares` (gate DRAConsumableCapacity) a shared device counts as taken altogether."""
        self._claims = claims
        self._counts_shares = counts_shares
        self._assumed: dict[str, ResourceClaim] = {}
        self._pending: dict[str, _Pending] = {}
        self._counted: dict[str, AllocationResult] = {}
        self._usage: dict[PoolId, PoolUsage] = {}
        self.touched: Journal[PoolId] = Journal()
        """The pools whose usage changed."""
        self._by_owner: dict[str, dict[str, ResourceClaim]] = {}
        claims.subscribe(self._changed)

    @classmethod
    def shared(cls, objects: ObjectStores, *, counts_shares: bool) -> ClaimTracker:
        """The one tracker of all plugins and profiles."""
        return objects.derived(cls, lambda: cls(objects.of(ResourceClaim), counts_shares=counts_shares))

    # ---- claims --------------------------------------------------------------------------------------------------

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        """The latest known version of a claim."""
        return self._assumed.get(f"{namespace}/{name}") or self._claims.get(name, namespace)

    def latest(self, claim: ResourceClaim) -> ResourceClaim:
        """A claim as it is known now; as given, if it is gone."""
        known = self.get(claim.metadata.namespace, claim.metadata.name)
        return known if known is not None and known.metadata.uid == claim.metadata.uid else claim

    def owned_by(self, owner_uid: str) -> list[ResourceClaim]:
        """The claims that an object manages."""
        return [self._assumed.get(key, claim) for key, claim in self._by_owner.get(owner_uid, {}).items()]

    def assume(self, claim: ResourceClaim) -> bool:
        """Take over a claim that was just written. False if the informer does not know it (yet), or knows better."""
        known = self._claims.get(claim.metadata.name, claim.metadata.namespace)
        if known is None or known.metadata.uid != claim.metadata.uid or _version(known) > _version(claim):
            return False
        self._assumed[claim.metadata.key] = claim
        self._recount(claim.metadata.uid, claim)
        return True

    def forget(self, namespace: str, name: str) -> None:
        """Back to what the informer knows."""
        assumed = self._assumed.pop(f"{namespace}/{name}", None)
        if assumed is not None:
            self._recount(assumed.metadata.uid, self._claims.get(name, namespace))

    # ---- allocations on their way ----------------------------------------------------------------------------------

    def pending(self, uid: str) -> AllocationResult | None:
        pending = self._pending.get(uid)
        return pending.claim.status.allocation if pending is not None else None

    def is_held_by(self, uid: str, pods: Set[str]) -> bool:
        """Whether one of these pods holds the pending allocation of a claim."""
        pending = self._pending.get(uid)
        return pending is not None and not pending.holders.isdisjoint(pods)

    def add_pending(self, claim: ResourceClaim, holder: str) -> None:
        """Count the allocation in this claim's status, though nobody has written it. One that is pending stays."""
        pending = self._pending.setdefault(claim.metadata.uid, _Pending(claim, set()))
        pending.holders.add(holder)
        self._recount(claim.metadata.uid, self.get(claim.metadata.namespace, claim.metadata.name))

    def remove_pending(self, uid: str, holder: str, *, is_written: bool = False) -> bool:
        """A pod lets go of an allocation: written, it ends for all holders. True if it ended.

        Idempotent: nothing happens if the pod does not hold it (any longer).
        """
        pending = self._pending.get(uid)
        if pending is None or holder not in pending.holders:
            return False
        pending.holders.remove(holder)
        if pending.holders and not is_written:
            return False
        del self._pending[uid]
        self._recount(uid, self.get(pending.claim.metadata.namespace, pending.claim.metadata.name))
        return True

    # ---- devices ---------------------------------------------------------------------------------------------------

    def usage(self, pool: PoolId) -> PoolUsage:
        return self._usage.get(pool, _UNUSED)

    def _changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        claim = new or old
        assert claim is not None
        self._index(old, new)
        assumed = self._assumed.get(claim.metadata.key)
        if assumed is not None:
            if new is not None and new.metadata.uid == assumed.metadata.uid and _version(new) < _version(assumed):
                return
            del self._assumed[claim.metadata.key]
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self._recount(old.metadata.uid, None)
        if new is not None:
            self._recount(new.metadata.uid, new)

    def _index(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if old is not None and (owner := old.metadata.controller_of) is not None:
            owned = self._by_owner.get(owner.uid, {})
            owned.pop(old.metadata.key, None)
            if not owned:
                self._by_owner.pop(owner.uid, None)
        if new is not None and (owner := new.metadata.controller_of) is not None:
            self._by_owner.setdefault(owner.uid, {})[new.metadata.key] = new

    def _recount(self, uid: str, claim: ResourceClaim | None) -> None:
        """Each claim counts once: by its own allocation, else by the pending one."""
        allocation = claim.status.allocation if claim is not None and claim.metadata.uid == uid else None
        allocation = allocation or self.pending(uid)
        counted = self._counted.get(uid)
        if allocation is counted:
            return
        if counted is not None:
            self._count(counted, -1)
            del self._counted[uid]
        if allocation is not None:
            self._count(allocation, +1)
            self._counted[uid] = allocation

    def _count(self, allocation: AllocationResult, sign: int) -> None:
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            pool = (result.driver, result.pool)
            usage = self._usage.setdefault(pool, PoolUsage())
            self.touched.append(pool)
            if result.share_id is None or not self._counts_shares:
                _add(usage.owners, result.device, sign)
                continue
            _add(usage.shares, result.device, sign)
            if result.consumed_capacity:
                consumed = usage.capacity.setdefault(result.device, Counter())
                for name, amount in result.consumed_capacity.items():
                    _add(consumed, name, sign * amount.nanos)
                if not consumed:
                    del usage.capacity[result.device]


def _add(counter: Counter[str], key: str, amount: int) -> None:
    counter[key] += amount
    if not counter[key]:
        del counter[key]


def _version(claim: ResourceClaim) -> int:
    text = claim.metadata.resource_version
    return int(text) if text.isdecimal() else 0
