"""The default plugins and how profiles change them."""

from __future__ import annotations

import pytest

from kubesched.config import FeatureGates
from kubesched.config.default_plugins import default_plugins, merge_plugin_set
from kubesched.config.model import Plugin, PluginSet

DEFAULT = PluginSet(enabled=(Plugin(name="A", weight=1), Plugin(name="B", weight=2), Plugin(name="C")))


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    """`"A=3 B"` becomes plugins A with weight 3 and B."""
    return PluginSet(
        enabled=tuple(Plugin(name=n, weight=int(w or 0)) for n, _, w in (p.partition("=") for p in enabled.split())),
        disabled=tuple(Plugin(name=name) for name in disabled.split()),
    )


@pytest.mark.parametrize(
    ("custom", "expected"),
    [
        pytest.param(plugin_set(), plugin_set("A=1 B=2 C"), id="nothing configured"),
        pytest.param(plugin_set("X=5"), plugin_set("A=1 B=2 C X=5"), id="additions follow the defaults"),
        pytest.param(plugin_set(disabled="B"), plugin_set("A=1 C", "B"), id="one default disabled"),
        pytest.param(plugin_set("X", "*"), plugin_set("X", "*"), id="all defaults disabled"),
        pytest.param(plugin_set("B=9"), plugin_set("A=1 B=9 C"), id="a default re-configured keeps its place"),
        pytest.param(plugin_set("B=9 X", "B"), plugin_set("A=1 C B=9 X", "B"), id="disabled and enabled moves it back"),
        pytest.param(plugin_set("C A", "*"), plugin_set("C A", "*"), id="a new order"),
        pytest.param(
            plugin_set("X X"), plugin_set("A=1 B=2 C X X"), id="repetitions stay, for the framework to refuse"
        ),
        pytest.param(
            plugin_set("B=3 B=4"), plugin_set("A=1 B=4 C B=3"), id="the last of two re-configurations replaces"
        ),
    ],
)
def test_merge(custom: PluginSet, expected: PluginSet) -> None:
    """Defaults first and in their order, replaced in place, then the rest."""
    merged = merge_plugin_set(DEFAULT, custom)
    assert merged == expected


def test_merge_keeps_default_disabled() -> None:
    """What the defaults disable stays disabled, after what the profile disables."""
    merged = merge_plugin_set(plugin_set("A", "D"), plugin_set("", "A"))
    assert merged == plugin_set("", "A D")


@pytest.mark.parametrize(
    ("gates", "tail"),
    [
        pytest.param({}, ["DefaultBinder", "NodeDeclaredFeatures"], id="as released"),
        pytest.param(
            {"GenericWorkload": True},
            ["NodeDeclaredFeatures", "GangScheduling"],
            id="with gang scheduling",
        ),
        pytest.param(
            {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True},
            ["TopologyPlacementGenerator", "PodGroupPodsCount"],
            id="with topology-aware workloads",
        ),
    ],
)
def test_gated(gates: dict[str, bool], tail: list[str]) -> None:
    """Gated plugins are appended when their gate is on."""
    names = [plugin.name for plugin in default_plugins(FeatureGates(gates)).multi_point.enabled]
    assert names[-2:] == tail


def test_dynamic_resources_before_preemption() -> None:
    """Freeing a claim is tried before evicting a pod."""
    names = [plugin.name for plugin in default_plugins(FeatureGates()).multi_point.enabled]
    assert names.index("DynamicResources") + 1 == names.index("DefaultPreemption")
