"""The configuration's extenders, ready to be called, and what they change in the configuration."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched.client.extender import HTTPExtender, connect_extender
from kubesched.clock import Clock
from kubesched.config import KubeSchedulerConfiguration
from kubesched.config.model import KubeSchedulerProfile, PluginConfig
from kubesched.config.plugin_args import NodeResourcesFitArgs

FIT = "NodeResourcesFit"


def connect_extenders(config: KubeSchedulerConfiguration, clock: Clock) -> list[HTTPExtender]:
    """In the order of the configuration, ignorable ones last (buildExtenders)."""
    extenders = [connect_extender(extender, clock) for extender in config.extenders]
    return sorted(extenders, key=lambda extender: extender.is_ignorable)


def leave_to_extenders(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """The configuration whose fit filter skips the resources that only an extender checks."""
    ignored = tuple(
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return config
    return replace(config, profiles=tuple(_ignoring(profile, ignored) for profile in config.profiles))


def _ignoring(profile: KubeSchedulerProfile, resources: tuple[str, ...]) -> KubeSchedulerProfile:
    args = replace(profile.typed_args(FIT, NodeResourcesFitArgs), ignored_resources=resources)
    others = tuple(config for config in profile.plugin_config if config.name != FIT)
    return replace(profile, plugin_config=(*others, PluginConfig(name=FIT, args=args)))
