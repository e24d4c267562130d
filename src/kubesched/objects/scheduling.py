"""PodGroup and Workload (scheduling.k8s.io): pods that are placed together.

Kubernetes 1.37 serves them as v1beta1 and v1alpha3, which are the same, and 1.36 as v1alpha2. The structs hold both
shapes; what differs is asked through properties.
"""

from __future__ import annotations

from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import Condition, ObjectMeta, TypedLocalObjectReference


class BasicSchedulingPolicy(KubeStruct):
    """Its presence alone asks for pod-by-pod scheduling."""


class GangSchedulingPolicy(KubeStruct):
    min_count: int = 0


class PodGroupSchedulingPolicy(KubeStruct):
    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(KubeStruct):
    key: str = ""


class PodGroupSchedulingConstraints(KubeStruct):
    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupResourceClaim(KubeStruct):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SingleDisruptionMode(KubeStruct):
    """Its presence alone says that pods go one by one."""


class AllDisruptionMode(KubeStruct):
    """Its presence alone says that all pods go together."""


class DisruptionMode(KubeStruct):
    single: SingleDisruptionMode | None = None
    all: AllDisruptionMode | None = None


AnyDisruptionMode = DisruptionMode | str
"""v1alpha2 has a word: `Pod` or `PodGroup`."""


class PodGroupTemplate(KubeStruct):
    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: AnyDisruptionMode = ""
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None


class WorkloadSpec(KubeStruct):
    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class WorkloadPodGroupTemplateReference(KubeStruct):
    workload_name: str = ""
    pod_group_template_name: str = ""


class PodGroupTemplateReference(KubeStruct):
    workload: WorkloadPodGroupTemplateReference | None = None


class WorkloadReference(KubeStruct):
    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(KubeStruct):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    pod_group_template_ref: PodGroupTemplateReference | None = None
    """v1alpha2: what `workload_ref` is since."""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: AnyDisruptionMode = ""
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None


class PodGroupResourceClaimStatus(KubeStruct):
    name: str = ""
    resource_claim_name: str | None = None


class PodGroupStatus(KubeStruct):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class PodGroup(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def priority(self) -> int:
        """The group's own priority, whatever its pods say; a group without one has 0 (PodGroupPriority)."""
        return self.spec.priority or 0

    @property
    def is_disrupted_as_a_whole(self) -> bool:
        """Whether all of its pods go if one does."""
        mode = self.spec.disruption_mode
        return mode.all is not None if isinstance(mode, DisruptionMode) else mode == "PodGroup"
