"""What runs at each extension point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesched.config import ExtensionPoint, FeatureGates, expand_plugins, load_config
from kubesched.config.model import KubeSchedulerProfile, Plugin, Plugins, PluginSet
from kubesched.config.versions import Version
from kubesched.errors import ConfigurationError

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "config" / "profile_plugins.json").read_text()
)

FILTER = "preFilter filter"
SCORE = "preScore score"
IN_TREE = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeUnschedulable": "filter",
    "NodeName": "filter",
    "TaintToleration": f"filter {SCORE}",
    "NodeAffinity": f"{FILTER} {SCORE}",
    "NodePorts": FILTER,
    "NodeResourcesFit": f"{FILTER} {SCORE} placementScore",
    "VolumeRestrictions": FILTER,
    "NodeVolumeLimits": FILTER,
    "VolumeBinding": f"{FILTER} {SCORE} reserve preBind",
    "VolumeZone": FILTER,
    "PodTopologySpread": f"{FILTER} {SCORE}",
    "InterPodAffinity": f"{FILTER} {SCORE}",
    "DynamicResources": f"preEnqueue {FILTER} postFilter score reserve preBind",
    "DefaultPreemption": "preEnqueue postFilter",
    "NodeResourcesBalancedAllocation": SCORE,
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": FILTER,
}


def points_of(name: str, known: dict[str, str] | None = None) -> set[ExtensionPoint] | None:
    points = (known or IN_TREE).get(name)
    return None if points is None else {ExtensionPoint(point) for point in points.split()}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in RECORDED])
def test_recorded_profiles(case: dict[str, Any]) -> None:
    """kube-scheduler v1.36.4 runs exactly these plugins, in this order and with these weights."""
    config = load_config(json.dumps(case["config"]), FeatureGates(version=Version(1, 36)))
    (profile,) = (profile for profile in config.profiles if profile.scheduler_name == case["schedulerName"])
    expanded = expand_plugins(profile, points_of)
    names = {point: [plugin["name"] for plugin in plugins] for point, plugins in case["plugins"].items()}
    placement = {ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE}  # not recorded
    assert {
        point.value: list(plugins) for point, plugins in expanded.at.items() if plugins and point not in placement
    } == names
    recorded_weights = {plugin["name"]: plugin["weight"] for plugin in case["plugins"].get("score", ())}
    weights = expanded.weights[ExtensionPoint.SCORE]
    assert {name: weights[name] for name in expanded.at[ExtensionPoint.SCORE]} == recorded_weights


KNOWN = {
    "Sort": "queueSort",
    "Bind": "bind",
    "A": "filter score",
    "B": "filter score",
    "C": "filter score",
    "Generate": "placementGenerate",
    "Generate2": "placementGenerate",
}


def profile(multi: str, **points: PluginSet) -> KubeSchedulerProfile:
    plugins = tuple(Plugin(name=name) for name in ("Sort Bind " + multi).split())
    return KubeSchedulerProfile(plugins=Plugins(multi_point=PluginSet(enabled=plugins), **points))


def enabled(names: str, disabled: str = "", weight: int = 0) -> PluginSet:
    return PluginSet(
        enabled=tuple(Plugin(name=name, weight=weight) for name in names.split()),
        disabled=tuple(Plugin(name=name) for name in disabled.split()),
    )


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param(enabled(""), "A B", id="multiPoint alone"),
        pytest.param(enabled("C"), "A B C", id="a specific plugin that multiPoint lacks comes last"),
        pytest.param(enabled("B"), "B A", id="a specific plugin that multiPoint has comes first"),
        pytest.param(enabled("C B"), "B A C", id="both kinds of specific plugins"),
        pytest.param(enabled("", "A"), "B", id="one disabled at the point"),
        pytest.param(enabled("", "*"), "", id="all disabled at the point"),
        pytest.param(enabled("C A", "*"), "C A", id="only the specific ones"),
        pytest.param(enabled("A", "A"), "B A", id="disabled for multiPoint, enabled specifically"),
    ],
)
def test_order(filters: PluginSet, expected: str) -> None:
    """Overriding plugins, then multiPoint, then the other specific ones."""
    expanded = expand_plugins(profile("A B", filter=filters), lambda name: points_of(name, KNOWN))
    assert " ".join(expanded.at[ExtensionPoint.FILTER]) == expected


def test_weights() -> None:
    """The specific weight wins over multiPoint's, and none means 1."""
    made = profile("A B", score=enabled("B", weight=7))
    weights = expand_plugins(made, lambda name: points_of(name, KNOWN)).weights[ExtensionPoint.SCORE]
    assert weights == {"B": 7, "A": 1}


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        pytest.param(profile("Nope"), 'MultiPoint plugin "Nope" does not exist', id="unknown in multiPoint"),
        pytest.param(
            profile("", filter=enabled("Nope")), 'FilterPlugin "Nope" does not exist', id="unknown at a point"
        ),
        pytest.param(
            profile("", reserve=enabled("A")),
            'plugin "A" does not extend ReservePlugin plugin',
            id="a point that it does not implement",
        ),
        pytest.param(
            profile("", filter=enabled("A A")), 'plugin "A" already registered as "FilterPlugin"', id="twice at a point"
        ),
        pytest.param(profile("A A"), 'plugin "A" already registered as "FilterPlugin"', id="twice in multiPoint"),
        pytest.param(
            KubeSchedulerProfile(plugins=Plugins(bind=enabled("Bind"))),
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
            id="no queue sort plugin",
        ),
        pytest.param(
            KubeSchedulerProfile(plugins=Plugins(queue_sort=enabled("Sort"))),
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
            id="no bind plugin",
        ),
        pytest.param(
            profile("Generate Generate2"),
            'at most one placement generate plugin is allowed for profile with scheduler name "default-scheduler"',
            id="two placement generators",
        ),
    ],
)
def test_refused(broken: KubeSchedulerProfile, problem: str) -> None:
    """A profile from which no framework can be built is refused with the reason."""
    with pytest.raises(ConfigurationError) as caught:
        expand_plugins(broken, lambda name: points_of(name, KNOWN))
    assert problem in caught.value.problems


def _weighted(name: str, weight: int) -> Plugin:
    return Plugin(name=name, weight=weight)


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param([2**62, 2**62, 2**62], id="too large together"),
        pytest.param([-3, 1], id="below zero before another plugin"),
    ],
)
def test_weights_that_could_overflow(weights: list[int]) -> None:
    """The total score must fit an int64, as kube-scheduler checks it."""
    heavy = {f"P{index}": "score" for index in range(len(weights))}
    many = PluginSet(enabled=tuple(map(_weighted, heavy, weights)))
    made = profile("", score=many)
    with pytest.raises(ConfigurationError, match="score plugins: total score of Score plugins could overflow"):
        expand_plugins(made, lambda name: points_of(name, KNOWN | heavy))
