"""The core group."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import graceful_deletion, preparation
from kubesched.cluster.apiserver.admission import quota_evaluators
from kubesched.cluster.apiserver.admission.pods import PodAdmission
from kubesched.cluster.apiserver.admission.services import ServiceAdmission
from kubesched.cluster.apiserver.admission.storage_classes import ClaimAdmission
from kubesched.cluster.apiserver.catalog.parts import EVENT_FIELDS, REVIEW_VERBS, SCALE, status_of
from kubesched.cluster.apiserver.defaulting import cluster as cluster_defaults
from kubesched.cluster.apiserver.defaulting import pods as pod_defaults
from kubesched.cluster.apiserver.defaulting import volumes as volume_defaults
from kubesched.cluster.apiserver.defaulting import workloads as workload_defaults
from kubesched.cluster.apiserver.resource import Resource, Rules, SelectableField, Subresource
from kubesched.cluster.apiserver.tables import cluster as cluster_tables
from kubesched.cluster.apiserver.tables import pods as pod_tables
from kubesched.cluster.apiserver.tables import volumes as volume_tables
from kubesched.cluster.apiserver.tables import workloads as workload_tables
from kubesched.cluster.apiserver.tables.layout import NAME_AND_CREATION
from kubesched.cluster.apiserver.validation import cluster as cluster_rules
from kubesched.cluster.apiserver.validation import pods as pod_rules
from kubesched.cluster.apiserver.validation import quotas as quota_rules
from kubesched.cluster.apiserver.validation import services as service_rules
from kubesched.cluster.apiserver.validation import volumes as volume_rules
from kubesched.cluster.apiserver.validation import workloads as workload_rules
from kubesched.cluster.apiserver.validation.names import dns_label_problems, path_segment_problems

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

CORE: Final = (
    Resource(
        group="",
        version="v1",
        kind="Binding",
        plural="bindings",
        struct_name="core.v1.Binding",
        verbs=REVIEW_VERBS,
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
            validate=cluster_rules.config_map_problems,
            validate_update=cluster_rules.config_map_update_problems,
            quota=quota_evaluators.counted_as("configmaps"),
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
        fields=EVENT_FIELDS,
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
        subresources=(Subresource(name="finalize", kind="Namespace", verbs=("update",)), status_of("Namespace")),
        table=cluster_tables.NAMESPACES,
        rules=Rules(
            returns_deleted=True,
            default=cluster_defaults.default_namespace,
            prepare=preparation.prepare_namespace,
            name_rule=dns_label_problems,
            deletion=graceful_deletion.NAMESPACES,
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
        subresources=(status_of("Node"),),
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
        subresources=(status_of("PersistentVolumeClaim"),),
        table=volume_tables.CLAIMS,
        rules=Rules(
            validate=volume_rules.claim_problems,
            validate_update=volume_rules.claim_update_problems,
            returns_deleted=True,
            default=volume_defaults.default_claim,
            prepare=preparation.prepare_claim,
            admission=ClaimAdmission,
            quota=quota_evaluators.CLAIMS,
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
        subresources=(status_of("PersistentVolume"),),
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
            status_of("Pod"),
        ),
        table=pod_tables.PODS,
        rules=Rules(
            validate=pod_rules.pod_problems,
            validate_update=pod_rules.pod_update_problems,
            counts_generations=True,
            returns_deleted=True,
            default=pod_defaults.default_pod,
            prepare=preparation.prepare_pod,
            admission=PodAdmission,
            quota=quota_evaluators.PODS,
            deletion=graceful_deletion.PODS,
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
        rules=Rules(default=workload_defaults.default_pod_template, counts_generations=True, returns_deleted=True),
    ),
    Resource(
        group="",
        version="v1",
        kind="ReplicationController",
        plural="replicationcontrollers",
        struct_name="core.v1.ReplicationController",
        short_names=("rc",),
        categories=("all",),
        subresources=(SCALE, status_of("ReplicationController")),
        table=workload_tables.REPLICA_SETS,
        rules=Rules(
            validate=workload_rules.replication_controller_problems,
            default=workload_defaults.default_replication_controller,
            counts_generations=True,
            quota=quota_evaluators.counted_as("replicationcontrollers"),
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
        subresources=(status_of("ResourceQuota"),),
        table=cluster_tables.QUOTAS,
        rules=Rules(
            returns_deleted=True,
            validate=quota_rules.quota_problems,
            validate_update=quota_rules.quota_update_problems,
            quota=quota_evaluators.counted_as("resourcequotas"),
        ),
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
            quota=quota_evaluators.counted_as("secrets"),
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
        subresources=(status_of("Service"),),
        table=cluster_tables.SERVICES,
        rules=Rules(
            create_on_update=True,
            returns_deleted=True,
            default=cluster_defaults.default_service,
            prepare=preparation.prepare_service,
            prepare_update=preparation.drop_by_type,
            validate=service_rules.service_problems,
            validate_update=service_rules.service_update_problems,
            validate_status=service_rules.service_status_problems,
            admission=ServiceAdmission,
            quota=quota_evaluators.SERVICES,
            name_rule=dns_label_problems,
        ),
        fields={"spec.clusterIP": SelectableField("spec", "clusterIP"), "spec.type": SelectableField("spec", "type")},
    ),
)
