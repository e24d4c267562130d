"""Scores by how full the storage would be that a pod's claims come from (with the StorageCapacityScoring gate)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kubesched.config.plugin_args import UtilizationShapePoint
from kubesched.objects import PersistentVolumeClaim
from kubesched.objects.quantity import Quantity
from kubesched.scheduler.columns import Booleans, Integers, NodeView
from kubesched.scheduler.plugins.support.resource_shape import FULL, curve
from kubesched.scheduler.plugins.support.storage.claims import STORAGE, class_of_claim
from kubesched.scheduler.plugins.volume_binding.finding import Found
from kubesched.scheduler.plugins.volume_binding.provisioning import StorageCapacities
from kubesched.scheduler.plugins.volume_binding.volume_pool import VolumePool


class Use:
    """How much of a storage class is requested and how much is there, per node."""

    def __init__(self, length: int) -> None:
        self.present: Booleans = np.zeros(length, dtype=np.bool_)
        self.requested: Integers = np.zeros(length, dtype=np.int64)
        self.capacity: Integers = np.zeros(length, dtype=np.int64)


class StorageScorer:
    """The mean over a pod's storage classes, each scored by the configured curve (buildScorerFunction)."""

    def __init__(self, shape: Sequence[UtilizationShapePoint], pool: VolumePool, capacities: StorageCapacities) -> None:
        self._curve = curve(shape)
        self._pool = pool
        self._capacities = capacities

    def score(self, found: Found, nodes: NodeView) -> Integers:
        """One score per node; 0 where nothing is to be bound or provisioned. Volumes that exist go first."""
        total = np.zeros(len(nodes), dtype=np.int64)
        classes = np.zeros(len(nodes), dtype=np.int64)
        for use in self._uses(found, len(nodes)):
            total += np.where(use.present, self._scores(use), 0)
            classes += use.present
        mean = np.floor(total / np.maximum(classes, 1) + 0.5)  # math.Round, of what is never negative
        return mean.astype(np.int64)

    def _uses(self, found: Found, length: int) -> Iterator[Use]:
        has_static = np.zeros(length, dtype=np.bool_)
        static: dict[str, Use] = {}
        for picks in found.picks:
            use = static.setdefault(class_of_claim(picks.claim), Use(length))
            use.present |= picks.found
            use.requested += np.where(picks.found, _request(picks.claim), 0)
            use.capacity += self._pool.sizes(picks)
            has_static |= picks.found
        dynamic: dict[str, Use] = {}
        for provision in found.provisions:
            if provision.reports is not None:
                use = dynamic.setdefault(class_of_claim(provision.claim), Use(length))
                here = provision.where & ~has_static
                use.present |= here
                use.requested += np.where(here, _request(provision.claim), 0)
                # Claims of one class share its capacity: it is not added up.
                use.capacity = np.where(here, self._capacities.reported(provision.reports), use.capacity)
        yield from static.values()
        yield from dynamic.values()

    def _scores(self, use: Use) -> Integers:
        is_full = (use.capacity == 0) | (use.requested > use.capacity)
        percent = np.where(is_full, FULL, use.requested * FULL // np.maximum(use.capacity, 1))
        return self._curve[np.minimum(percent, FULL)]


def _request(claim: PersistentVolumeClaim) -> int:
    return claim.spec.resources.requests.get(STORAGE, Quantity.ZERO).value()
