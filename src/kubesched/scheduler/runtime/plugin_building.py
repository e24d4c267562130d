"""From a profile's configuration to its plugins. Whatever is wrong with one is a ConfigurationError that says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from kubesched.config.feature_gates import FeatureGates
from kubesched.config.model import ExtensionPoint, KubeSchedulerProfile
from kubesched.errors import ConfigurationError, what_and_where
from kubesched.scheduler.framework import (
    EventHint,
    Fetched,
    FilterPlugin,
    Handle,
    PermitPlugin,
    Plugin,
    PluginFactory,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    points_served,
)
from kubesched.scheduler.framework.listers import Selection
from kubesched.scheduler.runtime.time_limit import limit_time

Registry = Mapping[str, PluginFactory]

REJECTING: Final = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)
"""The points at which a pod is rejected until an event helps it (shouldHaveEnqueueExtensions)."""


def merged_registry(in_tree: Registry, out_of_tree: Registry) -> dict[str, PluginFactory]:
    """All plugins by name; a name that is taken is an error."""
    taken = sorted(in_tree.keys() & out_of_tree.keys())
    if taken:
        raise ConfigurationError([f"a plugin named {name} already exists" for name in taken])
    return {**in_tree, **out_of_tree}


def points_of(registry: Registry, gates: FeatureGates) -> Callable[[str], Collection[ExtensionPoint] | None]:
    """A function from a plugin's name to its extension points; it returns None for an unknown name."""

    def points(name: str) -> Collection[ExtensionPoint] | None:
        plugin = registry.get(name)
        if plugin is None:
            return None
        if not isinstance(plugin, type):
            raise ConfigurationError([f"plugin {name}: {plugin!r} is no class"])
        since = getattr(plugin, "points_since", {})
        return [
            ExtensionPoint(point)
            for point in points_served(plugin)
            if point not in since or gates.follows(since[point])
        ]

    return cache(points)  # every point of a profile asks about every plugin


class Wants(NamedTuple):
    """What a plugin asked its handle for."""

    watched: tuple[tuple[type, Selection], ...]
    fetched: tuple[Fetched[Any], ...]


def build(name: str, registry: Registry, config: KubeSchedulerProfile, handle: Handle) -> tuple[Plugin, Wants]:
    """A plugin with the arguments that the profile has for it, and what it asked for."""
    factory = registry[name]
    watched, fetched = len(handle.objects.asked), len(handle.fetches.asked)
    try:
        plugin = factory(config.args_of(name), handle)
    except ConfigurationError:
        raise
    except Exception as error:
        problem = f"initializing plugin {name}: {what_and_where(error)}"
        raise ConfigurationError([problem]) from error
    if getattr(plugin, "name", "") != name:
        raise ConfigurationError([f"plugin {name}: its class has another `name`, or none"])
    if not is_in_tree(plugin):
        limit_time(plugin, handle.clock)
    return plugin, Wants(tuple(handle.objects.asked[watched:]), tuple(handle.fetches.asked[fetched:]))


def is_in_tree(plugin: Plugin) -> bool:
    """Whether it is one of kube-scheduler's, which know their own limits."""
    return type(plugin).__module__.startswith("kubesched.scheduler.plugins.")


def events_of(plugin: Plugin) -> Sequence[EventHint]:
    """What a plugin registers."""
    try:
        hints: Sequence[object] = tuple(plugin.events_to_register())
    except Exception as error:
        raise ConfigurationError([f"plugin {plugin.name}: events_to_register: {what_and_where(error)}"]) from error
    events = [hint for hint in hints if isinstance(hint, EventHint)]
    if len(events) < len(hints):
        raise ConfigurationError([f"plugin {plugin.name}: events_to_register must answer with EventHints, not {hints}"])
    return events
