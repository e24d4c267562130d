"""Volumes: free ones are available; one whose claim is gone is removed or kept, as its policy says."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.world import World
from kubesched.cluster.views import WorkloadView
from kubesched.objects.base import Json

NAME: Final = "volume"


class VolumeController:
    def __init__(self, world: World) -> None:
        self._world = world
        world.volumes.listen(self._volume_changed)
        world.claims.listen(self._claim_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        volume = self._world.volumes.get(name)
        if volume is None or volume.metadata.deletion_timestamp is not None:
            return
        reference = volume.spec.get("claimRef")
        if not reference:
            self._set_phase(volume, "Available")
        elif reference.get("uid") and not self._has_claim(reference):
            if volume.spec.get("persistentVolumeReclaimPolicy") == "Delete":
                self._world.delete(self._world.volumes.resource, volume.metadata)
            else:
                self._set_phase(volume, "Released")

    def _has_claim(self, reference: Json) -> bool:
        claim = self._world.claims.get(reference.get("name", ""), reference.get("namespace", ""))
        return claim is not None and claim.metadata.uid == reference["uid"]

    def _set_phase(self, volume: WorkloadView, phase: str) -> None:
        if volume.status.get("phase") != phase:
            update = {"phase": phase, "lastPhaseTransitionTime": self._world.timestamp()}
            resource = self._world.volumes.resource
            self._world.set_status(resource, volume.metadata, lambda status: status.update(update))

    def _volume_changed(self, old: WorkloadView | None, new: WorkloadView | None) -> None:
        if new is not None:
            self._world.enqueue(NAME, new.metadata)

    def _claim_changed(self, old: WorkloadView | None, new: WorkloadView | None) -> None:
        if old is not None and new is None and (name := old.spec.get("volumeName")):
            volume = self._world.volumes.get(name)
            if volume is not None:
                self._world.enqueue(NAME, volume.metadata)
