"""The arguments of the in-tree plugins (`kubescheduler.config.k8s.io/v1`, kinds `<Plugin>Args`).

A field's default here is what an absent field means. Defaults that hang on a feature gate or on other fields are set
in `kubesched.config.defaults`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from kubesched.objects.affinity import NodeAffinity, TopologySpreadConstraint

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of everything in a configuration file: frozen, keyword-only, camelCase on the wire."""


class ResourceSpec(ConfigStruct, frozen=True):
    """One resource to score by; a weight of 0 means 1."""

    name: str
    weight: Int64 = 1


DEFAULT_RESOURCES: Final = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


class UtilizationShapePoint(ConfigStruct, frozen=True):
    """One point of a scoring curve: utilization 0–100 maps to a score 0–10."""

    utilization: Int32
    score: Int32


class RequestedToCapacityRatioParam(ConfigStruct, frozen=True):
    """The scoring curve of the RequestedToCapacityRatio strategy."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct, frozen=True):
    """How NodeResourcesFit scores: one of LeastAllocated, MostAllocated, RequestedToCapacityRatio."""

    type: str
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(ConfigStruct, frozen=True):
    """How many candidate nodes preemption tries: max(percentage of all nodes, absolute)."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(ConfigStruct, frozen=True):
    """The weight of existing pods' required affinity, and whether their preferred terms count."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigStruct, frozen=True):
    """A node affinity that every pod of the profile must meet in addition to its own."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesFitArgs(ConfigStruct, frozen=True):
    """Resources that the filter ignores (by name or by group), and how to score the others."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST_ALLOCATED)


class NodeResourcesBalancedAllocationArgs(ConfigStruct, frozen=True):
    """The resources whose use is balanced; the only weight allowed is 1."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class PodTopologySpreadArgs(ConfigStruct, frozen=True):
    """Constraints for pods that have none: Kubernetes' own (`System`) or the listed ones (`List`)."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING


DEFAULT_STORAGE_SHAPE: Final = (
    UtilizationShapePoint(utilization=0, score=10),
    UtilizationShapePoint(utilization=100, score=0),
)
"""The more room a volume leaves, the better."""


class VolumeBindingArgs(ConfigStruct, frozen=True):
    """How long binding volumes may take, and the scoring curve (with the StorageCapacityScoring gate)."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] = ()


class DynamicResourcesArgs(ConfigStruct, frozen=True):
    """Time limits of device allocation per node (zero: none) and of waiting for binding conditions."""

    filter_timeout: timedelta | None = None
    binding_timeout: timedelta | None = None


InTreeArgs: TypeAlias = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

if TYPE_CHECKING:
    PluginArgs: TypeAlias = InTreeArgs | dict[str, Any] | None
    """Typed for in-tree plugins; what the file says, untouched, for all others."""
else:
    PluginArgs = Any  # msgspec cannot tell such a union apart; `load` does, by the plugin's name

ARGS_BY_PLUGIN: Final[dict[str, type[InTreeArgs]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""The plugins that take typed arguments; the kind of their arguments is the plugin's name + `Args`."""
