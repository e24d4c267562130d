"""Volumes set aside for a pod on its node."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from kubesched.objects import PersistentVolume, PersistentVolumeClaim
from kubesched.objects.meta import ObjectReference
from kubesched.scheduler.plugins.support.storage.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, is_bound_to


@dataclass(slots=True)
class Binding:
    """A volume as it is to be (once written: in that version), and the claim that it is for."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim
    is_changed: bool
    """Otherwise the volume refers to the claim already."""


@dataclass(slots=True)
class Reservation:
    """What is to be written before the pod is bound. Nothing, if all of its claims were bound already."""

    node_name: str
    bindings: list[Binding] = field(default_factory=list)
    provisions: list[PersistentVolumeClaim] = field(default_factory=list)
    """Claims as they are to be, with the node selected."""

    @property
    def is_empty(self) -> bool:
        return not self.bindings and not self.provisions


def bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Binding:
    """The volume with a reference to the claim, as the volume controller would write it (GetBindVolumeToClaim)."""
    reference = volume.spec.claim_ref
    metadata, spec = volume.metadata, volume.spec
    target = claim.metadata
    is_changed = False
    if reference is None or (reference.namespace, reference.name, reference.uid) != (
        target.namespace,
        target.name,
        target.uid,
    ):
        spec = msgspec.structs.replace(spec, claim_ref=_reference(claim))
        is_changed = True
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in metadata.annotations:
        annotations = {**metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
        metadata = msgspec.structs.replace(metadata, annotations=annotations)
        is_changed = True
    return Binding(msgspec.structs.replace(volume, metadata=metadata, spec=spec), claim, is_changed)


def select_node(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    """The claim with the annotation that makes the provisioner start."""
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations=annotations))


def _reference(claim: PersistentVolumeClaim) -> ObjectReference:
    metadata = claim.metadata
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
