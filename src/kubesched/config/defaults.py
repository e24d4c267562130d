"""Completes a configuration with the defaults that hang on feature gates and on other fields.

Defaults of single absent fields are in the model itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from kubesched.config.default_plugins import default_plugins, merge_plugins
from kubesched.config.feature_gates import FeatureGates
from kubesched.config.model import (
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
)
from kubesched.config.plugin_args import (
    ARGS_BY_PLUGIN,
    DEFAULT_RESOURCES,
    DEFAULT_STORAGE_SHAPE,
    SYSTEM_DEFAULTING,
    ConfigStruct,
    DynamicResourcesArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
)

SectionT = TypeVar("SectionT", bound=ConfigStruct)

_FILTER_TIMEOUT: Final = timedelta(seconds=10)
_BINDING_TIMEOUT: Final = timedelta(minutes=10)


def default_config(gates: FeatureGates | None = None) -> KubeSchedulerConfiguration:
    """The configuration of a scheduler that is started without a file."""
    return apply_defaults(KubeSchedulerConfiguration(), gates or FeatureGates())


def apply_defaults(config: KubeSchedulerConfiguration, gates: FeatureGates) -> KubeSchedulerConfiguration:
    """The complete configuration. Idempotent: a complete one comes back equal."""
    profiles = config.profiles or (KubeSchedulerProfile(),)
    return replace(
        config,
        leader_election=_zero_means_default(config.leader_election, LeaderElectionConfiguration(), keep="leader_elect"),
        client_connection=_zero_means_default(config.client_connection, ClientConnectionConfiguration()),
        profiles=tuple(_default_profile(profile, gates) for profile in profiles),
    )


def _zero_means_default(section: SectionT, defaults: SectionT, *, keep: str = "") -> SectionT:
    """In these sections an explicit zero or empty text means "not set", except for the field `keep`."""
    changes = {
        field.name: getattr(defaults, field.name)
        for field in msgspec.structs.fields(section)
        if field.name != keep and not getattr(section, field.name)
    }
    return replace(section, **changes)


def _default_profile(profile: KubeSchedulerProfile, gates: FeatureGates) -> KubeSchedulerProfile:
    plugins = merge_plugins(default_plugins(gates), profile.plugins)
    configured = [
        PluginConfig(name=config.name, args=default_args(config.name, config.args, gates))
        for config in profile.plugin_config
    ]
    names = {config.name for config in configured}
    configured.extend(
        PluginConfig(name=name, args=default_args(name, None, gates))
        for name in plugins.enabled_names()
        if name in ARGS_BY_PLUGIN and name not in names
    )
    return replace(profile, plugins=plugins, plugin_config=tuple(configured))


def default_args(plugin: str, args: PluginArgs, gates: FeatureGates) -> PluginArgs:
    """A plugin's complete arguments; those of out-of-tree plugins are theirs to complete."""
    if args is None and plugin in ARGS_BY_PLUGIN:
        args = ARGS_BY_PLUGIN[plugin]()
    match args:
        case NodeResourcesFitArgs(scoring_strategy=strategy):
            return replace(args, scoring_strategy=replace(strategy, resources=_default_resources(strategy.resources)))
        case NodeResourcesBalancedAllocationArgs():
            return replace(args, resources=_default_resources(args.resources))
        case PodTopologySpreadArgs(defaulting_type=""):
            return replace(args, defaulting_type=SYSTEM_DEFAULTING)
        case VolumeBindingArgs(shape=()) if gates.enabled("StorageCapacityScoring"):
            return replace(args, shape=DEFAULT_STORAGE_SHAPE)
        case DynamicResourcesArgs():
            return _default_dynamic_resources(args, gates)
    return args


def _default_resources(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(replace(spec, weight=spec.weight or 1) for spec in resources or DEFAULT_RESOURCES)


def _default_dynamic_resources(args: DynamicResourcesArgs, gates: FeatureGates) -> DynamicResourcesArgs:
    filter_timeout, binding_timeout = args.filter_timeout, args.binding_timeout
    if filter_timeout is None and gates.enabled("DRASchedulerFilterTimeout"):
        filter_timeout = _FILTER_TIMEOUT
    if (
        binding_timeout is None
        and gates.enabled("DRADeviceBindingConditions")
        and gates.enabled("DRAResourceClaimDeviceStatus")
    ):
        binding_timeout = _BINDING_TIMEOUT
    return DynamicResourcesArgs(filter_timeout=filter_timeout, binding_timeout=binding_timeout)
