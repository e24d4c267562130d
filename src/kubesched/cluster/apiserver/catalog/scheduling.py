"""What scheduling and coordination read: priority classes, pod groups, devices, leases, events."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import graceful_deletion
from kubesched.cluster.apiserver.admission.priority_classes import PodGroupAdmission, PriorityClassAdmission
from kubesched.cluster.apiserver.catalog.parts import EVENT_FIELDS, status_of
from kubesched.cluster.apiserver.defaulting import cluster as cluster_defaults
from kubesched.cluster.apiserver.event_conversion import EVENTS_GROUP
from kubesched.cluster.apiserver.pod_group_conversion import POD_GROUPS_1_36, WORKLOADS_1_36
from kubesched.cluster.apiserver.resource import Conversion, Resource, Rules, SelectableField
from kubesched.cluster.apiserver.tables import cluster as cluster_tables
from kubesched.cluster.apiserver.tables import workloads as workload_tables
from kubesched.cluster.apiserver.validation import cluster as cluster_rules
from kubesched.cluster.apiserver.validation.names import path_segment_problems


def _groups(
    version: str,
    schema: str = "v1beta1",
    group_conversion: Conversion | None = None,
    workload_conversion: Conversion | None = None,
) -> tuple[Resource, Resource]:
    """Pod groups and workloads in one of their API versions; all are stored as v1beta1."""
    return (
        Resource(
            group="scheduling.k8s.io",
            version=version,
            kind="PodGroup",
            plural="podgroups",
            struct_name=f"scheduling.{schema}.PodGroup",
            subresources=(status_of("PodGroup"),),
            table=workload_tables.POD_GROUPS,
            rules=Rules(default=cluster_defaults.default_pod_group, admission=PodGroupAdmission),
            conversion=group_conversion,
        ),
        Resource(
            group="scheduling.k8s.io",
            version=version,
            kind="Workload",
            plural="workloads",
            struct_name=f"scheduling.{schema}.Workload",
            conversion=workload_conversion,
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
            admission=PriorityClassAdmission,
            deletion=graceful_deletion.PRIORITY_CLASSES,
        ),
    ),
    Resource(
        group="node.k8s.io",
        version="v1",
        kind="RuntimeClass",
        plural="runtimeclasses",
        struct_name="node.v1.RuntimeClass",
        namespaced=False,
        table=cluster_tables.RUNTIME_CLASSES,
        rules=Rules(
            validate=cluster_rules.runtime_class_problems, validate_update=cluster_rules.runtime_class_update_problems
        ),
    ),
    *_groups("v1beta1"),
    *_groups("v1alpha3"),
    *_groups("v1alpha2", schema="v1alpha2", group_conversion=POD_GROUPS_1_36, workload_conversion=WORKLOADS_1_36),
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
        kind="DeviceTaintRule",
        plural="devicetaintrules",
        struct_name="resource.v1beta2.DeviceTaintRule",
        namespaced=False,
        subresources=(status_of("DeviceTaintRule"),),
        table=cluster_tables.DEVICE_TAINT_RULES,
        rules=Rules(validate=cluster_rules.device_taint_rule_problems, returns_deleted=True, counts_generations=True),
    ),
    Resource(
        group="resource.k8s.io",
        version="v1beta2",
        kind="DeviceTaintRule",
        plural="devicetaintrules",
        struct_name="resource.v1beta2.DeviceTaintRule",
        namespaced=False,
        subresources=(status_of("DeviceTaintRule"),),
        table=cluster_tables.DEVICE_TAINT_RULES,
        rules=Rules(validate=cluster_rules.device_taint_rule_problems, returns_deleted=True, counts_generations=True),
    ),
    Resource(
        group="resource.k8s.io",
        version="v1",
        kind="ResourceClaim",
        plural="resourceclaims",
        struct_name="resource.v1.ResourceClaim",
        subresources=(status_of("ResourceClaim"),),
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
        fields=EVENT_FIELDS,
        bucket="events",
        conversion=EVENTS_GROUP,
    ),
)
