"""What all profiles share about devices: who offers them, who has them, and what was found out about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kubesched.clock import Clock
from kubesched.objects import DeviceClass, Pod, PodGroup, ResourceSlice
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import ObjectStores
from kubesched.scheduler.plugins.dynamic_resources.claims import UsedClaim, claims_of
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.dynamic_resources.inventory import Inventory
from kubesched.scheduler.plugins.dynamic_resources.node_classes import NodeClasses
from kubesched.scheduler.plugins.dynamic_resources.outcomes import CANNOT_ALLOCATE, INVALID_POOLS, Outcome, OutcomeCache
from kubesched.scheduler.plugins.dynamic_resources.requests import ClaimPlan
from kubesched.scheduler.plugins.dynamic_resources.search import Search
from kubesched.scheduler.plugins.support.devices.backing import BackingClasses
from kubesched.scheduler.plugins.support.devices.budget import Budget, BudgetSpent, LongSearches
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKinds
from kubesched.scheduler.plugins.support.devices.selection import Selectors

_MOST_KEPT: Final = 32


class Devices:
    """Kept up to date by the object stores' changes; searches are kept while nothing that they looked at changed."""

    def __init__(self, objects: ObjectStores, cluster: ClusterTables, features: DeviceFeatures, clock: Clock) -> None:
        self.features = features
        self.long_searches = LongSearches(clock)
        self.classes = objects.of(DeviceClass)
        self.groups = objects.of(PodGroup)
        self.backing = BackingClasses(self.classes)
        self.claim_tracker = ClaimTracker.shared(objects, counts_shares=features.consumable_capacity)
        self._inventory = Inventory(
            objects.of(ResourceSlice),
            DeviceKinds(lists=features.list_attributes),
            features,
        )
        self.node_classes = NodeClasses(
            cluster, self._inventory, self.claim_tracker, shares_are_in_use=features.shares_are_in_use
        )
        self._selectors = Selectors(lists=features.list_attributes)
        self._kept: dict[bytes, OutcomeCache] = {}
        self._kept_for: object = None

    def claims_of(self, pod: Pod) -> list[UsedClaim]:
        """The pod's claims, in the order of its spec. ClaimsNotReady if one cannot be used."""
        return claims_of(pod, self.claim_tracker, or_of_group=self.features.group_claims)

    def refresh(self) -> None:
        """Once per cycle, before anything is searched."""
        self.node_classes.refresh()
        kept_for = (self.node_classes.epoch, self.node_classes.shared_epoch, self.classes.version)
        if kept_for != self._kept_for:
            self._kept.clear()
            self._kept_for = kept_for

    def outcomes_for(self, wanted: bytes) -> OutcomeCache:
        """What was found for claims that want this, and still holds."""
        kept = self._kept.pop(wanted, None) or OutcomeCache()
        self._kept[wanted] = kept  # the most recently used one is the last
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return kept

    def search(self, row: int, plans: Sequence[ClaimPlan], kept: OutcomeCache, budget: Budget) -> Outcome:
        """The devices for some claims on a node.

        InvalidObjectError if something is wrong with a claim or class. BudgetSpent if it takes too long: it goes on
        with the next call for a node of the class.
        """
        node_class = int(self.node_classes.of_rows(np.array([row]))[0])
        node = self.node_classes.pools(row)
        search = Search(plans, node, self._selectors, self.features)
        if kept.interrupted is not None and kept.interrupted[0] == node_class:
            search = kept.interrupted[1]
        kept.interrupted = None
        try:
            found = search.run(budget)
        except BudgetSpent:
            kept.interrupted = (node_class, search) if not search.is_broken else None
            raise
        if not found:
            is_invalid = any(pool.is_invalid for pool in node.pools)
            return Outcome(problem=INVALID_POOLS if is_invalid else CANNOT_ALLOCATE)
        return Outcome(
            picks=tuple(tuple(picks) for picks in search.picks),
            choices=tuple(
                tuple(search.choices.get((c, r), 0) for r in range(len(plan.requests))) for c, plan in enumerate(plans)
            ),
        )
