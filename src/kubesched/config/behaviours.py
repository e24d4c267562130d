"""What changed between minor versions of kube-scheduler without a feature gate: one line each.

kube-scheduler's own `--emulated-version` restores older defaults of feature gates only. Decisions follow the version
that is asked for here, so a plugin consults the line that concerns it: `gates.follows(IMAGE_VOLUMES_COUNT)`.
docs/versions.md tells more about each; `kubesched upgrade-diff` names the line by which a decision changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kubesched.config.versions import Version

_1_37: Final = Version(1, 37)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`summary` says what holds since a version; before it, the opposite did."""

    name: str
    since: Version
    summary: str


NODE_CHECKS_PRE_FILTER: Final = Behaviour(
    "NodeChecksPreFilter",
    _1_37,
    "NodeName comes before NodeUnschedulable; it, NodeUnschedulable and TaintToleration have a PreFilter, and a pod "
    "that names its node is looked at on that node only",
)
IMAGE_VOLUMES_COUNT: Final = Behaviour(
    "ImageVolumesCount", _1_37, "ImageLocality counts image volumes, not only containers, in the size that scores most"
)
NAMESPACE_SELECTOR_IS_RESOLVED: Final = Behaviour(
    "NamespaceSelectorIsResolved",
    _1_37,
    "a namespaceSelector of an incoming pod's affinity term selects the namespaces that match it, and no others; one "
    "with only NotIn or DoesNotExist used to select all",
)
ANY_ANTI_AFFINITY_TERM_WAKES: Final = Behaviour(
    "AnyAntiAffinityTermWakes",
    _1_37,
    "a pod that waits because of anti-affinity is tried again when a pod leaves that any of the terms speaks of; it "
    "used to be all of them",
)
SILENT_CLAIM_POST_FILTER: Final = Behaviour(
    "SilentClaimPostFilter",
    _1_37,
    'DynamicResources adds nothing to the message of a pod for which it frees no claim; it said "no new claims to '
    'deallocate" or "still not schedulable"',
)
PREEMPTION_NAMES_ITS_CHOICE: Final = Behaviour(
    "PreemptionNamesItsChoice", _1_37, "the message of a pod that preempts others says on which node, and how many"
)
FIRST_BROKEN_BUDGET_DECIDES: Final = Behaviour(
    "FirstBrokenBudgetDecides",
    _1_37,
    "a victim that breaks one disruption budget does not use up the others that protect it",
)
POD_WIDE_RESIZE: Final = Behaviour(
    "PodWideResize",
    _1_37,
    "a pod that is resized in place counts with the largest of its totals as wanted, allocated and in use; it was the "
    "total of each container's largest",
)
EVERY_DEVICE_IS_DISTINCT: Final = Behaviour(
    "EveryDeviceIsDistinct",
    _1_37,
    "distinctAttribute holds between all devices of a request; only the last one was compared",
)
SHARED_DEVICES_ARE_IN_USE: Final = Behaviour(
    "SharedDevicesAreInUse",
    _1_37,
    "a device with a share that takes no capacity is in use: another share does not consume its counters again",
)
CAPACITY_ERRORS_ARE_FATAL: Final = Behaviour(
    "CapacityErrorsAreFatal",
    _1_37,
    "a request for capacity that is negative or too large to count fails the attempt; such devices were passed over",
)
ALL_MEANS_ALL_DEVICES: Final = Behaviour(
    "AllMeansAllDevices",
    _1_37,
    "a request for all devices fails where one of them has too little capacity left; it took the others",
)
DEVICE_ERRORS_NAME_THE_DEVICE: Final = Behaviour(
    "DeviceErrorsNameTheDevice",
    _1_37,
    "errors of CEL selectors name the device, and of too many devices the request",
)
COUNTERS_STAY_ON_THEIR_NODES: Final = Behaviour(
    "CountersStayOnTheirNodes",
    _1_37,
    "a ResourceSlice with shared counters makes its pool known to the nodes that it is for; it was all nodes, so that "
    "an unfinished pool elsewhere kept a request for all devices waiting",
)
INCOMPATIBLE_SLICES_ARE_IGNORED: Final = Behaviour(
    "IncompatibleSlicesAreIgnored",
    _1_37,
    "a ResourceSlice with compatibility groups is ignored without DRADeviceCompatibilityGroups: its pool is incomplete",
)
WHOLE_CLAIM_CONFIG: Final = Behaviour(
    "WholeClaimConfig",
    _1_37,
    "a device configuration that applies to all requests of a claim is written once, without naming them",
)
DELETED_CLAIM_WAKES: Final = Behaviour(
    "DeletedClaimWakes", _1_37, "the deletion of an allocated ResourceClaim wakes pods that wait for devices"
)
RULES_NEED_A_SELECTOR: Final = Behaviour(
    "RulesNeedASelector", _1_37, "a DeviceTaintRule without a deviceSelector taints no device; it tainted all"
)
CONSTRAINTS_KNOW_LISTS: Final = Behaviour(
    "ConstraintsKnowLists",
    _1_37,
    "with DRAListTypeAttributes, matchAttribute and distinctAttribute look at all values of an attribute; a list was "
    "of a type that they did not know",
)
GROUPS_ARE_DECIDED_AS_ONE: Final = Behaviour(
    "GroupsAreDecidedAsOne",
    _1_37,
    "with GenericWorkload, a pod group waits, is placed and makes room as one: no pod of it preempts by itself, and "
    "its condition is called PodGroupInitiallyScheduled",
)

BEHAVIOURS: Final = (
    NODE_CHECKS_PRE_FILTER,
    IMAGE_VOLUMES_COUNT,
    NAMESPACE_SELECTOR_IS_RESOLVED,
    ANY_ANTI_AFFINITY_TERM_WAKES,
    SILENT_CLAIM_POST_FILTER,
    PREEMPTION_NAMES_ITS_CHOICE,
    FIRST_BROKEN_BUDGET_DECIDES,
    POD_WIDE_RESIZE,
    EVERY_DEVICE_IS_DISTINCT,
    SHARED_DEVICES_ARE_IN_USE,
    CAPACITY_ERRORS_ARE_FATAL,
    ALL_MEANS_ALL_DEVICES,
    DEVICE_ERRORS_NAME_THE_DEVICE,
    COUNTERS_STAY_ON_THEIR_NODES,
    INCOMPATIBLE_SLICES_ARE_IGNORED,
    WHOLE_CLAIM_CONFIG,
    DELETED_CLAIM_WAKES,
    RULES_NEED_A_SELECTOR,
    CONSTRAINTS_KNOW_LISTS,
    GROUPS_ARE_DECIDED_AS_ONE,
)
