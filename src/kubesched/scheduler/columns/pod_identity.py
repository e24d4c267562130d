"""Which pods are alike to scheduling: the key under which templates are interned."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from kubesched.objects import Pod
from kubesched.objects.pod import PodStatus
from kubesched.objects.volume import Volume

Parts: TypeAlias = tuple[object, ...]


def identity(parts: Parts) -> bytes:
    """The parts as one key."""
    return _ENCODER.encode(parts)


def parts_of(pod: Pod, wanted_node: str) -> Parts:
    """Equal for pods that no filter, score or count can tell apart."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    volumes = [volume for volume in spec.volumes if volume != Volume(name=volume.name)] if spec.volumes else ()
    owner = metadata.controller_of if metadata.owner_references else None
    # A claim that is made for one pod is named after it and owned by it: such pods share nothing.
    is_unique = spec.resource_claims or (volumes and any(volume.ephemeral for volume in volumes))
    return (
        _common(pod),
        (metadata.name, metadata.uid, status.resource_claim_statuses) if is_unique else None,
        (owner.api_version, owner.kind, owner.name) if owner else None,
        wanted_node,
        volumes,
        _resize_state(pod) if status.container_statuses or status.resources else None,
    )


def same_identity(one: Pod, other: Pod) -> bool:
    """Whether two versions of a pod surely have the same identity: much cheaper than making it.

    False does not say that they differ: a field of the spec that the identity leaves out may have changed.
    """
    metadata, other_metadata, spec = one.metadata, other.metadata, one.spec
    if spec.node_name != other.spec.node_name:
        spec = replace(spec, node_name=other.spec.node_name)
    return (
        metadata.uid == other_metadata.uid
        and metadata.labels == other_metadata.labels
        and metadata.owner_references == other_metadata.owner_references
        and spec == other.spec
        and (one.status is other.status or _status_parts(one.status) == _status_parts(other.status))
    )


def _common(pod: Pod) -> Parts:
    """What a filter, a score or a count may read as it is. What is left out must not matter to any."""
    metadata, spec = pod.metadata, pod.spec
    return (
        metadata.namespace,
        metadata.labels,
        spec.node_selector,
        spec.containers,
        spec.init_containers,
        spec.resources,
        spec.overhead,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.resource_claims,
        spec.scheduling_group,
        spec.priority,
        spec.preemption_policy,
        spec.scheduler_name,
        spec.host_network,
        spec.host_users,
        spec.restart_policy,
        pod.status.extended_resource_claim_status,
        pod.status.node_allocatable_resource_claim_statuses,
    )


def _status_parts(status: PodStatus) -> Parts:
    """All of a status that the identity is made from, unedited."""
    return (
        status.extended_resource_claim_status,
        status.node_allocatable_resource_claim_statuses,
        status.resource_claim_statuses,
        status.container_statuses,
        status.init_container_statuses,
        status.resources,
        status.allocated_resources,
        status.conditions if status.container_statuses or status.resources else None,
    )


def _resize_state(pod: Pod) -> object:
    """The resources in the status, where they differ from the spec (a resize in place); None otherwise."""
    spec, status = pod.spec, pod.status
    in_spec = {c.name: c.resources.requests for c in (*spec.containers, *spec.init_containers)}
    statuses = (*status.container_statuses, *status.init_container_statuses)
    settled = status.resources is None and all(
        (s.resources is None or s.resources.requests == in_spec.get(s.name))
        and (not s.allocated_resources or s.allocated_resources == in_spec.get(s.name))
        for s in statuses
    )
    if settled:
        return None
    pending = [c for c in status.conditions if c.type == "PodResizePending"]
    return (statuses, status.resources, status.allocated_resources, status.resize, pending)


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=attrgetter("text"), order="deterministic")
"""Quantities are all that msgspec does not know; anything else has no text, and fails."""
