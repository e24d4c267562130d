"""A pod's claims, sorted out: bound ones, ones that wait for a node, and what keeps the pod from being scheduled."""

from __future__ import annotations

from dataclasses import dataclass

from kubesched.objects import PersistentVolumeClaim, StorageClass
from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import ObjectStore, Status
from kubesched.scheduler.plugins.support.storage.claims import (
    WAIT_FOR_FIRST_CONSUMER,
    class_of_claim,
    is_fully_bound,
    not_found,
    ownership_problem,
)
from kubesched.scheduler.plugins.volume_binding.assume_cache import AssumeCache


@dataclass(frozen=True, slots=True)
class PodClaims:
    """Claims in the order of the pod's volumes; `delayed` ones wait for the pod's node to be known."""

    bound: tuple[PersistentVolumeClaim, ...] = ()
    delayed: tuple[PersistentVolumeClaim, ...] = ()


class ClaimSorter:
    def __init__(self, claims: AssumeCache[PersistentVolumeClaim], classes: ObjectStore[StorageClass]) -> None:
        self._claims = claims
        self._classes = classes

    def sort(self, pod: PodTemplate) -> PodClaims | Status:
        """The claims, or why the pod cannot be scheduled whatever the node (PreFilter)."""
        for name, is_ephemeral in pod.volume_claims:
            if problem := self._problem(pod, name, is_ephemeral):
                return Status.unresolvable(problem)
        bound: list[PersistentVolumeClaim] = []
        delayed: list[PersistentVolumeClaim] = []
        has_unbound = False
        for name, _ in pod.volume_claims:
            claim = self._claims.get(name, pod.namespace)
            assert claim is not None, "its absence is a problem"
            if is_fully_bound(claim):
                bound.append(claim)
                continue
            is_delayed = self._is_delayed(claim)
            if isinstance(is_delayed, Status):
                return is_delayed
            # A claim that names its volume is not for the scheduler: the volume controller is about to bind it.
            if is_delayed and not claim.spec.volume_name:
                delayed.append(claim)
            else:
                has_unbound = True
        if has_unbound:
            return Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")
        return PodClaims(tuple(bound), tuple(delayed))

    def _problem(self, pod: PodTemplate, name: str, is_ephemeral: bool) -> str:
        """What is wrong with a claim itself; empty if nothing is (podHasPVCs)."""
        claim = self._claims.store.get(name, pod.namespace)
        if claim is None:
            if is_ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return not_found(PersistentVolumeClaim, name)
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        return ownership_problem(claim, pod.exemplar) if is_ephemeral else ""

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool | Status:
        """Whether the class binds claims once their pod has a node. Without a class they are bound at once."""
        name = class_of_claim(claim)
        storage_class = self._classes.get(name) if name else None
        if storage_class is None:
            return False
        if storage_class.volume_binding_mode is None:
            return Status.failed(f'VolumeBindingMode not set for StorageClass "{name}"')
        return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
