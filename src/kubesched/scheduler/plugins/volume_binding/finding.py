"""Which nodes have the volumes that a pod needs, and which volumes those are (FindPodVolumes)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kubesched.errors import InvalidObjectError
from kubesched.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from kubesched.objects.quantity import Quantity
from kubesched.scheduler.columns import Booleans, Integers, NodeView
from kubesched.scheduler.framework import ObjectStore, Reason, Status, Verdict
from kubesched.scheduler.plugins.support.storage.claims import SELECTED_NODE, STORAGE, class_of_claim
from kubesched.scheduler.plugins.support.storage.csi_nodes import CsiNodeColumns
from kubesched.scheduler.plugins.volume_binding.assume_cache import AssumeCache
from kubesched.scheduler.plugins.volume_binding.pod_claims import PodClaims
from kubesched.scheduler.plugins.volume_binding.provisioning import StorageCapacities, in_topologies, provisions
from kubesched.scheduler.plugins.volume_binding.size_index import NONE
from kubesched.scheduler.plugins.volume_binding.volume_affinity import VolumeAffinity, nodes_with_access
from kubesched.scheduler.plugins.volume_binding.volume_pool import Picks, VolumePool

NODE_CONFLICT: Final = Reason.unresolvable("node(s) didn't match PersistentVolume's node affinity")
BIND_CONFLICT: Final = Reason.unresolvable("node(s) didn't find available persistent volumes to bind")
NO_SPACE: Final = Reason.unresolvable("node(s) did not have enough free storage")
NO_VOLUME: Final = Reason.unresolvable("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")

REASONS: Final = (NODE_CONFLICT, BIND_CONFLICT, NO_SPACE, NO_VOLUME)


@dataclass(frozen=True, slots=True)
class Provision:
    """A claim for which a volume is to be provisioned, on these nodes."""

    claim: PersistentVolumeClaim
    where: Booleans
    reports: Integers | None
    """Storage capacities that were found sufficient, if that was checked."""


@dataclass(slots=True)
class Found:
    """The answer for each node of a view: what is missing there, and what the claims that wait would get."""

    missing: dict[Reason, Booleans] = field(default_factory=dict)
    picks: list[Picks] = field(default_factory=list)
    provisions: list[Provision] = field(default_factory=list)
    errors: list[tuple[Booleans, str]] = field(default_factory=list)
    """What is wrong with a volume or a claim, and for which nodes; the first that is said of a node counts."""

    def misses(self, where: Booleans, reason: Reason) -> None:
        known = self.missing.get(reason)
        self.missing[reason] = where if known is None else known | where

    def verdict(self, nodes: NodeView) -> Verdict:
        verdict = self._missing(nodes)
        if not self.errors:
            return verdict
        statuses: dict[int, Status] = {}
        for where, problem in reversed(self.errors):
            statuses |= dict.fromkeys(np.flatnonzero(where).tolist(), Status.failed(problem))
        failed = Verdict.of_statuses(nodes, statuses)
        return Verdict(np.where(failed.fitting, verdict.bits, failed.bits), verdict.reasons, failed.special)

    def _missing(self, nodes: NodeView) -> Verdict:
        given = [(self.missing[reason], reason) for reason in REASONS if reason in self.missing]
        if len(given) == 1:
            return Verdict.rejects(nodes, where=given[0][0], reason=given[0][1])
        return Verdict.all_of(nodes, *given)


class VolumeFinder:
    """Looks at all nodes of a view at once. Nothing is set aside here."""

    def __init__(
        self,
        volumes: AssumeCache[PersistentVolume],
        pool: VolumePool,
        classes: ObjectStore[StorageClass],
        capacities: StorageCapacities,
        csi_nodes: CsiNodeColumns,
    ) -> None:
        self._volumes = volumes
        self._pool = pool
        self._classes = classes
        self._capacities = capacities
        self._csi_nodes = csi_nodes

    def find(self, claims: PodClaims, nodes: NodeView) -> Found:
        found = Found()
        self._check_bound(claims.bound, nodes, found)
        if claims.delayed:
            self._pool.refresh()
            self._capacities.refresh()
            self._serve(claims.delayed, nodes, found)
        return found

    def affinities_of(self, claims: tuple[PersistentVolumeClaim, ...]) -> tuple[VolumeAffinity, ...] | None:
        """The node affinities of the volumes of bound claims; None if one of them is not known."""
        volumes = [self._volumes.get(claim.spec.volume_name) for claim in claims]
        affinities = tuple([VolumeAffinity.of(volume) for volume in volumes if volume is not None])
        return affinities if len(affinities) == len(claims) else None

    def bindings(self, found: Found, position: int) -> list[tuple[PersistentVolume, PersistentVolumeClaim]]:
        """The volumes that the claims would get on one node."""
        pairs = ((self._pool.picked(picks, position), picks.claim) for picks in found.picks)
        return [(volume, claim) for volume, claim in pairs if volume is not None]

    def _check_bound(self, claims: tuple[PersistentVolumeClaim, ...], nodes: NodeView, found: Found) -> None:
        """The first volume that is out of reach or missing is the answer for a node (checkBoundClaims)."""
        if not claims:
            return
        self._csi_nodes.refresh()
        is_open: Booleans | None = None
        for claim in claims:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                found.misses(is_open if is_open is not None else np.ones(len(nodes), dtype=np.bool_), NO_VOLUME)
                return
            reached, unclear, problem = nodes_with_access(VolumeAffinity.of(volume), nodes, self._csi_nodes)
            if problem:
                found.errors.append((unclear if is_open is None else unclear & is_open, problem))
                reached = reached & ~unclear
            is_open = reached if is_open is None else is_open & reached
            found.missing[NODE_CONFLICT] = ~is_open

    def _serve(self, claims: tuple[PersistentVolumeClaim, ...], nodes: NodeView, found: Found) -> None:
        selected = [claim for claim in claims if SELECTED_NODE in claim.metadata.annotations]
        is_open = np.ones(len(nodes), dtype=np.bool_)
        for claim in selected:
            is_open &= _is_named(claim.metadata.annotations[SELECTED_NODE], nodes)
        if selected:
            found.misses(~is_open, BIND_CONFLICT)
        # Claims of equal size keep the order of the pod's volumes.
        to_match = sorted(
            (claim for claim in claims if SELECTED_NODE not in claim.metadata.annotations),
            key=lambda claim: claim.spec.resources.requests.get(STORAGE, Quantity.ZERO).nanos,
        )
        needed = [(claim, is_open) for claim in selected]
        for claim in to_match:
            try:
                picks = self._pool.pick(claim, nodes, found.picks)
            except InvalidObjectError as error:
                found.errors.append((is_open, str(error)))
                return
            found.picks.append(picks)
            needed.append((claim, is_open & ~picks.found))
        self._provision(needed, nodes, found)

    def _provision(self, needed: list[tuple[PersistentVolumeClaim, Booleans]], nodes: NodeView, found: Found) -> None:
        """The first claim that cannot be provisioned is the answer for a node (checkVolumeProvisions)."""
        is_open = np.ones(len(nodes), dtype=np.bool_)
        for claim, where in needed:
            where = where & is_open
            if not where.any():
                continue
            storage_class = self._classes.get(class_of_claim(claim))
            if storage_class is None or not provisions(storage_class):
                found.misses(where, BIND_CONFLICT)
                is_open &= ~where
                continue
            allowed = where & in_topologies(storage_class, nodes)
            found.misses(where & ~allowed, BIND_CONFLICT)
            reports = self._capacities.sufficient(claim, storage_class, nodes)
            served = allowed if reports is None else allowed & (reports != NONE)
            if reports is not None:
                found.misses(allowed & ~served, NO_SPACE)
            is_open &= served | ~where
            found.provisions.append(Provision(claim, served, reports))


def _is_named(node_name: str, nodes: NodeView) -> Booleans:
    named = np.zeros(len(nodes), dtype=np.bool_)
    position = nodes.position_of(node_name)
    if position is not None:
        named[position] = True
    return named
