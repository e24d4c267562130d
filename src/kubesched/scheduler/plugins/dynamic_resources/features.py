"""The feature gates and behaviours of dynamic resource allocation."""

from __future__ import annotations

from dataclasses import dataclass

from kubesched.config import behaviours
from kubesched.config.feature_gates import FeatureGates


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceFeatures:
    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    binding_conditions: bool = True
    consumable_capacity: bool = True
    extended_resources: bool = True
    filter_timeout: bool = True
    list_attributes: bool = False
    list_constraints: bool = False
    node_allocatable: bool = False
    group_claims: bool = False
    fractional_capacity: bool = False
    compatibility_groups: bool = False
    every_device_is_distinct: bool = True
    shares_are_in_use: bool = True
    capacity_errors_are_fatal: bool = True
    all_means_all: bool = True
    names_devices: bool = True
    whole_claim_config: bool = True
    counters_stay_on_nodes: bool = True
    ignores_incompatible: bool = True
    deleted_claims_wake: bool = True

    @classmethod
    def of(cls, gates: FeatureGates) -> DeviceFeatures:
        return cls(
            admin_access=gates.enabled("DRAAdminAccess"),
            prioritized_list=gates.enabled("DRAPrioritizedList"),
            partitionable_devices=gates.enabled("DRAPartitionableDevices"),
            device_taints=gates.enabled("DRADeviceTaints"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            consumable_capacity=gates.enabled("DRAConsumableCapacity"),
            extended_resources=gates.enabled("DRAExtendedResource"),
            filter_timeout=gates.enabled("DRASchedulerFilterTimeout"),
            node_allocatable=gates.enabled("DRANodeAllocatableResources"),
            group_claims=gates.enabled("DRAWorkloadResourceClaims"),
            list_attributes=gates.enabled("DRAListTypeAttributes"),
            list_constraints=gates.enabled("DRAListTypeAttributes")
            and gates.follows(behaviours.CONSTRAINTS_KNOW_LISTS),
            fractional_capacity=gates.enabled("DRAFractionalCapacityRange"),
            compatibility_groups=gates.enabled("DRADeviceCompatibilityGroups"),
            every_device_is_distinct=gates.follows(behaviours.EVERY_DEVICE_IS_DISTINCT),
            shares_are_in_use=gates.follows(behaviours.SHARED_DEVICES_ARE_IN_USE),
            capacity_errors_are_fatal=gates.follows(behaviours.CAPACITY_ERRORS_ARE_FATAL),
            all_means_all=gates.follows(behaviours.ALL_MEANS_ALL_DEVICES),
            names_devices=gates.follows(behaviours.DEVICE_ERRORS_NAME_THE_DEVICE),
            whole_claim_config=gates.follows(behaviours.WHOLE_CLAIM_CONFIG),
            counters_stay_on_nodes=gates.follows(behaviours.COUNTERS_STAY_ON_THEIR_NODES),
            ignores_incompatible=gates.follows(behaviours.INCOMPATIBLE_SLICES_ARE_IGNORED),
            deleted_claims_wake=gates.follows(behaviours.DELETED_CLAIM_WAKES),
        )
