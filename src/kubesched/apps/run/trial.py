"""Whether a scheduler can be put together from a configuration, plugins of the user's own included."""

from __future__ import annotations

from pathlib import Path
from random import Random

from kubesched.apps.run.extenders import connect_extenders, leave_to_extenders
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import Plugin
from kubesched.scheduler.plugin_contract import suspicious_names
from kubesched.scheduler.plugin_loading import load_plugins


class _NoEvents:
    def event(self, *args: object, **kwargs: object) -> None: ...


def try_out(config: KubeSchedulerConfiguration, gates: FeatureGates, plugin_folder: Path | None) -> Assembled:
    """ConfigurationError with what would keep a scheduler from starting. Nothing is connected to."""
    clock = VirtualClock()
    config, plugins = load_plugins(leave_to_extenders(config), plugin_folder)
    dependencies = Dependencies(
        api=MemoryApi(),
        recorder=_NoEvents(),
        clock=clock,
        random=Random(0),  # noqa: S311 - nothing is decided
        extenders=connect_extenders(config, clock),
        plugins=plugins,
    )
    return build_scheduler(config, gates, dependencies)


def likely_mistakes(config: KubeSchedulerConfiguration, plugin_folder: Path | None) -> list[str]:
    """What keeps no scheduler from starting, but is hardly meant: names in plugins that look misspelt."""
    _, plugins = load_plugins(config, plugin_folder)
    return [
        f"plugin {name}: {problem}"
        for name, plugin in plugins.items()
        if isinstance(plugin, type) and issubclass(plugin, Plugin)
        for problem in suspicious_names(plugin)
    ]
