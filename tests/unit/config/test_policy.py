"""Old policies as profiles."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from kubesched.config import ExtensionPoint, FeatureGates, expand_plugins, load_config
from kubesched.config.document import parse_document
from kubesched.config.plugin_args import (
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from kubesched.config.policy import translate_policy
from kubesched.errors import ConfigurationError
from kubesched.objects.affinity import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

FILTERS = [
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
]
SCORERS = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
]
OTHERS = {
    "SchedulingGates": ExtensionPoint.PRE_ENQUEUE,
    "PrioritySort": ExtensionPoint.QUEUE_SORT,
    "DynamicResources": ExtensionPoint.RESERVE,
    "DefaultPreemption": ExtensionPoint.POST_FILTER,
    "DefaultBinder": ExtensionPoint.BIND,
    "NodeDeclaredFeatures": ExtensionPoint.FILTER,
}


def points_of(name: str) -> set[ExtensionPoint] | None:
    points = {OTHERS[name]} if name in OTHERS else set()
    if name in FILTERS:
        points |= {ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER}
    if name in SCORERS:
        points |= {ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE}
    return points or None


def policy(**fields: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Policy", **fields})


def names(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def weighted(**weights: int) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        pytest.param(None, FILTERS, id="absent: the old defaults"),
        pytest.param([], ["NodeUnschedulable", "TaintToleration"], id="empty: only the mandatory ones"),
        pytest.param(
            names("GeneralPredicates"),
            ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"],
            id="general predicates",
        ),
        pytest.param(
            names("PodFitsPorts", "MaxEBSVolumeCount", "MaxCinderVolumeCount", "CheckNodeLabelPresence"),
            ["NodeUnschedulable", "TaintToleration", "NodePorts", "NodeVolumeLimits"],
            id="an alias, cloud volumes, and one that does nothing without argument",
        ),
        pytest.param(
            names("HostName", "MatchNodeSelector", "PodFitsResources", "NoDiskConflict", "CheckVolumeBinding",
                  "NoVolumeZoneConflict", "EvenPodsSpread", "MatchInterPodAffinity", "PodFitsHostPorts",
                  "MaxCSIVolumeCountPred"),
            FILTERS,
            id="every single predicate",
        ),
    ],
)  # fmt: skip
def test_predicates(predicates: list[dict[str, Any]] | None, expected: list[str]) -> None:
    """Exactly the plugins of the named predicates filter, and plugins younger than policies stay."""
    (profile,) = load_config(policy(predicates=predicates, priorities=[])).profiles
    expanded = expand_plugins(profile, points_of)
    assert list(expanded.at[ExtensionPoint.FILTER]) == [*expected, "NodeDeclaredFeatures"]
    assert expanded.at[ExtensionPoint.SCORE] == ()
    assert expanded.at[ExtensionPoint.PRE_ENQUEUE] == ("SchedulingGates",)
    assert expanded.at[ExtensionPoint.POST_FILTER] == ("DefaultPreemption",)


@pytest.mark.parametrize(
    ("priorities", "expected"),
    [
        pytest.param(
            None,
            {
                "TaintToleration": 1,
                "NodeAffinity": 1,
                "NodeResourcesFit": 1,
                "PodTopologySpread": 2,
                "InterPodAffinity": 1,
                "NodeResourcesBalancedAllocation": 1,
                "ImageLocality": 1,
            },
            id="absent: the old defaults",
        ),
        pytest.param([], {}, id="empty: none"),
        pytest.param(
            weighted(
                ImageLocalityPriority=7, MostRequestedPriority=3, EqualPriority=1, NodePreferAvoidPodsPriority=10000
            ),
            {"NodeResourcesFit": 3, "ImageLocality": 7},
            id="weights; functions without effect are ignored",
        ),
        pytest.param(
            weighted(ServiceSpreadingPriority=5, EvenPodsSpreadPriority=2),
            {"PodTopologySpread": 2},
            id="two functions of one plugin: the first by name gives the weight",
        ),
    ],
)
def test_priorities(priorities: list[dict[str, Any]] | None, expected: dict[str, int]) -> None:
    """Exactly the plugins of the named priorities score, with their weights."""
    (profile,) = load_config(policy(predicates=[], priorities=priorities)).profiles
    expanded = expand_plugins(profile, points_of)
    weights = expanded.weights[ExtensionPoint.SCORE]
    assert {name: weights[name] for name in expanded.at[ExtensionPoint.SCORE]} == expected
    assert list(expanded.at[ExtensionPoint.FILTER]) == ["NodeUnschedulable", "TaintToleration", "NodeDeclaredFeatures"]


RATIO = {
    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
    "resources": [{"name": "example.com/gpu", "weight": 2}],
}


@pytest.mark.parametrize(
    ("fields", "plugin", "expected"),
    [
        pytest.param(
            {"hardPodAffinitySymmetricWeight": 40},
            "InterPodAffinity",
            InterPodAffinityArgs(hard_pod_affinity_weight=40),
            id="the symmetric weight",
        ),
        pytest.param(
            {}, "InterPodAffinity", InterPodAffinityArgs(hard_pod_affinity_weight=1), id="no symmetric weight"
        ),
        pytest.param(
            {"priorities": weighted(MostRequestedPriority=1)},
            "NodeResourcesFit",
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated")),
            id="most requested",
        ),
        pytest.param(
            {"priorities": weighted(LeastRequestedPriority=1)},
            "NodeResourcesFit",
            NodeResourcesFitArgs(),
            id="least requested",
        ),
        pytest.param(
            {
                "priorities": [
                    {"name": "Mine", "weight": 2, "argument": {"requestedToCapacityRatioArguments": RATIO}},
                ]
            },
            "NodeResourcesFit",
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(
                    type="RequestedToCapacityRatio",
                    resources=(ResourceSpec(name="example.com/gpu", weight=2),),
                    requested_to_capacity_ratio=RequestedToCapacityRatioParam(
                        shape=(
                            UtilizationShapePoint(utilization=0, score=0),
                            UtilizationShapePoint(utilization=100, score=10),
                        )
                    ),
                )
            ),
            id="a custom ratio",
        ),
        pytest.param(
            {"priorities": weighted(EvenPodsSpreadPriority=1)},
            "PodTopologySpread",
            PodTopologySpreadArgs(defaulting_type="List"),
            id="even spreading knows no default constraints",
        ),
        pytest.param(
            {"priorities": weighted(EvenPodsSpreadPriority=1, SelectorSpreadPriority=1)},
            "PodTopologySpread",
            PodTopologySpreadArgs(defaulting_type="System"),
            id="selector spreading is today's system default",
        ),
        pytest.param(
            {
                "predicates": [
                    {"name": "Zoned", "argument": {"labelsPresence": {"labels": ["zone"], "presence": True}}},
                    {"name": "Fresh", "argument": {"labelsPresence": {"labels": ["retiring"], "presence": False}}},
                ]
            },
            "NodeAffinity",
            NodeAffinityArgs(
                added_affinity=NodeAffinity(
                    required_during_scheduling_ignored_during_execution=NodeSelector(
                        node_selector_terms=(
                            NodeSelectorTerm(
                                match_expressions=(
                                    NodeSelectorRequirement(key="zone", operator="Exists"),
                                    NodeSelectorRequirement(key="retiring", operator="DoesNotExist"),
                                )
                            ),
                        )
                    )
                )
            ),
            id="label presence as added affinity",
        ),
    ],
)
def test_arguments(fields: dict[str, Any], plugin: str, expected: object) -> None:
    """Arguments of a policy become arguments of today's plugins."""
    (profile,) = load_config(policy(**fields)).profiles
    assert profile.args_of(plugin) == expected


