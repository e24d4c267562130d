"""Defaults that hang on feature gates and on other fields."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from kubesched.config import FeatureGates, apply_defaults, default_config
from kubesched.config.defaults import default_args
from kubesched.config.model import (
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)
from kubesched.config.plugin_args import (
    DEFAULT_RESOURCES,
    ConfigStruct,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

GATES = FeatureGates()
STORAGE_SHAPE = (UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))


def test_every_in_tree_plugin_gets_its_arguments() -> None:
    """The default profile carries the complete arguments of each plugin that takes any, sorted by name."""
    (profile,) = default_config().profiles
    assert profile.plugin_config == (
        PluginConfig(name="DefaultPreemption", args=DefaultPreemptionArgs()),
        PluginConfig(
            name="DynamicResources",
            args=DynamicResourcesArgs(filter_timeout=timedelta(seconds=10), binding_timeout=timedelta(minutes=10)),
        ),
        PluginConfig(name="InterPodAffinity", args=InterPodAffinityArgs()),
        PluginConfig(name="NodeAffinity", args=NodeAffinityArgs()),
        PluginConfig(name="NodeResourcesBalancedAllocation", args=NodeResourcesBalancedAllocationArgs()),
        PluginConfig(name="NodeResourcesFit", args=NodeResourcesFitArgs()),
        PluginConfig(name="PodTopologySpread", args=PodTopologySpreadArgs()),
        PluginConfig(name="VolumeBinding", args=VolumeBindingArgs(shape=STORAGE_SHAPE)),
    )


def test_configured_arguments_come_first() -> None:
    """What the profile configures keeps its order; missing arguments follow; disabled plugins get none."""
    profile = KubeSchedulerProfile(
        plugins=Plugins(
            multi_point=PluginSet(enabled=(Plugin(name="InterPodAffinity"),), disabled=(Plugin(name="*"),)),
            score=PluginSet(enabled=(Plugin(name="Mine"),)),
        ),
        plugin_config=(PluginConfig(name="Mine", args={"x": 1}), PluginConfig(name="VolumeBinding")),
    )
    (completed,) = apply_defaults(KubeSchedulerConfiguration(profiles=(profile,)), GATES).profiles
    assert completed.plugin_config == (
        PluginConfig(name="Mine", args={"x": 1}),
        PluginConfig(name="VolumeBinding", args=VolumeBindingArgs(shape=STORAGE_SHAPE)),
        PluginConfig(name="InterPodAffinity", args=InterPodAffinityArgs()),
    )


@pytest.mark.parametrize(
    ("plugin", "args", "gates", "expected"),
    [
        pytest.param(
            "NodeResourcesFit",
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(type="MostAllocated", resources=(ResourceSpec(name="gpu", weight=0),))
            ),
            GATES,
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(type="MostAllocated", resources=(ResourceSpec(name="gpu", weight=1),))
            ),
            id="weight 0 means 1",
        ),
        pytest.param(
            "NodeResourcesFit",
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated", resources=())),
            GATES,
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated", resources=DEFAULT_RESOURCES)),
            id="no resources means cpu and memory",
        ),
        pytest.param(
            "PodTopologySpread",
            PodTopologySpreadArgs(defaulting_type=""),
            GATES,
            PodTopologySpreadArgs(defaulting_type="System"),
            id="an empty defaulting type means System",
        ),
        pytest.param(
            "VolumeBinding",
            None,
            FeatureGates({"StorageCapacityScoring": True}),
            VolumeBindingArgs(shape=STORAGE_SHAPE),
            id="a scoring curve with its gate",
        ),
        pytest.param(
            "DynamicResources",
            None,
            FeatureGates({"DRASchedulerFilterTimeout": False, "DRADeviceBindingConditions": False}),
            DynamicResourcesArgs(),
            id="no time limits without their gates",
        ),
        pytest.param(
            "DynamicResources",
            DynamicResourcesArgs(filter_timeout=timedelta()),
            GATES,
            DynamicResourcesArgs(filter_timeout=timedelta(), binding_timeout=timedelta(minutes=10)),
            id="a filter limit of zero is kept: it means none",
        ),
        pytest.param("Mine", {"a": 1}, GATES, {"a": 1}, id="out-of-tree arguments are left alone"),
        pytest.param("Mine", None, GATES, None, id="no out-of-tree arguments stay none"),
    ],
)
def test_args(plugin: str, args: PluginArgs, gates: FeatureGates, expected: PluginArgs) -> None:
    """Arguments are completed by their own rules."""
    assert default_args(plugin, args, gates) == expected


@pytest.mark.parametrize(
    ("section", "value", "expected"),
    [
        pytest.param(
            "leader_election",
            LeaderElectionConfiguration(lease_duration=timedelta(), resource_lock="", leader_elect=False),
            LeaderElectionConfiguration(leader_elect=False),
            id="leader election: zero means default, but off stays off",
        ),
        pytest.param(
            "client_connection",
            ClientConnectionConfiguration(qps=0, burst=0, content_type="", kubeconfig="k"),
            ClientConnectionConfiguration(kubeconfig="k"),
            id="client connection: zero means default",
        ),
        pytest.param(
            "client_connection",
            ClientConnectionConfiguration(qps=-1, burst=-1),
            ClientConnectionConfiguration(qps=-1, burst=-1),
            id="client connection: negative values are kept",
        ),
    ],
)
def test_sections(section: str, value: ConfigStruct, expected: ConfigStruct) -> None:
    """In these sections an explicit zero is as good as absent."""
    config = replace(KubeSchedulerConfiguration(), **{section: value})
    assert getattr(apply_defaults(config, GATES), section) == expected


def test_idempotent() -> None:
    """Completing a complete configuration changes nothing."""
    assert apply_defaults(default_config(), GATES) == default_config()
