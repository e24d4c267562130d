"""From a configuration, as a user of the library writes it, to a scheduler: for simulations and replays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from kubesched.config import FeatureGates, KubeSchedulerConfiguration, default_config, load_config, load_config_file
from kubesched.errors import ConfigurationError
from kubesched.objects.manifests import SUFFIXES
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import PluginFactory
from kubesched.scheduler.plugin_contract import check_plugin
from kubesched.scheduler.plugin_loading import load_plugins
from kubesched.scheduler.reload import adopt, prepare

Configuration: TypeAlias = str | Path | Mapping[str, Any] | None
"""A KubeSchedulerConfiguration: a file (`Path`), a text or a mapping; None: the default."""


def build_virtual_scheduler(
    config: Configuration,
    gates: FeatureGates,
    dependencies: Dependencies,
    plugins: Mapping[str, PluginFactory] | None = None,
) -> Assembled:
    """A scheduler of this configuration, with the plugins beside its file, and `plugins`. ConfigurationError."""
    loaded, registry = _load(config, gates, plugins)
    return build_scheduler(loaded, gates, replace(dependencies, plugins=registry))


def reload_virtual_scheduler(
    assembled: Assembled, config: Configuration, plugins: Mapping[str, PluginFactory] | None = None
) -> None:
    """Let a scheduler go on with another configuration. ConfigurationError, and it goes on as it was."""
    loaded, registry = _load(config, assembled.foundation.gates, plugins)
    adopt(assembled, prepare(assembled, loaded, registry, ()))


def _load(
    config: Configuration, gates: FeatureGates, plugins: Mapping[str, PluginFactory] | None
) -> tuple[KubeSchedulerConfiguration, dict[str, PluginFactory]]:
    folder = config.parent if isinstance(config, Path) else None
    loaded, found = load_plugins(load_configuration(config, gates), folder)
    return loaded, found | {name: check_plugin(name, plugin) for name, plugin in (plugins or {}).items()}


def load_configuration(config: Configuration, gates: FeatureGates) -> KubeSchedulerConfiguration:
    if config is None:
        return default_config(gates)
    if isinstance(config, Path):
        return load_config_file(config, gates)
    if isinstance(config, Mapping):
        try:
            text = json.dumps(dict(config))
        except (TypeError, ValueError) as error:
            raise ConfigurationError([f"the configuration cannot be written as JSON: {error}"]) from error
        return load_config(text, gates)
    if is_file_name(config):
        raise ConfigurationError([f"{config!r} is no configuration: to load a file, pass a Path"])
    return load_config(config, gates)


def is_file_name(text: str) -> bool:
    """Whether somebody who wrote this meant a file, not its content."""
    return text.endswith(SUFFIXES) and "\n" not in text
