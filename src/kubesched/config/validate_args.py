"""The rules that the arguments of in-tree plugins must meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final, assert_never

from kubesched.config.feature_gates import FeatureGates
from kubesched.config.field_errors import duplicate, forbidden, invalid, not_supported, required
from kubesched.config.plugin_args import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SYSTEM_DEFAULTING,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    InTreeArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from kubesched.config.qualified_name import objections_to_label_key
from kubesched.config.validate_affinity import validate_added_affinity
from kubesched.objects.affinity import TopologySpreadConstraint

_STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_args(path: str, args: InTreeArgs, gates: FeatureGates) -> Iterator[str]:
    """Every objection to a plugin's arguments; `path` is where they stand in the file."""
    match args:
        case DefaultPreemptionArgs():
            return _default_preemption(path, args)
        case DynamicResourcesArgs():
            return _dynamic_resources(path, args, gates)
        case InterPodAffinityArgs():
            return _inter_pod_affinity(path, args)
        case NodeAffinityArgs():
            return validate_added_affinity(f"{path}.addedAffinity", args.added_affinity)
        case NodeResourcesBalancedAllocationArgs():
            return _balanced_allocation(path, args)
        case NodeResourcesFitArgs():
            return _node_resources_fit(path, args)
        case PodTopologySpreadArgs():
            return _pod_topology_spread(path, args)
        case VolumeBindingArgs():
            return _volume_binding(path, args, gates)
    assert_never(args)


def _default_preemption(path: str, args: DefaultPreemptionArgs) -> Iterator[str]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    if not 0 <= percentage <= 100:
        yield invalid(percentage_path, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        yield invalid(percentage_path, percentage, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield invalid(absolute_path, absolute, "cannot be zero at the same time as minCandidateNodesPercentage")


def _inter_pod_affinity(path: str, args: InterPodAffinityArgs) -> Iterator[str]:
    if not 0 <= args.hard_pod_affinity_weight <= 100:
        yield invalid(f"{path}.hardPodAffinityWeight", args.hard_pod_affinity_weight, "not in valid range [0, 100]")


def _node_resources_fit(path: str, args: NodeResourcesFitArgs) -> Iterator[str]:
    for index, resource in enumerate(args.ignored_resources):
        yield from _label_key(f"{path}.ignoredResources[{index}]", resource)
    for index, group in enumerate(args.ignored_resource_groups):
        group_path = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid(group_path, group, "resource group name can't contain '/'")
        yield from _label_key(group_path, group)
    yield from _scoring_strategy(f"{path}.scoringStrategy", args.scoring_strategy)


def _scoring_strategy(path: str, strategy: ScoringStrategy) -> Iterator[str]:
    if strategy.type not in _STRATEGIES:
        yield not_supported(f"{path}.type", strategy.type, _STRATEGIES)
    yield from _resource_weights(f"{path}.resources", strategy.resources)
    ratio_path = f"{path}.requestedToCapacityRatio"
    ratio = strategy.requested_to_capacity_ratio
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            yield required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _function_shape(f"{ratio_path}.shape", ratio.shape)
    elif ratio is not None:
        yield forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")


def _resource_weights(path: str, resources: Sequence[ResourceSpec]) -> Iterator[str]:
    for index, spec in enumerate(resources):
        if not 0 < spec.weight <= 100:
            reason = f"resource weight of {spec.name} not in valid range (0, 100]"
            yield invalid(f"{path}[{index}].weight", spec.weight, reason)


def _function_shape(path: str, shape: Sequence[UtilizationShapePoint]) -> Iterator[str]:
    if not shape:
        yield required(path, "at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            reason = "values must be sorted in increasing order"
            yield invalid(f"{path}[{index}].utilization", shape[index].utilization, reason)
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            yield invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]")


def _balanced_allocation(path: str, args: NodeResourcesBalancedAllocationArgs) -> Iterator[str]:
    seen: set[str] = set()
    for index, spec in enumerate(args.resources):
        if spec.name in seen:
            yield duplicate(f"{path}.resources[{index}].name", spec.name)
        seen.add(spec.name)
        if spec.weight != 1:
            yield invalid(f"{path}.resources[{index}].weight", spec.weight, "must be 1")


def _pod_topology_spread(path: str, args: PodTopologySpreadArgs) -> Iterator[str]:
    type_path = f"{path}.defaultingType"
    if args.defaulting_type not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        yield not_supported(type_path, args.defaulting_type, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    elif args.defaulting_type == SYSTEM_DEFAULTING and args.default_constraints:
        yield invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        constraint_path = f"{path}.defaultConstraints[{index}]"
        yield from _spread_constraint(constraint_path, constraint)
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            yield duplicate(constraint_path, "{" + ", ".join(identity) + "}")
        seen.add(identity)


def _spread_constraint(path: str, constraint: TopologySpreadConstraint) -> Iterator[str]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if not constraint.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    else:
        yield from _label_key(f"{path}.topologyKey", constraint.topology_key)
    if not constraint.when_unsatisfiable:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in _WHEN_UNSATISFIABLE:
        yield not_supported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _WHEN_UNSATISFIABLE)
    if constraint.label_selector is not None:
        yield forbidden(f"{path}.labelSelector", "constraint must not define a selector, as they deduced for each pod")


def _volume_binding(path: str, args: VolumeBindingArgs, gates: FeatureGates) -> Iterator[str]:
    if args.bind_timeout_seconds < 0:
        reason = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, reason)
    if gates.enabled("StorageCapacityScoring"):
        yield from _function_shape(f"{path}.shape", args.shape)
    elif args.shape:
        reason = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(f"{path}.shape", args.shape, reason)


def _dynamic_resources(path: str, args: DynamicResourcesArgs, gates: FeatureGates) -> Iterator[str]:
    if args.filter_timeout is not None:
        if not gates.enabled("DRASchedulerFilterTimeout"):
            yield forbidden(f"{path}.filterTimeout", "DRASchedulingFilterTimeout feature gate is disabled")
        elif args.filter_timeout < timedelta():
            yield invalid(f"{path}.filterTimeout", args.filter_timeout, "must be zero or positive")
    if args.binding_timeout is not None:
        if not (gates.enabled("DRADeviceBindingConditions") and gates.enabled("DRAResourceClaimDeviceStatus")):
            reason = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
            yield forbidden(f"{path}.bindingTimeout", reason)
        elif args.binding_timeout < timedelta(seconds=1):
            yield invalid(f"{path}.bindingTimeout", args.binding_timeout, "must be at least 1 second")


def _label_key(path: str, key: str) -> Iterator[str]:
    return (invalid(path, key, objection) for objection in objections_to_label_key(key))
