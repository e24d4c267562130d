"""Metadata and references shared by all kinds."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from kubesched.objects.base import KubeStruct

T = TypeVar("T")


class OwnerReference(KubeStruct):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(KubeStruct):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`, or just the name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller_of(self) -> OwnerReference | None:
        """The owner that manages this object (metav1.GetControllerOf)."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class LabelSelectorRequirement(KubeStruct):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(KubeStruct):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Condition(KubeStruct):
    """metav1.Condition; pod, node and claim conditions have their own structs."""

    type: str = ""
    status: str = ""
    observed_generation: int = 0
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class ObjectReference(KubeStruct):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class TypedLocalObjectReference(KubeStruct):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class ListMeta(KubeStruct):
    """Metadata of a list: where a watch continues, and where the next page starts."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class ObjectList(KubeStruct, Generic[T]):
    """A list as an API server answers it: `decode(data, ObjectList[Pod])`.

    One item that does not decode spoils the whole list; `ObjectList[msgspec.Raw]` leaves the items to be decoded one
    by one.
    """

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] = ()
