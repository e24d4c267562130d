"""The rules that a complete configuration must meet, with Kubernetes' messages and in its order.

`validate_config` returns every finding as one line `path: Kind of problem: value: reason`; it never raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kubesched.config.feature_gates import FeatureGates
from kubesched.config.field_errors import duplicate, invalid, required
from kubesched.config.model import (
    API_VERSION,
    ClientConnectionConfiguration,
    ExtensionPoint,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
)
from kubesched.config.plugin_args import ARGS_BY_PLUGIN
from kubesched.config.validate_args import validate_args
from kubesched.config.validate_extenders import validate_extenders

_REMOVED_PLUGINS: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_REMOVED: Final = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
# Upstream never checks the placement points for removed plugins; neither point ever had one.
_CHECKED_POINTS: Final = tuple(
    point
    for point in ExtensionPoint
    if point not in (ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE)
)


def validate_config(config: KubeSchedulerConfiguration, gates: FeatureGates) -> list[str]:
    """Every objection to a complete configuration; empty if it is valid."""
    return [
        *_client_connection(config.client_connection),
        *_leader_election(config.leader_election),
        *_parallelism(config.parallelism),
        *_profiles(config.profiles, gates),
        *_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score),
        *_backoffs(config),
        *validate_extenders(config.extenders),
    ]


def _client_connection(section: ClientConnectionConfiguration) -> Iterator[str]:
    if section.burst < 0:
        yield invalid("clientConnection.burst", section.burst, "must be non-negative")


def _leader_election(section: LeaderElectionConfiguration) -> Iterator[str]:
    if not section.leader_elect:
        return
    for name, duration in (
        ("leaseDuration", section.lease_duration),
        ("renewDeadline", section.renew_deadline),
        ("retryPeriod", section.retry_period),
    ):
        if duration <= timedelta():
            yield invalid(f"leaderElection.{name}", duration, "must be greater than zero")
    if section.lease_duration <= section.renew_deadline:
        # The value shown is the deadline, as in ValidateLeaderElectionConfiguration.
        yield invalid("leaderElection.leaseDuration", section.renew_deadline, "must be greater than `RenewDeadline`")
    for name, text in (
        ("resourceLock", section.resource_lock),
        ("resourceNamespace", section.resource_namespace),
        ("resourceName", section.resource_name),
    ):
        if not text:
            yield required(f"leaderElection.{name}")
    if section.resource_lock != "leases":
        yield invalid("leaderElection.resourceLock", section.resource_lock, 'resourceLock value must be "leases"')


def _parallelism(parallelism: int) -> Iterator[str]:
    if parallelism <= 0:
        yield invalid("parallelism", parallelism, "should be an integer value greater than zero")


def _percentage(path: str, percentage: int | None) -> Iterator[str]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _backoffs(config: KubeSchedulerConfiguration) -> Iterator[str]:
    initial, maximum = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if maximum < initial:
        yield invalid("podMaxBackoffSeconds", maximum, "must be greater than or equal to PodInitialBackoffSeconds")


def _profiles(profiles: tuple[KubeSchedulerProfile, ...], gates: FeatureGates) -> Iterator[str]:
    if not profiles:
        yield required("profiles")
        return
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        if not profile.scheduler_name:
            yield required(f"{path}.schedulerName")
        yield from _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
        yield from _removed_plugins(path, profile)
        yield from _plugin_config(path, profile, gates)
        if profile.scheduler_name in seen:
            yield duplicate(f"{path}.schedulerName", profile.scheduler_name)
        seen.add(profile.scheduler_name)
    yield from _common_queue_sort(profiles)


def _removed_plugins(path: str, profile: KubeSchedulerProfile) -> Iterator[str]:
    for point in _CHECKED_POINTS:
        for index, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in _REMOVED_PLUGINS:
                yield invalid(f"{path}.plugins.{point}.enabled[{index}]", plugin.name, _REMOVED)


def _plugin_config(path: str, profile: KubeSchedulerProfile, gates: FeatureGates) -> Iterator[str]:
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        config_path = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            yield duplicate(config_path, config.name)
        seen.add(config.name)
        if config.name in _REMOVED_PLUGINS:
            yield invalid(config_path, config.name, _REMOVED)
        elif config.name in ARGS_BY_PLUGIN:
            if isinstance(config.args, ARGS_BY_PLUGIN[config.name]):
                yield from validate_args(f"{config_path}.args", config.args, gates)
            else:
                yield invalid(f"{config_path}.args", config.args, "has to match plugin args")


def _common_queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[str]:
    """All profiles share one queue, so they must sort it alike (validateCommonQueueSort)."""
    first = profiles[0]
    canonical = first.plugins.queue_sort
    if len(canonical.enabled) > 1:
        yield invalid(
            "profiles[0].plugins.queueSort.Enabled", len(canonical.enabled), "only one queue sort plugin can be enabled"
        )
    sorter = canonical.enabled[0].name if canonical.enabled else ""
    for index, profile in enumerate(profiles[1:], start=1):
        queue_sort = profile.plugins.queue_sort
        if queue_sort != canonical:
            yield invalid(f"profiles[{index}].plugins.queueSort", queue_sort, "must be the same for all profiles")
        for config in profile.plugin_config:
            if config.name == sorter and config.args != first.args_of(sorter):
                yield invalid(
                    f"profiles[{index}].pluginConfig.args", config.args, "queueSort must be the same for all profiles"
                )
