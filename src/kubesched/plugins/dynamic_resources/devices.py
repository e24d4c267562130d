"""What all profiles share about devices: who offers them, who has them, and what was found out about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesched.columns import Cluster
from kubesched.framework import ObjectStores
from kubesched.objects import DeviceClass, ResourceClaim, ResourceSlice, encode
from kubesched.plugins.dynamic_resources.attempt import Outcome
from kubesched.plugins.dynamic_resources.extended_resources import BackingClasses
from kubesched.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.plugins.dynamic_resources.inventory import Inventory
from kubesched.plugins.dynamic_resources.ledger import Ledger
from kubesched.plugins.dynamic_resources.places import Places
from kubesched.plugins.dynamic_resources.requests import ClaimPlan
from kubesched.plugins.dynamic_resources.search import Search
from kubesched.plugins.dynamic_resources.selection import Selectors

CANNOT_ALLOCATE = "cannot allocate all claims"
INVALID_POOLS = "invalid resource pools were encountered"
_MOST_KEPT = 1 << 16


class Devices:
    """Kept up to date by the object stores' changes; searches are kept while nothing that they looked at changed."""

    def __init__(self, objects: ObjectStores, cluster: Cluster, features: DeviceFeatures) -> None:
        self.features = features
        self.classes = objects.of(DeviceClass)
        self.backing = BackingClasses(self.classes)
        self.ledger = Ledger(objects.of(ResourceClaim), counts_shares=features.consumable_capacity)
        self._inventory = Inventory(objects.of(ResourceSlice), partitions=features.partitionable_devices)
        self.places = Places(cluster, self._inventory, self.ledger)
        self._selectors = Selectors()
        self._kept: dict[object, Outcome] = {}
        self._kept_for: object = None

    def refresh(self) -> None:
        """Once per cycle, before `search`."""
        self.places.refresh()
        kept_for = (self.places.epoch, self.classes.version)
        if kept_for != self._kept_for or len(self._kept) > _MOST_KEPT:
            self._kept.clear()
            self._kept_for = kept_for

    def search(
        self, row: int, place: int, plans: Sequence[ClaimPlan], wanted: bytes, check_time: Callable[[], None]
    ) -> Outcome:
        """The devices for some claims on a node. `wanted` is `wanted_by` of these plans.

        InvalidObjectError if something is wrong with a claim or class, and what `check_time` raises.
        """
        key = (place, self.places.shared_token(row), wanted)
        outcome = self._kept.get(key)
        if outcome is None:
            outcome = self._kept[key] = self._search(row, plans, check_time)
        return outcome

    def _search(self, row: int, plans: Sequence[ClaimPlan], check_time: Callable[[], None]) -> Outcome:
        node = self.places.pools(row)
        search = Search(plans, node, self._selectors, self.features, check_time)
        if not search.run():
            is_invalid = any(pool.is_invalid for pool in node.pools)
            return Outcome(problem=INVALID_POOLS if is_invalid else CANNOT_ALLOCATE)
        return Outcome(
            picks=tuple(tuple(picks) for picks in search.picks),
            choices=tuple(
                tuple(search.choices.get((c, r), 0) for r in range(len(plan.requests))) for c, plan in enumerate(plans)
            ),
        )


def wanted_by(plans: Sequence[ClaimPlan]) -> bytes:
    """Equal for claims that want the same."""
    return encode([plan.claim.spec for plan in plans])
