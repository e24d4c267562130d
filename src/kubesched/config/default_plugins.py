"""The default plugins, and how a profile's own plugin sets change them."""

from __future__ import annotations

from typing import Final

import msgspec

from kubesched.config.behaviours import NODE_CHECKS_PRE_FILTER
from kubesched.config.feature_gates import FeatureGates
from kubesched.config.model import ALL_PLUGINS, Plugin, Plugins, PluginSet

_IN_THE_QUEUE: Final = (Plugin(name="SchedulingGates"), Plugin(name="PrioritySort"))
_NODE_CHECKS: Final = (Plugin(name="NodeName"), Plugin(name="NodeUnschedulable"))
_BEFORE_PREEMPTION: Final = (
    Plugin(name="TaintToleration", weight=3),
    Plugin(name="NodeAffinity", weight=2),
    Plugin(name="NodePorts"),
    Plugin(name="NodeResourcesFit", weight=1),
    Plugin(name="VolumeRestrictions"),
    Plugin(name="NodeVolumeLimits"),
    Plugin(name="VolumeBinding"),
    Plugin(name="VolumeZone"),
    Plugin(name="PodTopologySpread", weight=2),
    Plugin(name="InterPodAffinity", weight=2),
)
# Freeing an idle ResourceClaim is milder than evicting a pod, so its PostFilter comes first (applyDynamicResources).
_DYNAMIC_RESOURCES: Final = Plugin(name="DynamicResources", weight=2)
_FROM_PREEMPTION_ON: Final = (
    Plugin(name="DefaultPreemption"),
    Plugin(name="NodeResourcesBalancedAllocation", weight=1),
    Plugin(name="ImageLocality", weight=1),
    Plugin(name="DefaultBinder"),
)
_GATED: Final = (
    ("NodeDeclaredFeatures", (Plugin(name="NodeDeclaredFeatures"),)),
    ("GangScheduling", (Plugin(name="GangScheduling"),)),
    (
        "TopologyAwareWorkloadScheduling",
        (Plugin(name="TopologyPlacementGenerator"), Plugin(name="PodGroupPodsCount", weight=1)),
    ),
)


def default_plugins(gates: FeatureGates) -> Plugins:
    """The plugins of a profile that configures none: all in multiPoint, in running order."""
    node_checks = _NODE_CHECKS if gates.follows(NODE_CHECKS_PRE_FILTER) else _NODE_CHECKS[::-1]
    enabled = [*_IN_THE_QUEUE, *node_checks, *_BEFORE_PREEMPTION]
    if gates.enabled("DynamicResourceAllocation"):
        enabled.append(_DYNAMIC_RESOURCES)
    enabled.extend(_FROM_PREEMPTION_ON)
    for gate, plugins in _GATED:
        if gates.enabled(gate):
            enabled.extend(plugins)
    return Plugins(multi_point=PluginSet(enabled=tuple(enabled)))


def merge_plugins(defaults: Plugins, custom: Plugins) -> Plugins:
    """Apply a profile's plugin sets to the defaults, point by point. Merging twice changes nothing more."""
    return Plugins(
        **{
            field.name: merge_plugin_set(getattr(defaults, field.name), getattr(custom, field.name))
            for field in msgspec.structs.fields(Plugins)
        }
    )


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Defaults that are not disabled, in their order, each replaced in place if re-configured; then the custom rest.

    A custom plugin listed twice stays listed twice: building the profile's framework then objects.
    """
    disabled = tuple(Plugin(name=plugin.name) for plugin in (*custom.disabled, *default.disabled))
    disabled_names = {plugin.name for plugin in disabled}
    last_index = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
    replaced: set[int] = set()
    if ALL_PLUGINS not in disabled_names:
        for plugin in default.enabled:
            if plugin.name in disabled_names:
                continue
            if plugin.name in last_index:
                index = last_index[plugin.name]
                replaced.add(index)
                enabled.append(custom.enabled[index])
            else:
                enabled.append(plugin)
    enabled.extend(plugin for index, plugin in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(enabled=tuple(enabled), disabled=disabled)