def test_extenders() -> None:
    """Extenders are taken over; their time-out was a number of nanoseconds."""
    old = {"urlPrefix": "http://x", "enableHttps": True, "httpTimeout": 1_500_000_000, "filterVerb": "f"}
    (extender,) = load_config(policy(extenders=[old], alwaysCheckAllPredicates=True)).extenders
    assert extender.enable_https
    assert extender.http_timeout == timedelta(seconds=1.5)
    assert extender.filter_verb == "f"


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        pytest.param(
            {"predicates": names("Foo", "Bar")},
            (
                'predicates[0]: predicate type not found for "Foo"',
                'predicates[1]: predicate type not found for "Bar"',
            ),
            id="unknown predicates, all at once",
        ),
        pytest.param(
            {"priorities": weighted(Foo=1)},
            ('priorities[0]: priority type not found for "Foo"',),
            id="unknown priority",
        ),
        pytest.param(
            {"priorities": weighted(ImageLocalityPriority=0)},
            (
                "priorities[0]: priority ImageLocalityPriority should have a positive weight applied to it or it has "
                "overflown",
            ),
            id="a weight of zero",
        ),
        pytest.param(
            {"predicates": [{"name": "S", "argument": {"serviceAffinity": {"labels": ["zone"]}}}]},
            (
                "predicates[0]: serviceAffinity is not supported: no plugin keeps the pods of a service on nodes with "
                "equal labels; use pod affinity with a topologyKey",
            ),
            id="service affinity has no counterpart",
        ),
        pytest.param(
            {"predicates": [{"name": "S", "argument": {}}]},
            ("predicates[0]: exactly 1 predicate argument is required, numArgs: 0, predicate: S",),
            id="an empty predicate argument",
        ),
        pytest.param(
            {
                "priorities": [
                    {"name": "A", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "zone"}}},
                    {"name": "B", "weight": 1, "argument": {"labelPreference": {"label": "x", "presence": True}}},
                    {"name": "C", "weight": 1, "argument": {}},
                ]
            },
            (
                "priorities[0]: serviceAntiAffinity is not supported: use topologySpreadConstraints",
                "priorities[1]: labelPreference is not supported: use preferred terms in NodeAffinity's addedAffinity",
                "priorities[2]: exactly 1 priority argument is required, numArgs: 0, priority: C",
            ),
            id="priority arguments without counterpart",
        ),
        pytest.param(
            {"priorities": weighted(LeastRequestedPriority=1, MostRequestedPriority=1)},
            (
                "priorities[1]: MostRequestedPriority cannot be combined with LeastRequestedPriority: "
                "NodeResourcesFit scores by one strategy",
            ),
            id="two strategies",
        ),
        pytest.param(
            {"hardPodAffinitySymmetricWeight": "x"},
            ('hardPodAffinitySymmetricWeight: Invalid value: "x": must be of type integer',),
            id="a value of another type",
        ),
        pytest.param(
            {"apiVersion": "v2"},
            ('no kind "Policy" is registered for version "v2": expected v1',),
            id="another version",
        ),
        pytest.param(
            {"hardPodAffinitySymmetricWeight": 101},
            (
                "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: "
                "not in valid range [0, 100]",
            ),
            id="the translation is validated",
        ),
    ],
)
def test_refused(fields: dict[str, Any], problems: tuple[str, ...]) -> None:
    """What is wrong, or has no counterpart, is said clearly and completely."""
    with pytest.raises(ConfigurationError) as caught:
        load_config(policy(**fields), FeatureGates())
    assert caught.value.problems == problems


def test_notes() -> None:
    """The author learns what was ignored or became something else."""
    old = policy(
        predicates=[{"name": "Z", "argument": {"labelsPresence": {"labels": ["zone"], "presence": True}}}],
        priorities=weighted(NodePreferAvoidPodsPriority=1),
    )
    assert translate_policy(parse_document(old)).notes == (
        "predicates[0]: labelsPresence became NodeAffinity's addedAffinity",
        "priorities[0]: NodePreferAvoidPodsPriority is ignored: "
        "Kubernetes no longer reads the preferAvoidPods annotation",
    )


def test_unknown_fields_are_noted_not_refused() -> None:
    """kube-scheduler decoded policies leniently; its own example has an `apiVersion` in an extender."""
    old = json.dumps(
        {
            "kind": "Policy",
            "apiVersion": "v1",
            "predicate": [],
            "extenders": [{"urlPrefix": "http://127.0.0.1:12346/scheduler", "apiVersion": "v1beta1", "weight": 5}],
        }
    )
    translation = translate_policy(parse_document(old))
    assert translation.notes[:2] == (
        'unknown field "predicate" is ignored',
        'unknown field "extenders[0].apiVersion" is ignored',
    )
    assert translation.config.extenders[0].weight == 5
