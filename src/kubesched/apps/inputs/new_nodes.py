"""Nodes that do not exist yet: like one that does, with the pods that come with every node."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kubesched.objects import Node, Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.node import NodeStatus

HOSTNAME: Final = "kubernetes.io/hostname"
MIRROR: Final = "kubernetes.io/config.mirror"


def new_node(model: Node, name: str) -> Node:
    """A node like another one, fresh: nothing runs on it, and nobody has cordoned it."""
    labels = {**model.metadata.labels, HOSTNAME: name}
    status = NodeStatus(
        capacity=model.status.capacity,
        allocatable=model.status.allocatable or model.status.capacity,
        conditions=model.status.conditions,
        declared_features=model.status.declared_features,
    )
    metadata = ObjectMeta(name=name, uid=f"node/{name}", labels=labels, annotations=model.metadata.annotations)
    return replace(model, metadata=metadata, spec=replace(model.spec, unschedulable=False), status=status)


def stays_with_node(pod: Pod) -> bool:
    """Whether the pod comes and goes with its node: one of a DaemonSet, or a static one."""
    owner = pod.metadata.controller_of
    return MIRROR in pod.metadata.annotations or (owner is not None and owner.kind in ("DaemonSet", "Node"))
