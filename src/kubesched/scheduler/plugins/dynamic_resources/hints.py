"""Events that may help a pod whose claims were not satisfied."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched.objects import Pod, ResourceClaim
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource
from kubesched.scheduler.plugins.dynamic_resources.claims import ClaimsNotReady
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices


class ClaimHints:
    def __init__(self, devices: Devices) -> None:
        self._devices = devices

    def events(self) -> Sequence[EventHint]:
        nodes = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        added_or_updated = Action.ADD | Action.UPDATE
        claims = added_or_updated
        if self._devices.features.deleted_claims_wake:
            claims |= Action.DELETE
        generated = Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            EventHint(ClusterEvent(Resource.NODE, nodes)),
            EventHint(ClusterEvent(Resource.RESOURCE_CLAIM, claims), self.after_claim_change),
            EventHint(ClusterEvent(Resource.POD, generated), self.after_pod_change),
            EventHint(ClusterEvent(Resource.DEVICE_CLASS, added_or_updated)),
            EventHint(ClusterEvent(Resource.RESOURCE_SLICE, added_or_updated)),
        )

    def after_claim_change(self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None) -> Hint:
        """A claim of the pod came or got another status, or some claim gave its devices back."""
        if new is None:
            return Hint.QUEUE if old is not None and old.status.allocation is not None else Hint.SKIP
        try:
            used = self._devices.claims_of(pod.pod)
        except ClaimsNotReady:
            return Hint.SKIP
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return Hint.QUEUE
        if all(claim.metadata.uid != new.metadata.uid for _, claim in used):
            return Hint.SKIP
        return Hint.SKIP if old is not None and old.status == new.status else Hint.QUEUE

    def after_pod_change(self, pod: PodInfo, old: Pod | None, new: Pod) -> Hint:
        """The controller made the pod's claims."""
        if new.metadata.uid != pod.uid:
            return Hint.SKIP
        try:
            self._devices.claims_of(new)
        except ClaimsNotReady:
            return Hint.SKIP
        return Hint.QUEUE
