"""The CSI volumes that a pod needs attached to its node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from kubesched.errors import InvalidObjectError
from kubesched.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from kubesched.objects.volume import Volume
from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import ObjectStores, Status
from kubesched.scheduler.plugins.support.storage.claims import class_of_claim, not_found, ownership_problem
from kubesched.scheduler.plugins.support.storage.csi_migration import (
    PLUGIN_BY_NAME,
    in_tree_plugin,
    inline_handle,
    volume_handle,
)

Source = tuple[type, str]
"""Kind and key of an object that an answer was read from (or was missing)."""

_NOT_PROVISIONED: Final = "not-provisioned"
"""Stands for the handle of a volume that is yet to be made; no driver's handles look like the whole."""


class Attachable(NamedTuple):
    """A volume by the driver that attaches it; `id` is unique over all drivers.

    A migrated one belongs to an in-tree plugin, and is attached by the driver only on nodes with a CSINode.
    """

    id: str
    driver: str
    is_migrated: bool = False


class Failure(NamedTuple):
    """Why a pod's volumes are not known. `is_absence`: a claim is missing, which does not matter once a pod runs."""

    status: Status
    is_absence: bool = False
    needs_csi_node: bool = False


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What a pod needs attached, what that was read from, and what went wrong, in the order of its volumes."""

    volumes: frozenset[Attachable] = frozenset()
    sources: frozenset[Source] = frozenset()
    failures: tuple[Failure, ...] = ()


class VolumeLookup:
    """Finds the volumes behind pods' claims and disks (filterAttachableVolumes)."""

    def __init__(self, objects: ObjectStores) -> None:
        self._claims = objects.of(PersistentVolumeClaim)
        self._volumes = objects.of(PersistentVolume)
        self._classes = objects.of(StorageClass)

    def volumes_of(self, pod: PodTemplate) -> PodVolumes:
        volumes: set[Attachable] = set()
        sources: set[Source] = set()
        failures: list[Failure] = []
        claims = iter(pod.volume_claims)
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None and volume.ephemeral is None:
                found = _inline(volume)
            else:
                name, is_ephemeral = next(claims)
                found = self._claimed(pod, name, is_ephemeral, sources)
            if isinstance(found, Attachable):
                volumes.add(found)
            elif found is not None:
                failures.append(found)
                if not (found.is_absence or found.needs_csi_node):
                    break
        return PodVolumes(frozenset(volumes), frozenset(sources), tuple(failures))

    def _claimed(
        self, pod: PodTemplate, name: str, is_ephemeral: bool, sources: set[Source]
    ) -> Attachable | Failure | None:
        if not name:
            return Failure(Status.failed("PersistentVolumeClaim had no name"))
        key = f"{pod.namespace}/{name}"
        sources.add((PersistentVolumeClaim, key))
        claim = self._claims.get(name, pod.namespace)
        if claim is None:
            message = f"looking up PVC {key}: {not_found(PersistentVolumeClaim, name)}"
            return Failure(Status.unresolvable(message), is_absence=True)
        if is_ephemeral and (problem := ownership_problem(claim, pod.exemplar)):
            return Failure(Status.failed(problem))
        return self._behind(claim, sources)

    def _behind(self, claim: PersistentVolumeClaim, sources: set[Source]) -> Attachable | None:
        """The volume of a claim; while it has none, one that its class would provision."""
        name = claim.spec.volume_name
        volume = None
        if name:
            sources.add((PersistentVolume, name))
            volume = self._volumes.get(name)
        if volume is None:
            return self._to_be_provisioned(claim, sources)
        csi = volume.spec.csi
        if csi is not None:
            return _attachable(csi.driver, csi.volume_handle)
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.is_migrated:
            return None
        try:
            return _attachable(plugin.driver, volume_handle(volume), is_migrated=True)
        except InvalidObjectError:
            return None

    def _to_be_provisioned(self, claim: PersistentVolumeClaim, sources: set[Source]) -> Attachable | None:
        class_name = class_of_claim(claim)
        if not class_name:
            return None
        sources.add((StorageClass, class_name))
        storage_class = self._classes.get(class_name)
        if storage_class is None:
            return None
        handle = f"{_NOT_PROVISIONED}-{claim.metadata.key}"
        plugin = PLUGIN_BY_NAME.get(storage_class.provisioner)
        if plugin is None:
            return _attachable(storage_class.provisioner, handle)
        return _attachable(plugin.driver, handle, is_migrated=True) if plugin.is_migrated else None


def _inline(volume: Volume) -> Attachable | Failure | None:
    """A volume that is written into the pod, if its in-tree plugin has been replaced by a CSI driver."""
    plugin = in_tree_plugin(volume)
    if plugin is None or not plugin.is_migrated:
        return None
    try:
        handle = inline_handle(volume)
    except InvalidObjectError as error:
        message = f"converting volume({volume.name}) from inline to csi: {error}"
        return Failure(Status.failed(message), needs_csi_node=True)
    return Attachable(f"{plugin.driver}/{handle}", plugin.driver, is_migrated=True)


def _attachable(driver: str, handle: str, *, is_migrated: bool = False) -> Attachable | None:
    """A claim's volume without a driver or a handle is not counted."""
    return Attachable(f"{driver}/{handle}", driver, is_migrated) if driver and handle else None
