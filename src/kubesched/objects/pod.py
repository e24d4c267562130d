"""Pod: what runs, what it asks for, and what is known of it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from kubesched.objects.affinity import Affinity, Toleration, TopologySpreadConstraint
from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.quantity import Quantity
from kubesched.objects.volume import Volume

TERMINAL_PHASES: Final = ("Succeeded", "Failed")
RUN_SECONDS: Final = "kubesched.io/run-seconds"
"""The annotation that says how long a pod runs: for replays, and for the kubelets of the embedded cluster."""
"""Of pods that ran to their end."""


class ContainerResourceClaim(KubeStruct):
    """A container's use of one of its pod's resource claims (core/v1 ResourceClaim)."""

    name: str = ""
    request: str = ""


class ResourceRequirements(KubeStruct):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: tuple[ContainerResourceClaim, ...] = ()


class ContainerPort(KubeStruct):
    name: str = ""
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")


class ContainerRestartRule(KubeStruct):
    action: str = ""


class Container(KubeStruct):
    """A container or an init container; `restart_policy` "Always" makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """Whether this init container keeps running beside the others (a restartable init container)."""
        return self.restart_policy == "Always"


class PodSchedulingGate(KubeStruct):
    name: str = ""


class PodResourceClaim(KubeStruct):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(KubeStruct):
    pod_group_name: str = ""


class PodSpec(KubeStruct):
    node_name: str = ""
    node_selector: dict[str, str] = {}
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, Quantity] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    host_network: bool = False
    host_users: bool | None = None
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None


class PodCondition(KubeStruct):
    type: str = ""
    status: str = ""
    observed_generation: int = 0
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class ContainerStatus(KubeStruct):
    """The resources that a container runs with, which a resize in place makes differ from its spec."""

    name: str = ""
    allocated_resources: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(KubeStruct):
    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(KubeStruct):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(KubeStruct):
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(KubeStruct):
    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: dict[str, Quantity] = {}


class PodStatus(KubeStruct):
    observed_generation: int = 0
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    start_time: datetime | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name

    @property
    def priority(self) -> int:
        """The pod's priority; a pod without one has 0 (corev1helpers.PodPriority)."""
        return self.spec.priority or 0

    @property
    def is_terminal(self) -> bool:
        """Whether the pod ran to its end: it holds no resources any more."""
        return self.status.phase in TERMINAL_PHASES

    @property
    def is_terminating(self) -> bool:
        """Whether the pod's deletion has begun."""
        return self.metadata.deletion_timestamp is not None
