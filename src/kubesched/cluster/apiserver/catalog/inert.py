"""What applications bring along besides pods: kept, shown and checked, but nothing in this cluster acts on it."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import preparation
from kubesched.cluster.apiserver.catalog.parts import status_of
from kubesched.cluster.apiserver.defaulting import inert as defaults
from kubesched.cluster.apiserver.resource import Resource, Rules
from kubesched.cluster.apiserver.tables import inert as tables
from kubesched.cluster.apiserver.tables.layout import NAME_AND_CREATION, TableLayout
from kubesched.cluster.apiserver.validation import inert as rules
from kubesched.cluster.apiserver.validation.names import path_segment_problems

NETWORKING: Final = (
    Resource(
        group="",
        version="v1",
        kind="Endpoints",
        plural="endpoints",
        struct_name="core.v1.Endpoints",
        short_names=("ep",),
        table=tables.ENDPOINTS,
        rules=Rules(default=defaults.default_endpoints, create_on_update=True),
    ),
    Resource(
        group="discovery.k8s.io",
        version="v1",
        kind="EndpointSlice",
        plural="endpointslices",
        struct_name="discovery.v1.EndpointSlice",
        table=tables.ENDPOINT_SLICES,
        rules=Rules(
            default=defaults.default_endpoint_slice,
            validate=rules.endpoint_slice_problems,
            counts_generations=True,
        ),
    ),
    Resource(
        group="networking.k8s.io",
        version="v1",
        kind="Ingress",
        plural="ingresses",
        struct_name="networking.v1.Ingress",
        short_names=("ing",),
        subresources=(status_of("Ingress"),),
        table=tables.INGRESSES,
        rules=Rules(prepare=preparation.prepare_ingress, validate=rules.ingress_problems, counts_generations=True),
    ),
    Resource(
        group="networking.k8s.io",
        version="v1",
        kind="IngressClass",
        plural="ingressclasses",
        struct_name="networking.v1.IngressClass",
        namespaced=False,
        table=tables.INGRESS_CLASSES,
        rules=Rules(default=defaults.default_ingress_class, counts_generations=True),
    ),
    Resource(
        group="networking.k8s.io",
        version="v1",
        kind="NetworkPolicy",
        plural="networkpolicies",
        struct_name="networking.v1.NetworkPolicy",
        short_names=("netpol",),
        table=tables.NETWORK_POLICIES,
        rules=Rules(default=defaults.default_network_policy, counts_generations=True),
    ),
)

AUTOSCALING: Final = (
    Resource(
        group="autoscaling",
        version="v2",
        kind="HorizontalPodAutoscaler",
        plural="horizontalpodautoscalers",
        struct_name="autoscaling.v2.HorizontalPodAutoscaler",
        short_names=("hpa",),
        categories=("all",),
        subresources=(status_of("HorizontalPodAutoscaler"),),
        table=tables.AUTOSCALERS,
        rules=Rules(default=defaults.default_autoscaler, validate=rules.autoscaler_problems, counts_generations=True),
    ),
)


def _access(kind: str, plural: str, table: TableLayout, rules_of_kind: Rules, *, namespaced: bool) -> Resource:
    return Resource(
        group="rbac.authorization.k8s.io",
        version="v1",
        kind=kind,
        plural=plural,
        struct_name=f"rbac.v1.{kind}",
        namespaced=namespaced,
        table=table,
        rules=rules_of_kind,
    )


def _roles(kind: str, plural: str, *, namespaced: bool) -> Resource:
    by_name = Rules(name_rule=path_segment_problems, create_on_update=True)
    return _access(kind, plural, NAME_AND_CREATION, by_name, namespaced=namespaced)


def _bindings(kind: str, plural: str, *, namespaced: bool) -> Resource:
    checked = Rules(
        default=defaults.default_role_binding,
        validate=rules.role_binding_validator(namespaced=namespaced),
        validate_update=rules.role_is_fixed,
        name_rule=path_segment_problems,
        create_on_update=True,
    )
    return _access(kind, plural, tables.ROLE_BINDINGS, checked, namespaced=namespaced)


ACCESS: Final = (
    _roles("ClusterRole", "clusterroles", namespaced=False),
    _roles("Role", "roles", namespaced=True),
    _bindings("ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _bindings("RoleBinding", "rolebindings", namespaced=True),
)
