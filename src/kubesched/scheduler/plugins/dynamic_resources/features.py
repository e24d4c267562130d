"""The feature gates of dynamic resource allocation."""

from __future__ import annotations

from dataclasses import dataclass

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
    node_allocatable: bool = False
    group_claims: bool = False

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
        )
