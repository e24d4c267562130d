"""What a trace keeps of an object: what scheduling reads, and nothing else.

The structs of `kubesched.objects` name no environment variables, commands, probes or secrets, so these cannot get in.
What the structs do carry, but no plugin reads, is taken out here: most annotations, free texts, parameters of drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from kubesched.objects import (
    DeviceClass,
    Node,
    PersistentVolume,
    Pod,
    PriorityClass,
    ResourceClaim,
    ResourceClaimTemplate,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kubesched.objects.dra import ResourceClaimSpec
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.node import NodeCondition
from kubesched.objects.pod import PodCondition
from kubesched.objects.storage import PersistentVolumeSpec
from kubesched.objects.volume import Volume
from kubesched.traces.entries import DISRUPTION_TARGET, POD_SCHEDULED

ANNOTATIONS: Final = frozenset(
    {
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
"""Those that in-tree plugins read."""

CONDITIONS: Final = frozenset({POD_SCHEDULED, DISRUPTION_TARGET, "PodResizePending", "PodResizeInProgress"})
"""Of pods: those that schedulers write, and those that change what a pod takes."""

T = TypeVar("T")


def kept(obj: T, annotations: Set[str] = ANNOTATIONS) -> T:
    """The object without what no plugin reads; of its annotations, those with these keys."""
    obj = replace(obj, metadata=_metadata(obj.metadata, annotations))  # type: ignore[attr-defined,type-var]
    rule = _RULES.get(type(obj))
    return rule(obj) if rule is not None else obj


def _metadata(metadata: ObjectMeta, annotations: Set[str]) -> ObjectMeta:
    """Without the version: two states of an object that scheduling cannot tell apart are equal in a trace."""
    own = metadata.annotations
    if own and not own.keys() <= annotations:
        own = {key: value for key, value in own.items() if key in annotations}
    return replace(metadata, resource_version="", annotations=own)


def _pod(pod: Pod) -> Pod:
    conditions = (condition for condition in pod.status.conditions if condition.type in CONDITIONS)
    status = replace(pod.status, message="", conditions=tuple(map(_pod_condition, conditions)))
    if any(volume.csi or volume.azure_file or volume.ephemeral for volume in pod.spec.volumes):
        return replace(pod, status=status, spec=replace(pod.spec, volumes=tuple(map(_volume, pod.spec.volumes))))
    return replace(pod, status=status)


def _pod_condition(condition: PodCondition) -> PodCondition:
    message = condition.message if condition.type in (POD_SCHEDULED, DISRUPTION_TARGET) else ""
    return replace(condition, last_probe_time=None, message=message)


def _volume(volume: Volume) -> Volume:
    """Without attributes of drivers, names of secrets, and metadata of claims to be made that nobody reads."""
    if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None:
        template = replace(template, metadata=ObjectMeta(labels=template.metadata.labels))
        volume = replace(volume, ephemeral=replace(volume.ephemeral, volume_claim_template=template))
    return replace(
        volume,
        csi=volume.csi and replace(volume.csi, volume_attributes={}),
        azure_file=volume.azure_file and replace(volume.azure_file, secret_name="", secret_namespace=""),
    )


def _node(node: Node) -> Node:
    return replace(node, status=replace(node.status, conditions=tuple(map(_node_condition, node.status.conditions))))


def _node_condition(condition: NodeCondition) -> NodeCondition:
    """Without heartbeats: they are most of what changes on a node, and decide nothing."""
    return replace(condition, last_heartbeat_time=None, message="")


def _volume_spec(spec: PersistentVolumeSpec) -> PersistentVolumeSpec:
    return replace(
        spec,
        csi=spec.csi and replace(spec.csi, volume_attributes={}),
        azure_file=spec.azure_file and replace(spec.azure_file, secret_name="", secret_namespace=""),
        local=None,
        host_path=None,
    )


def _persistent_volume(volume: PersistentVolume) -> PersistentVolume:
    return replace(volume, spec=_volume_spec(volume.spec))


def _attachment(attachment: VolumeAttachment) -> VolumeAttachment:
    source = attachment.spec.source
    if source.inline_volume_spec is None:
        return attachment
    source = replace(source, inline_volume_spec=_volume_spec(source.inline_volume_spec))
    return replace(attachment, spec=replace(attachment.spec, source=source))


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    """Without what is opaque to the scheduler: configuration that is meant for a device's driver."""
    return replace(spec, devices=replace(spec.devices, config=()))


def _resource_claim(claim: ResourceClaim) -> ResourceClaim:
    allocation = claim.status.allocation
    if allocation is not None:
        allocation = replace(allocation, devices=replace(allocation.devices, config=()))
    devices = tuple(
        replace(device, conditions=tuple(replace(condition, message="") for condition in device.conditions))
        for device in claim.status.devices
    )
    status = replace(claim.status, allocation=allocation, devices=devices)
    return replace(claim, spec=_claim_spec(claim.spec), status=status)


def _claim_template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    metadata = ObjectMeta(labels=template.spec.metadata.labels)
    return replace(template, spec=replace(template.spec, metadata=metadata, spec=_claim_spec(template.spec.spec)))


def _device_class(device_class: DeviceClass) -> DeviceClass:
    return replace(device_class, spec=replace(device_class.spec, config=()))


def _without_parameters(obj: Any) -> Any:
    return replace(obj, parameters={})


_RULES: Final[dict[type, Callable[[Any], Any]]] = {
    Pod: _pod,
    Node: _node,
    PersistentVolume: _persistent_volume,
    VolumeAttachment: _attachment,
    ResourceClaim: _resource_claim,
    ResourceClaimTemplate: _claim_template,
    DeviceClass: _device_class,
    StorageClass: _without_parameters,
    VolumeAttributesClass: _without_parameters,
    PriorityClass: lambda priority: replace(priority, description=""),
}
