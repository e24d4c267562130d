"""The names of predicates, priorities and algorithm providers up to Kubernetes 1.22, and what stands for them today."""

from __future__ import annotations

from typing import Final

from kubesched.config.plugin_args import LEAST_ALLOCATED, MOST_ALLOCATED

PREDICATES: Final[dict[str, tuple[str, ...]]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    # Volumes of these clouds are served by CSI drivers since 1.25 and counted by NodeVolumeLimits.
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
"""The plugins that filter for a predicate."""

PREDICATE_ALIASES: Final = {"PodFitsPorts": "PodFitsHostPorts"}
MANDATORY_PREDICATES: Final = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
CUSTOM_PREDICATES: Final = ("CheckNodeLabelPresence", "CheckServiceAffinity")
"""Predicates that do nothing without an argument."""

DEFAULT_PREDICATES: Final = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
"""What holds where a policy names no predicates at all."""

PRIORITIES: Final[dict[str, str]] = {
    "SelectorSpreadPriority": "PodTopologySpread",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "TaintTolerationPriority": "TaintToleration",
    "NodeAffinityPriority": "NodeAffinity",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
}
"""The plugin that scores for a priority function."""

PRIORITY_ALIASES: Final = {"ServiceSpreadingPriority": "SelectorSpreadPriority"}
RESOURCE_STRATEGIES: Final = {
    "LeastRequestedPriority": LEAST_ALLOCATED,
    "MostRequestedPriority": MOST_ALLOCATED,
}

GONE_PRIORITIES: Final = {
    "EqualPriority": "it gave every node the same score",
    "NodePreferAvoidPodsPriority": "Kubernetes no longer reads the preferAvoidPods annotation",
}
"""Priority functions that have no effect any more, with the reason."""

DEFAULT_PRIORITIES: Final[dict[str, int]] = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
"""What holds where a policy names no priorities at all."""

FILTER_PLUGINS: Final = frozenset(plugin for plugins in PREDICATES.values() for plugin in plugins)
SCORE_PLUGINS: Final = frozenset(PRIORITIES.values())

ALGORITHM_PROVIDERS: Final = {
    "DefaultProvider": LEAST_ALLOCATED,
    "ClusterAutoscalerProvider": MOST_ALLOCATED,
}
"""The old algorithm providers: the default plugins, and how they score a node's resources."""
