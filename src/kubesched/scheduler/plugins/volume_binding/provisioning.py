"""Where a storage class can provision a volume: on nodes of its topologies, with room for it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from kubesched.errors import InvalidObjectError
from kubesched.objects import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from kubesched.objects.node_selectors import NodeMatcher, NodeTerm
from kubesched.objects.quantity import Quantity
from kubesched.objects.requirements import Operator
from kubesched.objects.selectors import Selector, checked_requirement, compile_label_selector
from kubesched.objects.storage import TopologySelectorTerm
from kubesched.scheduler.columns import EVERYTHING, Booleans, Follower, Integers, NodeView
from kubesched.scheduler.framework import ObjectStores
from kubesched.scheduler.plugins.support.storage.claims import STORAGE
from kubesched.scheduler.plugins.volume_binding.size_index import NONE, SizeIndex
from kubesched.scheduler.plugins.volume_binding.volume_affinity import matching_nodes

_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_NANOS: Final = 10**9


def provisions(storage_class: StorageClass) -> bool:
    return storage_class.provisioner not in ("", _NO_PROVISIONER)


def in_topologies(storage_class: StorageClass, nodes: NodeView) -> Booleans:
    """Nodes in one of the class's topologies; all, if it names none."""
    allowed = storage_class.allowed_topologies
    return matching_nodes(_compile_topologies(allowed) if allowed else None, nodes)


@lru_cache(maxsize=1 << 10)
def _compile_topologies(terms: tuple[TopologySelectorTerm, ...]) -> NodeMatcher:
    """A term that is empty or cannot be understood matches no node (MatchTopologySelectorTerms)."""
    compiled: list[NodeTerm] = []
    for term in terms:
        try:
            requirements = [
                checked_requirement(expression.key, Operator.IN, expression.values)
                for expression in term.match_label_expressions
            ]
        except InvalidObjectError:
            continue
        if requirements:
            compiled.append(NodeTerm(labels=Selector.of(requirements)))
    return NodeMatcher(tuple(compiled))


def volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """The largest volume that can be provisioned; the explicit maximum is the more precise one."""
    return capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity


class StorageCapacities:
    """What drivers report of the room that they have left, by class and topology. Call `refresh` before asking."""

    def __init__(self, objects: ObjectStores) -> None:
        self._drivers = objects.of(CSIDriver)
        self._capacities = objects.of(CSIStorageCapacity)
        self._changes = Follower(self._capacities.changes)
        self._by_class = SizeIndex()

    def refresh(self) -> None:
        changed = self._changes.changed()
        if changed is EVERYTHING:
            changed = [*self._by_class.names(), *(capacity.metadata.key for capacity in self._capacities)]
        for key in changed:
            self._file(key)

    def sufficient(self, claim: PersistentVolumeClaim, storage_class: StorageClass, nodes: NodeView) -> Integers | None:
        """Per node: a report of enough room for a claim, or NONE; None if there is nothing to check.

        Only drivers that ask for it are checked (hasEnoughCapacity).
        """
        request = claim.spec.resources.requests.get(STORAGE)
        driver = self._drivers.get(storage_class.provisioner)
        if request is None or driver is None or not driver.spec.storage_capacity:
            return None
        return self._by_class.smallest((storage_class.metadata.name,), request.value() * _NANOS, nodes)

    def reported(self, reports: Integers) -> Integers:
        """The capacity in bytes of reports that `sufficient` has found; 0 where one says nothing of it."""
        capacities = np.zeros(len(reports), dtype=np.int64)
        for report in np.unique(reports[reports != NONE]).tolist():
            capacity = self._capacities.get(self._by_class.name(report))
            if capacity is not None and capacity.capacity is not None:
                capacities[reports == report] = capacity.capacity.value()
        return capacities

    def _file(self, key: str) -> None:
        capacity = self._capacities.get(key)
        limit = volume_limit(capacity) if capacity is not None else None
        topology = _topology(capacity) if capacity is not None else None
        if capacity is not None and limit is not None and topology is not None:
            self._by_class.add(capacity.storage_class_name, key, limit.value() * _NANOS, topology)
        else:
            self._by_class.remove(key)


def _topology(capacity: CSIStorageCapacity) -> NodeMatcher | None:
    """The nodes that have access; None if there are none (nodeHasAccess)."""
    if capacity.node_topology is None:
        return None
    try:
        return NodeMatcher((NodeTerm(labels=compile_label_selector(capacity.node_topology)),))
    except InvalidObjectError:
        return None
