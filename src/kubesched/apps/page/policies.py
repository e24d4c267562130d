"""What decides about pods: a configuration from a file, or that of a scheduler which runs and may reload it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Protocol

from kubesched.apps.page.configuration import configuration_text
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.simulation import Simulation
from kubesched.apps.simulate.virtual_scheduler import build_virtual_scheduler
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates
from kubesched.config.dump import dump_config, dump_yaml
from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.build import Assembled, Dependencies
from kubesched.scheduler.framework import PluginFactory


class DecidingPolicy(Protocol):
    """A configuration, for a version of Kubernetes, with plugins of the user's own."""

    @property
    def gates(self) -> FeatureGates: ...

    def version(self) -> object:
        """Another object after a reload. Like `make_simulation`, for the loop of the scheduler in question."""
        ...

    def simulation(self) -> Simulation:
        """An empty one that decides by it: questions are tried there."""
        ...

    def text(self) -> str: ...

    def plugins(self) -> Mapping[str, PluginFactory]:
        """Those that `text` refers to by their names alone."""
        ...


class _NoEvents:
    def event(
        self,
        regarding: Pod,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *,
        related: Pod | PodGroup | None = None,
        reporter: str = "",
    ) -> None: ...


NO_EVENTS: Final = _NoEvents()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A file's, or the default."""

    config: Path | None = None
    gates: FeatureGates

    def version(self) -> object:
        return self.config

    def text(self) -> str:
        return configuration_text(self.config, self.gates)

    def plugins(self) -> Mapping[str, PluginFactory]:
        return {}

    def simulation(self) -> Simulation:
        return Simulation(self.config, feature_gates=self.gates)

    def tables(self) -> Assembled:
        """A scheduler that never runs, for its tables of what there is."""
        random = Random(0)  # noqa: S311 - nothing is drawn
        dependencies = Dependencies(api=MemoryApi(), recorder=NO_EVENTS, clock=SystemClock(), random=random)
        return build_virtual_scheduler(self.config, self.gates, dependencies)


@dataclass(frozen=True)
class RunningPolicy:
    """That of a scheduler which runs: what it decides by now, reloads included."""

    assembled: Assembled
    gates: FeatureGates

    def version(self) -> object:
        return self.assembled.policy.config

    def text(self) -> str:
        return dump_yaml(self.assembled.policy.config)

    def plugins(self) -> Mapping[str, PluginFactory]:
        return self.assembled.policy.plugins

    def simulation(self) -> Simulation:
        data = dump_config(self.assembled.policy.config)
        return Simulation(data, feature_gates=self.gates, plugins=self.plugins())
