"""What is written reads back."""

from __future__ import annotations

from datetime import timedelta

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config import FeatureGates, apply_defaults, default_config, dump_yaml
from kubesched.config.load import complete_config
from kubesched.config.model import (
    ClientConnectionConfiguration,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)
from kubesched.config.plugin_args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from kubesched.objects.affinity import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from kubesched.objects.meta import LabelSelector

GATES = FeatureGates()

texts = st.sampled_from(["", "a", "yes", "1.5", "null", "ä b", "2026-01-01", "x: y"])
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
durations = st.timedeltas(timedelta(-1000), timedelta(1000))


def tuples(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=2).map(tuple)


plugins = st.builds(Plugin, name=texts, weight=int32)
plugin_sets = st.builds(PluginSet, enabled=tuples(plugins), disabled=tuples(st.builds(Plugin, name=texts)))
points = st.builds(UtilizationShapePoint, utilization=int32, score=int32)
resources = st.builds(ResourceSpec, name=texts, weight=int64)
requirements = st.builds(NodeSelectorRequirement, key=texts, operator=texts, values=tuples(texts))
terms = st.builds(NodeSelectorTerm, match_expressions=tuples(requirements), match_fields=tuples(requirements))
affinities = st.builds(
    NodeAffinity,
    required_during_scheduling_ignored_during_execution=st.none()
    | st.builds(NodeSelector, node_selector_terms=tuples(terms)),
    preferred_during_scheduling_ignored_during_execution=tuples(
        st.builds(PreferredSchedulingTerm, weight=int32, preference=terms)
    ),
)
constraints = st.builds(
    TopologySpreadConstraint,
    max_skew=int32,
    topology_key=texts,
    label_selector=st.none() | st.builds(LabelSelector, match_labels=st.dictionaries(texts, texts, max_size=2)),
    min_domains=st.none() | int32,
)
strategies = st.builds(
    ScoringStrategy,
    type=texts,
    resources=tuples(resources),
    requested_to_capacity_ratio=st.none() | st.builds(RequestedToCapacityRatioParam, shape=tuples(points)),
)
plugin_configs = st.one_of(
    st.builds(PluginConfig, name=st.just("Mine"), args=st.none() | st.dictionaries(texts, texts | st.lists(int64))),
    st.builds(PluginConfig, name=st.just("DefaultPreemption"), args=st.builds(DefaultPreemptionArgs)),
    st.builds(
        PluginConfig,
        name=st.just("DynamicResources"),
        args=st.builds(DynamicResourcesArgs, filter_timeout=st.none() | durations),
    ),
    st.builds(
        PluginConfig,
        name=st.just("InterPodAffinity"),
        args=st.builds(InterPodAffinityArgs, ignore_preferred_terms_of_existing_pods=st.booleans()),
    ),
    st.builds(
        PluginConfig,
        name=st.just("NodeAffinity"),
        args=st.builds(NodeAffinityArgs, added_affinity=st.none() | affinities),
    ),
    st.builds(
        PluginConfig,
        name=st.just("NodeResourcesFit"),
        args=st.builds(NodeResourcesFitArgs, ignored_resources=tuples(texts), scoring_strategy=strategies),
    ),
    st.builds(
        PluginConfig,
        name=st.just("PodTopologySpread"),
        args=st.builds(PodTopologySpreadArgs, default_constraints=tuples(constraints), defaulting_type=texts),
    ),
    st.builds(
        PluginConfig,
        name=st.just("VolumeBinding"),
        args=st.builds(VolumeBindingArgs, bind_timeout_seconds=int64, shape=tuples(points)),
    ),
)
profiles = st.builds(
    KubeSchedulerProfile,
    scheduler_name=texts,
    percentage_of_nodes_to_score=st.none() | int32,
    plugins=st.builds(Plugins, multi_point=plugin_sets, score=plugin_sets, placement_score=plugin_sets),
    plugin_config=tuples(plugin_configs),
)
extenders = st.builds(
    Extender,
    url_prefix=texts,
    weight=int64,
    enable_https=st.booleans(),
    http_timeout=durations,
    tls_config=st.none() | st.builds(ExtenderTLSConfig, cert_data=st.binary(max_size=9), insecure=st.booleans()),
    managed_resources=tuples(st.builds(ExtenderManagedResource, name=texts, ignored_by_scheduler=st.booleans())),
)
configurations = st.builds(
    KubeSchedulerConfiguration,
    parallelism=int32,
    leader_election=st.builds(LeaderElectionConfiguration, leader_elect=st.booleans(), lease_duration=durations),
    client_connection=st.builds(ClientConnectionConfiguration, kubeconfig=texts, qps=st.floats(-1, 1000), burst=int32),
    enable_profiling=st.booleans(),
    enable_contention_profiling=st.booleans(),
    percentage_of_nodes_to_score=st.none() | int32,
    profiles=tuples(profiles),
    extenders=tuples(extenders),
    delay_cache_until_active=st.booleans(),
)


@settings(max_examples=80, deadline=None)
@given(configurations)
def test_round_trip(config: KubeSchedulerConfiguration) -> None:
    """A complete configuration, valid or not, is the same after it was written and read."""
    completed = apply_defaults(config, GATES)
    assert complete_config(dump_yaml(completed), GATES) == completed


def test_shape() -> None:
    """The text has Kubernetes' field names; what is empty by default is left out."""
    written = yaml.safe_load(dump_yaml(default_config()))
    assert written["leaderElection"]["leaseDuration"] == "15s"
    assert written["clientConnection"]["qps"] == 50
    (profile,) = written["profiles"]
    assert list(profile["plugins"]) == ["multiPoint"]
    assert profile["pluginConfig"][0] == {
        "name": "DefaultPreemption",
        "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "DefaultPreemptionArgs",
            "minCandidateNodesAbsolute": 100,
            "minCandidateNodesPercentage": 10,
        },
    }


def test_arguments_of_a_plugin_of_the_users_own() -> None:
    """They are written as they were read: mappings, lists and all."""
    args = {"zones": [{"name": "a", "weight": 2.5}], "limits": {"cpu": 4, "labels": None}}
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + yaml.safe_dump(
        {"profiles": [{"pluginConfig": [{"name": "Mine", "args": args}]}]}
    )
    config = complete_config(text, GATES)
    assert yaml.safe_load(dump_yaml(config))["profiles"][0]["pluginConfig"][0] == {"name": "Mine", "args": args}
    assert complete_config(dump_yaml(config), GATES) == config
