"""Everything that is served, in one visible table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubesched.cluster.apiserver import preparation
from kubesched.cluster.apiserver.defaulting import cluster as cluster_defaults
from kubesched.cluster.apiserver.defaulting import pods as pod_defaults
from kubesched.cluster.apiserver.defaulting import volumes as volume_defaults
from kubesched.cluster.apiserver.defaulting import workloads as workload_defaults
from kubesched.cluster.apiserver.event_views import EVENTS_GROUP_VIEW
from kubesched.cluster.apiserver.resource import Resource, Rules, SelectableField, Subresource
from kubesched.cluster.apiserver.tables import cluster as cluster_tables
from kubesched.cluster.apiserver.tables import pods as pod_tables
from kubesched.cluster.apiserver.tables import volumes as volume_tables
from kubesched.cluster.apiserver.tables import workloads as workload_tables
from kubesched.cluster.apiserver.tables.layout import NAME_AND_CREATION
from kubesched.cluster.apiserver.validation import cluster as cluster_rules
from kubesched.cluster.apiserver.validation import pods as pod_rules
from kubesched.cluster.apiserver.validation import volumes as volume_rules
from kubesched.cluster.apiserver.validation import workloads as workload_rules
from kubesched.cluster.apiserver.validation.names import dns_label_problems, path_segment_problems

Json = dict[str, Any]


def _status(kind: str) -> Subresource:
    return Subresource(name="status", kind=kind)


_SCALE: Final = Subresource(name="scale", kind="Scale", group="autoscaling", version="v1")


_POD_FIELDS: Final = {
    "spec.nodeName": SelectableField("spec", "nodeName"),
    "spec.restartPolicy": SelectableField("spec", "restartPolicy"),
    "spec.schedulerName": SelectableField("spec", "schedulerName"),
    "spec.serviceAccountName": SelectableField("spec", "serviceAccountName"),
    "spec.hostNetwork": SelectableField("spec", "hostNetwork", default="false"),
    "status.phase": SelectableField("status", "phase"),
    "status.podIP": SelectableField("status", "podIP"),
    "status.podIPs": SelectableField("status", "podIP"),
    "status.nominatedNodeName": SelectableField("status", "nominatedNodeName"),
}
_EVENT_FIELDS: Final = {
    **{
        f"involvedObject.{key}": SelectableField("involvedObject", key)
        for key in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reason": SelectableField("reason"),
    "reportingComponent": SelectableField("reportingComponent"),
    "source": SelectableField("source", "component"),
    "type": SelectableField("type"),
}
_REVIEW_VERBS: Final = ("create",)

CORE: Final = (
    Resource(
        group="",
        version="v1",
        kind="Binding",
        plural="bindings",
        struct_name="core.v1.Binding",
        verbs=_REVIEW_VERBS,
    ),
    Resource(
        group="",
        version="v1",
        kind="ConfigMap",
        plural="configmaps",
        struct_name="core.v1.ConfigMap",
        short_names=("cm",),
        table=cluster_tables.CONFIG_MAPS,
        rules=Rules(
            validate=cluster_rules.config_map_problems, validate_update=cluster_rules.config_map_update_problems
        ),
    ),
    Resource(
        group="",
        version="v1",
        kind="Event",
        plural="events",
        struct_name="core.v1.Event",
        short_names=("ev",),
        table=cluster_tables.EVENTS,
        rules=Rules(name_rule=path_segment_problems, create_on_update=True),
        fields=_EVENT_FIELDS,
    ),
    Resource(
        group="",
        version="v1",
        kind="LimitRange",
        plural="limitranges",
        struct_name="core.v1.LimitRange",
        short_names=("limits",),
        table=NAME_AND_CREATION,
        rules=Rules(create_on_update=True, default=cluster_defaults.default_limit_range),
    ),
    Resource(
        group="",
        version="v1",
        kind="Namespace",
        plural="namespaces",
        struct_name="core.v1.Namespace",
        namespaced=False,
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
        short_names=("ns",),
        subresources=(Subresource(name="finalize", kind="Namespace", verbs=("update",)), _status("Namespace")),
        table=cluster_tables.NAMESPACES,
        rules=Rules(
            returns_deleted=True,
            default=cluster_defaults.default_namespace,
            prepare=preparation.prepare_namespace,
            name_rule=dns_label_problems,
        ),
        fields={"status.phase": SelectableField("status", "phase")},
    ),
    Resource(
        group="",
        version="v1",
        kind="Node",
        plural="nodes",
        struct_name="core.v1.Node",
        namespaced=False,
        short_names=("no",),
        subresources=(_status("Node"),),
        table=cluster_tables.NODES,
        rules=Rules(
            prepare=preparation.prepare_node,
            validate=cluster_rules.node_problems,
            default=cluster_defaults.default_node,
            keeps_status_on_create=True,
        ),
        fields={"spec.unschedulable": SelectableField("spec", "unschedulable", default="false")},
    ),
    Resource(
        group="",
        version="v1",
        kind="PersistentVolumeClaim",
        plural="persistentvolumeclaims",
        struct_name="core.v1.PersistentVolumeClaim",
        short_names=("pvc",),
        subresources=(_status("PersistentVolumeClaim"),),
        table=volume_tables.CLAIMS,
        rules=Rules(
            validate=volume_rules.claim_problems,
            validate_update=volume_rules.claim_update_problems,
            returns_deleted=True,
            default=volume_defaults.default_claim,
            prepare=preparation.prepare_claim,
        ),
    ),
    Resource(
        group="",
        version="v1",
        kind="PersistentVolume",
        plural="persistentvolumes",
        struct_name="core.v1.PersistentVolume",
        namespaced=False,
        short_names=("pv",),
        subresources=(_status("PersistentVolume"),),
        table=volume_tables.VOLUMES,
        rules=Rules(
            validate=volume_rules.volume_problems,
            returns_deleted=True,
            default=volume_defaults.default_volume,
            prepare=preparation.prepare_volume,
        ),
    ),
    Resource(
        group="",
        version="v1",
        kind="Pod",
        plural="pods",
        struct_name="core.v1.Pod",
        short_names=("po",),
        categories=("all",),
        subresources=(
            Subresource(name="binding", kind="Binding", verbs=("create",)),
            Subresource(name="eviction", kind="Eviction", group="policy", version="v1", verbs=("create",)),
            Subresource(name="log", kind="Pod", verbs=("get",)),
            _status("Pod"),
        ),
        table=pod_tables.PODS,
        rules=Rules(
            validate=pod_rules.pod_problems,
            validate_update=pod_rules.pod_update_problems,
            counts_generations=True,
            returns_deleted=True,
            default=pod_defaults.default_pod,
            prepare=preparation.prepare_pod,
        ),
        fields=_POD_FIELDS,
    ),
    Resource(
        group="",
        version="v1",
        kind="PodTemplate",
        plural="podtemplates",
        struct_name="core.v1.PodTemplate",
        table=workload_tables.POD_TEMPLATES,
        rules=Rules(returns_deleted=True),
    ),
    Resource(
        group="",
        version="v1",
        kind="ReplicationController",
        plural="replicationcontrollers",
        struct_name="core.v1.ReplicationController",
        short_names=("rc",),
        categories=("all",),
        subresources=(_SCALE, _status("ReplicationController")),
        table=workload_tables.REPLICA_SETS,
        rules=Rules(
            validate=workload_rules.replication_controller_problems,
            default=workload_defaults.default_replication_controller,
            counts_generations=True,
        ),
        fields={"status.replicas": SelectableField("status", "replicas", default="0")},
    ),
    Resource(
        group="",
        version="v1",
        kind="ResourceQuota",
        plural="resourcequotas",
        struct_name="core.v1.ResourceQuota",
        short_names=("quota",),
        subresources=(_status("ResourceQuota"),),
        table=cluster_tables.QUOTAS,
        rules=Rules(returns_deleted=True),
    ),
    Resource(
        group="",
        version="v1",
        kind="Secret",
        plural="secrets",
        struct_name="core.v1.Secret",
        table=cluster_tables.SECRETS,
        rules=Rules(
            validate=cluster_rules.secret_problems,
            validate_update=cluster_rules.secret_update_problems,
            default=cluster_defaults.default_secret,
        ),
        fields={"type": SelectableField("type")},
    ),
    Resource(
        group="",
        version="v1",
        kind="ServiceAccount",
        plural="serviceaccounts",
        struct_name="core.v1.ServiceAccount",
        short_names=("sa",),
        rules=Rules(returns_deleted=True),
    ),
    Resource(
        group="",
        version="v1",
        kind="Service",
        plural="services",
        struct_name="core.v1.Service",
        short_names=("svc",),
        categories=("all",),
        subresources=(_status("Service"),),
        table=cluster_tables.SERVICES,
        rules=Rules(
            create_on_update=True,
            returns_deleted=True,
            default=cluster_defaults.default_service,
            prepare=preparation.prepare_service,
        ),
        fields={"spec.clusterIP": SelectableField("spec", "clusterIP"), "spec.type": SelectableField("spec", "type")},
    ),
)

APPS: Final = (
    Resource(
        group="apps",
        version="v1",
        kind="ControllerRevision",
        plural="controllerrevisions",
        struct_name="apps.v1.ControllerRevision",
        table=workload_tables.CONTROLLER_REVISIONS,
    ),
    Resource(
        group="apps",
        version="v1",
        kind="DaemonSet",
        plural="daemonsets",
        struct_name="apps.v1.DaemonSet",
        short_names=("ds",),
        categories=("all",),
        subresources=(_status("DaemonSet"),),
        table=workload_tables.DAEMON_SETS,
        rules=Rules(
            prepare=preparation.prepare_daemon_set,
            prepare_update=preparation.count_daemon_templates,
            validate=workload_rules.workload_validator("daemonset"),
            validate_update=workload_rules.selector_is_fixed,
            default=workload_defaults.default_daemon_set,
            counts_generations=True,
        ),
    ),
    Resource(
        group="apps",
        version="v1",
        kind="Deployment",
        plural="deployments",
        struct_name="apps.v1.Deployment",
        short_names=("deploy",),
        categories=("all",),
        subresources=(_SCALE, _status("Deployment")),
        table=workload_tables.DEPLOYMENTS,
        rules=Rules(
            validate=workload_rules.workload_validator("deployment"),
            validate_update=workload_rules.selector_is_fixed,
            default=workload_defaults.default_deployment,
            counts_generations=True,
        ),
    ),
    Resource(
        group="apps",
        version="v1",
        kind="ReplicaSet",
        plural="replicasets",
        struct_name="apps.v1.ReplicaSet",
        short_names=("rs",),
        categories=("all",),
        subresources=(_SCALE, _status("ReplicaSet")),
        table=workload_tables.REPLICA_SETS,
        rules=Rules(
            validate=workload_rules.workload_validator("replicaset"),
            validate_update=workload_rules.selector_is_fixed,
            default=workload_defaults.default_replica_set,
            counts_generations=True,
        ),
        fields={"status.replicas": SelectableField("status", "replicas", default="0")},
    ),
    Resource(
        group="apps",
        version="v1",
        kind="StatefulSet",
        plural="statefulsets",
        struct_name="apps.v1.StatefulSet",
        short_names=("sts",),
        categories=("all",),
        subresources=(_SCALE, _status("StatefulSet")),
        table=workload_tables.STATEFUL_SETS,
        rules=Rules(
            prepare=preparation.prepare_stateful_set,
            validate=workload_rules.workload_validator("statefulset"),
            validate_update=workload_rules.stateful_set_update_problems,
            default=workload_defaults.default_stateful_set,
            counts_generations=True,
        ),
    ),
)

BATCH: Final = (
    Resource(
        group="batch",
        version="v1",
        kind="CronJob",
        plural="cronjobs",
        struct_name="batch.v1.CronJob",
        short_names=("cj",),
        categories=("all",),
        subresources=(_status("CronJob"),),
        table=workload_tables.CRON_JOBS,
        rules=Rules(
            validate=workload_rules.cron_job_problems,
            default=workload_defaults.default_cron_job,
            counts_generations=True,
        ),
    ),
    Resource(
        group="batch",
        version="v1",
        kind="Job",
        plural="jobs",
        struct_name="batch.v1.Job",
        categories=("all",),
        subresources=(_status("Job"),),
        table=workload_tables.JOBS,
        rules=Rules(
            validate=workload_rules.job_problems,
            validate_update=workload_rules.job_update_problems,
            default=workload_defaults.default_job,
            prepare=preparation.prepare_job,
            counts_generations=True,
        ),
        fields={"status.successful": SelectableField("status", "succeeded", default="0")},
    ),
)

POLICY: Final = (
    Resource(
        group="policy",
        version="v1",
        kind="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        struct_name="policy.v1.PodDisruptionBudget",
        short_names=("pdb",),
        subresources=(_status("PodDisruptionBudget"),),
        table=workload_tables.DISRUPTION_BUDGETS,
        rules=Rules(
            prepare=preparation.prepare_disruption_budget,
            validate=workload_rules.disruption_budget_problems,
            unconditional_update=False,
            counts_generations=True,
        ),
    ),
)

STORAGE: Final = (
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="CSIDriver",
        plural="csidrivers",
        struct_name="storage.v1.CSIDriver",
        namespaced=False,
        table=volume_tables.CSI_DRIVERS,
        rules=Rules(
            unconditional_update=False,
            returns_deleted=True,
            default=volume_defaults.default_csi_driver,
        ),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="CSINode",
        plural="csinodes",
        struct_name="storage.v1.CSINode",
        namespaced=False,
        table=volume_tables.CSI_NODES,
        rules=Rules(unconditional_update=False, returns_deleted=True),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="CSIStorageCapacity",
        plural="csistoragecapacities",
        struct_name="storage.v1.CSIStorageCapacity",
        table=NAME_AND_CREATION,
        rules=Rules(unconditional_update=False),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="StorageClass",
        plural="storageclasses",
        struct_name="storage.v1.StorageClass",
        namespaced=False,
        short_names=("sc",),
        table=volume_tables.STORAGE_CLASSES,
        rules=Rules(
            validate=volume_rules.storage_class_problems,
            validate_update=volume_rules.storage_class_update_problems,
            returns_deleted=True,
            default=volume_defaults.default_storage_class,
        ),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="VolumeAttachment",
        plural="volumeattachments",
        struct_name="storage.v1.VolumeAttachment",
        namespaced=False,
        subresources=(_status("VolumeAttachment"),),
        table=volume_tables.ATTACHMENTS,
        rules=Rules(unconditional_update=False, returns_deleted=True),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="VolumeAttributesClass",
        plural="volumeattributesclasses",
        struct_name="storage.v1.VolumeAttributesClass",
        namespaced=False,
        short_names=("vac",),
        table=volume_tables.ATTRIBUTES_CLASSES,
        rules=Rules(returns_deleted=True),
    ),
)

SCHEDULING: Final = (
    Resource(
        group="scheduling.k8s.io",
        version="v1",
        kind="PriorityClass",
        plural="priorityclasses",
        struct_name="scheduling.v1.PriorityClass",
        namespaced=False,
        short_names=("pc",),
        table=cluster_tables.PRIORITY_CLASSES,
        rules=Rules(
            validate=cluster_rules.priority_class_problems,
            validate_update=cluster_rules.priority_class_update_problems,
            default=cluster_defaults.default_priority_class,
            counts_generations=True,
        ),
    ),
    Resource(
        group="scheduling.k8s.io",
        version="v1alpha2",
        kind="PodGroup",
        plural="podgroups",
        struct_name="scheduling.v1alpha2.PodGroup",
        subresources=(_status("PodGroup"),),
        table=workload_tables.POD_GROUPS,
        rules=Rules(default=cluster_defaults.default_pod_group),
    ),
    Resource(
        group="scheduling.k8s.io",
        version="v1alpha2",
        kind="Workload",
        plural="workloads",
        struct_name="scheduling.v1alpha2.Workload",
    ),
)

DEVICES: Final = (
    Resource(
        group="resource.k8s.io",
        version="v1",
        kind="DeviceClass",
        plural="deviceclasses",
        struct_name="resource.v1.DeviceClass",
        namespaced=False,
        rules=Rules(returns_deleted=True, counts_generations=True),
    ),
    Resource(
        group="resource.k8s.io",
        version="v1",
        kind="ResourceClaim",
        plural="resourceclaims",
        struct_name="resource.v1.ResourceClaim",
        subresources=(_status("ResourceClaim"),),
        table=cluster_tables.RESOURCE_CLAIMS,
        rules=Rules(returns_deleted=True, default=cluster_defaults.default_resource_claim),
    ),
    Resource(
        group="resource.k8s.io",
        version="v1",
        kind="ResourceClaimTemplate",
        plural="resourceclaimtemplates",
        struct_name="resource.v1.ResourceClaimTemplate",
        rules=Rules(returns_deleted=True, default=cluster_defaults.default_resource_claim_template),
    ),
    Resource(
        group="resource.k8s.io",
        version="v1",
        kind="ResourceSlice",
        plural="resourceslices",
        struct_name="resource.v1.ResourceSlice",
        namespaced=False,
        table=cluster_tables.RESOURCE_SLICES,
        rules=Rules(returns_deleted=True, counts_generations=True),
        fields={"spec.nodeName": SelectableField("spec", "nodeName"), "spec.driver": SelectableField("spec", "driver")},
    ),
)

COORDINATION: Final = (
    Resource(
        group="coordination.k8s.io",
        version="v1",
        kind="Lease",
        plural="leases",
        struct_name="coordination.v1.Lease",
        table=cluster_tables.LEASES,
        rules=Rules(validate=cluster_rules.lease_problems, unconditional_update=False, create_on_update=True),
    ),
)

EVENTS: Final = (
    Resource(
        group="events.k8s.io",
        version="v1",
        kind="Event",
        plural="events",
        struct_name="events.v1.Event",
        short_names=("ev",),
        table=cluster_tables.EVENTS,
        rules=Rules(name_rule=path_segment_problems, create_on_update=True),
        fields=_EVENT_FIELDS,
        bucket="events",
        view=EVENTS_GROUP_VIEW,
    ),
)


def _review(group: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(
        group=f"{group}.k8s.io",
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        struct_name=f"{group}.v1.{kind}",
        namespaced=namespaced,
        verbs=_REVIEW_VERBS,
    )


REVIEWS: Final = (
    _review("authentication", "SelfSubjectReview"),
    _review("authentication", "TokenReview"),
    _review("authorization", "LocalSubjectAccessReview", namespaced=True),
    _review("authorization", "SelfSubjectAccessReview"),
    _review("authorization", "SelfSubjectRulesReview"),
    _review("authorization", "SubjectAccessReview"),
)


class Catalog:
    """The served resources, by what a path or an object names."""

    def __init__(self, resources: tuple[Resource, ...]) -> None:
        self.resources = resources
        self._by_plural = {(item.group, item.version, item.plural): item for item in resources}
        self._group_names = {item.group for item in resources}
        self._by_kind = {(item.api_version, item.kind): item for item in resources}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self.resources)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_plural.get((group, version, plural))

    def serves(self, group: str) -> bool:
        return group in self._group_names

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        return self._by_kind.get((api_version, kind))

    def named(self, qualified: str) -> Resource:
        """The resource of that name, e.g. `pods` or `deployments.apps`; in its first version."""
        return next(item for item in self.resources if item.qualified == qualified)

    def groups(self) -> dict[str, dict[str, list[Resource]]]:
        """Resources by group and version, in the order of the catalog."""
        found: dict[str, dict[str, list[Resource]]] = {}
        for item in self.resources:
            found.setdefault(item.group, {}).setdefault(item.version, []).append(item)
        return found


CATALOG: Final = Catalog(
    CORE + APPS + BATCH + POLICY + STORAGE + SCHEDULING + DEVICES + COORDINATION + EVENTS + REVIEWS
)
