"""Volumes: free ones are available; one whose claim is gone is removed or kept, as its policy says."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.records import WorkloadRecord
from kubesched.objects.base import Json

NAME: Final = "volume"


class VolumeController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        context.volumes.listen(self._volume_changed)
        context.claims.listen(self._claim_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        volume = self._context.volumes.get(name)
        if volume is None or volume.metadata.deletion_timestamp is not None:
            return
        reference = volume.spec.get("claimRef")
        if not reference:
            self._set_phase(volume, "Available")
        elif reference.get("uid") and not self._has_claim(reference):
            if volume.spec.get("persistentVolumeReclaimPolicy") == "Delete":
                self._context.delete(self._context.volumes.resource, volume.metadata)
            else:
                self._set_phase(volume, "Released")

    def _has_claim(self, reference: Json) -> bool:
        claim = self._context.claims.get(reference.get("name", ""), reference.get("namespace", ""))
        return claim is not None and claim.metadata.uid == reference["uid"]

    def _set_phase(self, volume: WorkloadRecord, phase: str) -> None:
        if volume.status.get("phase") != phase:
            update = {"phase": phase, "lastPhaseTransitionTime": self._context.timestamp()}
            resource = self._context.volumes.resource
            self._context.set_status(resource, volume.metadata, lambda status: status.update(update))

    def _volume_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if new is not None:
            self._context.enqueue(NAME, new.metadata)

    def _claim_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if old is not None and new is None and (name := old.spec.get("volumeName")):
            volume = self._context.volumes.get(name)
            if volume is not None:
                self._context.enqueue(NAME, volume.metadata)
