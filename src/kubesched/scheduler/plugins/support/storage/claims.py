"""Claims and volumes: their class, whether they belong together, and what is said of those that are missing."""

from __future__ import annotations

from typing import Final

from kubesched.objects import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
STORAGE: Final = "storage"

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"

# The resources of API machinery's NotFound messages, which users see in events.
_RESOURCES: Final[dict[type, str]] = {
    PersistentVolumeClaim: "persistentvolumeclaim",
    PersistentVolume: "persistentvolume",
    StorageClass: "storageclass.storage.k8s.io",
    Pod: "pod",
}


def not_found(kind: type, name: str) -> str:
    """What a lister says of an object that does not exist."""
    return f'{_RESOURCES[kind]} "{name}" not found'


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The name of a claim's storage class; the old annotation comes first (GetPersistentVolumeClaimClass)."""
    old = claim.metadata.annotations.get(_BETA_CLASS)
    return old if old is not None else claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    return volume.metadata.annotations.get(_BETA_CLASS, volume.spec.storage_class_name)


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """The claim names its volume, and the volume controller has finished with it."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is set aside for a claim; a reference without uid was written by a user in advance."""
    reference, metadata = volume.spec.claim_ref, claim.metadata
    return (
        reference is not None
        and reference.name == metadata.name
        and reference.namespace == metadata.namespace
        and reference.uid in ("", metadata.uid)
    )


def ownership_problem(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Why a claim with the name of a pod's ephemeral volume is not that volume's; empty if it is (VolumeIsForPod)."""
    owner = claim.metadata.controller_of
    if owner is not None and owner.uid == pod.metadata.uid:
        return ""
    return f"PVC {claim.metadata.key} was not created for pod {pod.key} (pod is not owner)"
