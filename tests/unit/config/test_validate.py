"""Validation with Kubernetes' messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.config import FeatureGates, default_config, load_config, validate_config
from kubesched.config.load import complete_config
from kubesched.config.model import API_VERSION
from kubesched.config.versions import Version
from kubesched.errors import ConfigurationError

DATA = Path(__file__).parents[2] / "data" / "config"
HEAD = f"apiVersion: {API_VERSION}\nkind: KubeSchedulerConfiguration\n"


def problems_of(body: str, gates: FeatureGates | None = None) -> list[str]:
    gates = gates or FeatureGates()
    return validate_config(complete_config(HEAD + body, gates), gates)


def args(plugin: str, text: str) -> str:
    return f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {text}}}]}}]"


ARGS = "profiles[0].pluginConfig[0].args"


def test_default_is_valid() -> None:
    """What we write by default passes our own rules."""
    assert validate_config(default_config(), FeatureGates()) == []


def test_every_mistake_as_kube_scheduler_reports_it() -> None:
    """One file with some forty mistakes: the same findings in the same order as kube-scheduler v1.36.4.

    Three values are shown otherwise: ours have the names of the file (`utilization`, not `Utilization`), and the
    duplicate scheduler name is shown, where kube-scheduler prints `{}`.
    """
    with pytest.raises(ConfigurationError) as caught:
        load_config((DATA / "every_mistake.yaml").read_text(), FeatureGates(version=Version(1, 36)))
    assert list(caught.value.problems) == (DATA / "every_mistake.expected.txt").read_text().splitlines()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "leaderElection: {leaderElect: false, resourceLock: endpoints, leaseDuration: -1s}",
            [],
            id="leader election is not checked when it is off",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 10s}",
            ['leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'],
            id="a lease as short as the deadline",
        ),
        pytest.param("parallelism: 1\npercentageOfNodesToScore: 100", [], id="values at the edge"),
        pytest.param(
            "percentageOfNodesToScore: -1",
            ["percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
            id="a negative percentage",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 20",
            [
                "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
            ],
            id="an initial backoff above the maximum",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Mine}]}}}]",
            [
                'profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"Mine","weight":0}],"disabled":[]}: '
                "must be the same for all profiles"
            ],
            id="another queue sort plugin",
        ),
        pytest.param(
            "profiles:\n"
            "- {schedulerName: a, plugins: &p {queueSort: {enabled: [{name: Mine}]}},"
            " pluginConfig: [{name: Mine, args: {x: 1}}]}\n"
            "- {schedulerName: b, plugins: *p, pluginConfig: [{name: Mine, args: {x: 2}}]}\n",
            ['profiles[1].pluginConfig.args: Invalid value: {"x":2}: queueSort must be the same for all profiles'],
            id="the same queue sort plugin with other arguments",
        ),
        pytest.param(
            "extenders: [{urlPrefix: a, prioritizeVerb: p, weight: 1, managedResources: [{name: kubernetes.io/x},"
            " {name: requests.example.com/x}, {name: example.com/fine}]}]",
            [
                'extenders[0].managedResources[0].name: Invalid value: "kubernetes.io/x": '
                "is an invalid extended resource name",
                'extenders[0].managedResources[1].name: Invalid value: "requests.example.com/x": '
                "is an invalid extended resource name",
            ],
            id="native and quota names are no extended resources",
        ),
    ],
)
def test_config(body: str, expected: list[str]) -> None:
    """Rules of the configuration as a whole."""
    assert problems_of(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            args("DefaultPreemption", "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}"),
            [
                f"{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
            id="preemption candidates out of range",
        ),
        pytest.param(
            args("InterPodAffinity", "{hardPodAffinityWeight: 101}"),
            [f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
            id="a hard pod affinity weight above 100",
        ),
        pytest.param(
            args("NodeResourcesFit", "{scoringStrategy: {resources: [{name: cpu, weight: 101}]}}"),
            [
                f'{ARGS}.scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", '
                '"MostAllocated", "RequestedToCapacityRatio"',
                f"{ARGS}.scoringStrategy.resources[0].weight: Invalid value: 101: "
                "resource weight of cpu not in valid range (0, 100]",
            ],
            id="a strategy without type, and a heavy resource",
        ),
        pytest.param(
            args("NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}"),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
            id="a ratio without its curve",
        ),
        pytest.param(
            args("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}"),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
            id="a curve without the ratio",
        ),
        pytest.param(
            args(
                "NodeResourcesFit",
                "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape:"
                " [{utilization: 5, score: 11}, {utilization: 5, score: -1}, {utilization: 101, score: 1}]}}}",
            ),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: "
                "values must be sorted in increasing order",
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: "
                "not in valid range [0, 10]",
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: -1: "
                "not in valid range [0, 10]",
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: 101: "
                "not in valid range [0, 100]",
            ],
            id="a crooked curve",
        ),
        pytest.param(
            args(
                "NodeResourcesFit",
                "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
            ),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                "at least one point must be specified"
            ],
            id="a curve without points",
        ),
        pytest.param(
            args("NodeResourcesFit", "{ignoredResources: [''], ignoredResourceGroups: [example.com/x]}"),
            [
                f'{ARGS}.ignoredResources[0]: Invalid value: "": name part must be non-empty',
                f'{ARGS}.ignoredResources[0]: Invalid value: "": name part must consist of alphanumeric characters, '
                "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', "
                " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                f'{ARGS}.ignoredResourceGroups[0]: Invalid value: "example.com/x": resource group name can\'t contain '
                "'/'",
            ],
            id="ignored resources with bad names",
        ),
        pytest.param(
            args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: cpu, weight: 2}]}"),
            [
                f'{ARGS}.resources[1].name: Duplicate value: "cpu"',
                f"{ARGS}.resources[1].weight: Invalid value: 2: must be 1",
            ],
            id="balanced allocation knows no weights",
        ),
        pytest.param(
            args("PodTopologySpread", "{defaultConstraints: [{maxSkew: 1}]}"),
            [
                f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
                f"{ARGS}.defaultConstraints[0].topologyKey: Required value: can not be empty",
                f"{ARGS}.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
            ],
            id="constraints with system defaulting",
        ),
        pytest.param(
            args(
                "NodeAffinity",
                "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:"
                " [{matchExpressions: [{key: a, operator: Exists, values: [x]}, {key: a, operator: Gt},"
                " {key: a, operator: In, values: ['b c']}]}]},"
                " preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {matchFields:"
                " [{key: x, operator: Foo}]}}]}}",
            ),
            [
                f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
                '.matchExpressions[0].values: Invalid value: ["x"]: '
                "values set must be empty for exists and does not exist",
                f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
                ".matchExpressions[1].values: Invalid value: null: "
                "for 'Gt', 'Lt' operators, exactly one value is required",
                f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
                '.matchExpressions[2].values[0][a]: Invalid value: "b c": a valid label must be an empty string or '
                "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
                "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ],
            id="requirements that make no selector; a preference of weight 0 is not looked at",
        ),
    ],
)
def test_args(body: str, expected: list[str]) -> None:
    """Rules of each plugin's arguments."""
    assert problems_of(body) == expected


@pytest.mark.parametrize(
    ("gates", "body", "expected"),
    [
        pytest.param(
            {"DRASchedulerFilterTimeout": False, "DRADeviceBindingConditions": False},
            args("DynamicResources", "{filterTimeout: 1s, bindingTimeout: 1m}"),
            [
                f"{ARGS}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled",
                f"{ARGS}.bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature "
                "gate is disabled",
            ],
            id="time limits without their gates",
        ),
        pytest.param(
            {"StorageCapacityScoring": True},
            args("VolumeBinding", "{shape: [{utilization: 0, score: 11}]}"),
            [f"{ARGS}.shape[0].score: Invalid value: 11: not in valid range [0, 10]"],
            id="a scoring curve with its gate",
        ),
    ],
)
def test_gated_args(gates: dict[str, bool], body: str, expected: list[str]) -> None:
    """Fields of a feature are refused when the feature is off, and checked when it is on."""
    assert problems_of(body, FeatureGates(gates)) == expected
