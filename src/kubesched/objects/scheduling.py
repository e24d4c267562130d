"""PodGroup and Workload (scheduling.k8s.io/v1alpha2): pods that are placed together."""

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


class PodGroupTemplate(KubeStruct):
    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str = ""
    priority_class_name: str = ""
    priority: int | None = None


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


class PodGroupSpec(KubeStruct):
    pod_group_template_ref: PodGroupTemplateReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str = ""
    priority_class_name: str = ""
    priority: int | None = None


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
