"""Where a policy comes from: a configuration and the modules of its plugins, which may change on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from kubesched.apps.run.extenders import leave_to_extenders
from kubesched.config import KubeSchedulerConfiguration
from kubesched.errors import ConfigurationError
from kubesched.scheduler.framework import PluginFactory
from kubesched.scheduler.plugin_loading import load_plugins, plugin_references
from kubesched.scheduler.plugin_modules import Digests, digests, fresh_modules, user_modules

RELOADABLE: Final = (
    "profiles",
    "extenders",
    "percentage_of_nodes_to_score",
    "pod_initial_backoff_seconds",
    "pod_max_backoff_seconds",
)
"""The fields of a configuration that a running scheduler can take up."""


class LoadedPolicy(NamedTuple):
    """A configuration in which plugins go by their own names, and the plugins."""

    config: KubeSchedulerConfiguration
    plugins: dict[str, PluginFactory]


class PolicySource:
    """Loads a policy, and again where it has changed."""

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        read: Callable[[], KubeSchedulerConfiguration] | None,
        folder: Path | None,
    ) -> None:
        """`read` reads the configuration again; `folder` is where plugins are looked for first."""
        self._config = config
        self._read = read or (lambda: config)
        self._folder = folder
        self._modules: Digests = {}
        self._tried: tuple[KubeSchedulerConfiguration, Digests] | None = None
        self._seen: tuple[KubeSchedulerConfiguration | str, Digests] | None = None

    def load(self) -> LoadedPolicy:
        """The policy of the start. ConfigurationError."""
        loaded = LoadedPolicy(*load_plugins(leave_to_extenders(self._config), self._folder))
        self._modules = digests(self._files())
        return loaded

    def has_settled(self) -> bool:
        """Whether the files say what they said when this was asked last: none is being written."""
        before = self._seen
        try:
            config: KubeSchedulerConfiguration | str = self._read()
        except ConfigurationError as error:
            config = str(error)
        self._seen = config, digests(self._files())
        return self._seen == before

    def load_again(self) -> LoadedPolicy | None:
        """The policy as it is on disk now; None if that is what was loaded, or what was refused, last.

        ConfigurationError with everything that is wrong with it; the modules are what they were then.
        """
        config, modules = self._read(), self._files()
        now = digests(modules)
        if (config, now) in ((self._config, self._modules), self._tried):
            return None
        self._tried = config, now
        changed = [name for name, digest in now.items() if digest != self._modules.get(name)]
        with fresh_modules(modules, changed):
            loaded = LoadedPolicy(*load_plugins(leave_to_extenders(config), self._folder))
        self._config = config
        self._modules = self._tried[1] | digests({n: p for n, p in self._files().items() if n not in now})
        return loaded

    def beyond_reload(self, config: KubeSchedulerConfiguration, running: KubeSchedulerConfiguration) -> list[str]:
        """Fields that differ from those of the running scheduler and need a restart."""
        return [
            name
            for name in config.__struct_fields__
            if name not in RELOADABLE and getattr(config, name) != getattr(running, name)
        ]

    def _files(self) -> dict[str, Path]:
        return user_modules(plugin_references(self._config), self._folder)
