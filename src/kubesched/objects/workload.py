"""Objects around pods: namespaces, controllers and services (for default spreading), disruption budgets, priorities."""

from __future__ import annotations

from datetime import datetime

from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import LabelSelector, ObjectMeta


class NamespaceStatus(KubeStruct):
    phase: str = ""


class Namespace(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    status: NamespaceStatus = NamespaceStatus()


class ServiceSpec(KubeStruct):
    selector: dict[str, str] = {}


class Service(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(KubeStruct):
    selector: dict[str, str] = {}


class ReplicationController(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(KubeStruct):
    replicas: int | None = None
    selector: LabelSelector | None = None


class ReplicaSet(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(KubeStruct):
    replicas: int | None = None
    selector: LabelSelector | None = None


class StatefulSet(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class PodDisruptionBudgetSpec(KubeStruct):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(KubeStruct):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, datetime] = {}


class PodDisruptionBudget(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
    description: str = ""
