"""Plugins of your own, by name in the configuration file: `module:Class`, without a rebuild of anything.

    profiles:
    - plugins:
        multiPoint:
          enabled:
          - name: my_plugins:PreferGreen
            weight: 5

The module is looked for beside the configuration file, then on Python's path. An installed package can offer plugins
under plain names instead, by the entry point group `kubesched.plugins`. Those of `kubesched.contrib` go by the names
that they have upstream; a plugin of that name that is given otherwise takes precedence.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kubesched.config import KubeSchedulerConfiguration, KubeSchedulerProfile
from kubesched.config.model import PluginSet
from kubesched.errors import ConfigurationError, what_and_where
from kubesched.scheduler.framework import Plugin, PluginFactory
from kubesched.scheduler.plugin_contract import check_plugin
from kubesched.scheduler.plugins.registry import IN_TREE

ENTRY_POINT_GROUP: Final = "kubesched.plugins"

CONTRIB: Final = {
    "CapacityScheduling": "kubesched.contrib.capacity_scheduling:CapacityScheduling",
    "Coscheduling": "kubesched.contrib.coscheduling:Coscheduling",
    "LoadVariationRiskBalancing": (
        "kubesched.contrib.trimaran.load_variation_risk_balancing:LoadVariationRiskBalancing"
    ),
    "LowRiskOverCommitment": "kubesched.contrib.trimaran.low_risk_overcommitment:LowRiskOverCommitment",
    "NodeResourceTopologyMatch": "kubesched.contrib.node_resource_topology:NodeResourceTopologyMatch",
    "NodeResourcesAllocatable": "kubesched.contrib.node_resources_allocatable:NodeResourcesAllocatable",
    "Peaks": "kubesched.contrib.trimaran.peaks:Peaks",
    "PodState": "kubesched.contrib.pod_state:PodState",
    "PreemptionToleration": "kubesched.contrib.preemption_toleration:PreemptionToleration",
    "QOSSort": "kubesched.contrib.qos_sort:QOSSort",
    "TargetLoadPacking": "kubesched.contrib.trimaran.target_load_packing:TargetLoadPacking",
}
"""The plugins of `kubesched.contrib` by name. They are imported when a configuration names them."""


def load_plugins(
    config: KubeSchedulerConfiguration, folder: Path | None = None
) -> tuple[KubeSchedulerConfiguration, dict[str, PluginFactory]]:
    """Import the plugins that a configuration refers to; ConfigurationError with everything that is wrong with them.

    In the configuration that is returned they go by their own `name`, as they do in events and metrics.
    """
    wanted = {name for profile in config.profiles for name in _names(profile)}
    references = plugin_references(config)
    if folder is not None and references and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    problems: list[str] = []
    names: dict[str, str] = {}
    registry: dict[str, PluginFactory] = {}
    for reference in references:
        try:
            plugin = import_plugin(reference)
        except ConfigurationError as error:
            problems += error.problems
            continue
        names[reference] = plugin.name
        if registry.setdefault(plugin.name, plugin) is not plugin:
            problems.append(f"plugin {reference}: another plugin is called {plugin.name}, too")
    if problems:
        raise ConfigurationError(problems)
    registry |= {name: plugin for name, plugin in _installed(wanted) if name not in registry}
    registry |= {name: import_plugin(CONTRIB[name]) for name in sorted(wanted & CONTRIB.keys()) if name not in registry}
    return replace(config, profiles=tuple(_renamed(profile, names) for profile in config.profiles)), registry


def plugin_references(config: KubeSchedulerConfiguration) -> list[str]:
    """The plugins that a configuration names as `module:Class`, sorted."""
    return sorted({name for profile in config.profiles for name in _names(profile) if ":" in name})


def plugin_names(config: KubeSchedulerConfiguration) -> list[str]:
    """Every plugin that a configuration names, sorted; `*`, which stands for all, is none."""
    return sorted({name for profile in config.profiles for name in _names(profile)} - {"*"})


def is_installed(name: str) -> bool:
    """Whether a plugin of this plain name is in tree, in `kubesched.contrib` or offered by an installed package."""
    return (
        name in IN_TREE or name in CONTRIB or any(entry.name == name for entry in entry_points(group=ENTRY_POINT_GROUP))
    )


def import_plugin(reference: str) -> type[Plugin]:
    """The class behind `module:Class`; ConfigurationError if it cannot be imported, or cannot be a plugin."""
    module_name, _, class_name = reference.partition(":")
    try:
        plugin = getattr(import_module(module_name), class_name)
    except Exception as error:
        raise ConfigurationError([f"plugin {reference}: {what_and_where(error)}"]) from error
    return check_plugin(reference, plugin)


def _installed(wanted: Collection[str]) -> Iterator[tuple[str, PluginFactory]]:
    """Those that the configuration names: others, broken or not, are ignored.

    All installed packages have to be looked through for them: not worth it for names that are found without.
    """
    if all(name in IN_TREE or ":" in name for name in wanted):
        return
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name not in wanted:
            continue
        reference = f"{entry.name} (installed as {entry.value})"
        try:
            plugin = entry.load()
        except Exception as error:
            raise ConfigurationError([f"plugin {reference}: {what_and_where(error)}"]) from error
        yield entry.name, check_plugin(reference, plugin)


def _names(profile: KubeSchedulerProfile) -> Iterator[str]:
    for plugin_set in profile.plugins.sets():
        for plugin in (*plugin_set.enabled, *plugin_set.disabled):
            yield plugin.name
    for plugin_config in profile.plugin_config:
        yield plugin_config.name


def _renamed(profile: KubeSchedulerProfile, names: dict[str, str]) -> KubeSchedulerProfile:
    if not names:
        return profile

    def renamed_set(plugin_set: PluginSet) -> PluginSet:
        return PluginSet(
            enabled=tuple(replace(plugin, name=names.get(plugin.name, plugin.name)) for plugin in plugin_set.enabled),
            disabled=tuple(replace(plugin, name=names.get(plugin.name, plugin.name)) for plugin in plugin_set.disabled),
        )

    plugins = profile.plugins
    return replace(
        profile,
        plugins=replace(
            plugins, **{field: renamed_set(getattr(plugins, field)) for field in plugins.__struct_fields__}
        ),
        plugin_config=tuple(replace(c, name=names.get(c.name, c.name)) for c in profile.plugin_config),
    )
