"""Node: where pods run."""

from __future__ import annotations

from datetime import datetime

from kubesched.objects.affinity import Taint
from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.quantity import Quantity


class NodeSpec(KubeStruct):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(KubeStruct):
    type: str = ""
    status: str = ""
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class ContainerImage(KubeStruct):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(KubeStruct):
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name
