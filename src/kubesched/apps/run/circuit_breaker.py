"""Takes a plugin that fails again and again out of all profiles, and tries it again later. Off unless asked for.

It changes what is decided: pods are placed without that plugin's word. So it is for policies that pods can do without.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kubesched.clock import Clock
from kubesched.config import KubeSchedulerConfiguration, KubeSchedulerProfile
from kubesched.config.model import PluginSet
from kubesched.errors import ConfigurationError
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.reload import adopt, prepare
from kubesched.telemetry.logging import log

OPEN_SECONDS: Final = 300.0


class CircuitBreaker:
    def __init__(self, assembled: Assembled, clock: Clock) -> None:
        self._assembled = assembled
        self._clock = clock

    async def open(self, plugin: str) -> None:
        """Go on without a plugin, and with it again after some minutes, unless a reload came in between."""
        policy = self._assembled.policy
        whole = policy.config
        without = _without(whole, plugin)
        if not self._swap(without, f"A plugin cannot be taken out of the profiles: {plugin}"):
            return
        log.error("A plugin was taken out of the profiles", "it failed too often", plugin=plugin, seconds=OPEN_SECONDS)
        await self._clock.sleep(OPEN_SECONDS)
        if policy.config is without and self._swap(whole, f"A plugin cannot be put back: {plugin}"):
            log.info("A plugin is part of its profiles again", plugin=plugin)

    def _swap(self, config: KubeSchedulerConfiguration, problem: str) -> bool:
        """Between two decisions; whether it could be prepared."""
        policy = self._assembled.policy
        try:
            prepared = prepare(self._assembled, config, policy.plugins, policy.extenders)
        except ConfigurationError as error:
            log.error(problem, error)
            return False
        # Plugins that stay are the same objects, so that nobody can refuse to take over.
        self._assembled.scheduler.between_decisions(lambda: adopt(self._assembled, prepared))
        return True


def _without(config: KubeSchedulerConfiguration, plugin: str) -> KubeSchedulerConfiguration:
    return replace(config, profiles=tuple(_profile_without(profile, plugin) for profile in config.profiles))


def _profile_without(profile: KubeSchedulerProfile, plugin: str) -> KubeSchedulerProfile:
    def cut(plugins: PluginSet) -> PluginSet:
        return replace(plugins, enabled=tuple(one for one in plugins.enabled if one.name != plugin))

    plugins = profile.plugins
    fields = {name: cut(getattr(plugins, name)) for name in plugins.__struct_fields__}
    return replace(profile, plugins=replace(plugins, **fields))
