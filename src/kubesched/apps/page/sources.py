"""The clusters that `kubesched page` shows: a live one, which is watched, or one from files. Both are only read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from prometheus_client import CollectorRegistry

from kubesched.apps.page.configuration import configuration_text
from kubesched.apps.page.history import placements_seen
from kubesched.apps.page.source import PageSource
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.run.informers import AccessCheck, Watches, watched_kinds
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.simulation import Simulation
from kubesched.apps.simulate.virtual_scheduler import build_virtual_scheduler
from kubesched.client.http_transport import HttpTransport
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates
from kubesched.objects import Pod, PodGroup
from kubesched.objects.completion import completed
from kubesched.scheduler.build import Assembled, Dependencies, resource_features
from kubesched.telemetry.metrics import SchedulerMetrics


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
    """What decides: a configuration, for a version of Kubernetes."""

    config: Path | None = None
    gates: FeatureGates

    def text(self) -> str:
        return configuration_text(self.config, self.gates)

    def simulation(self) -> Simulation:
        return Simulation(self.config, feature_gates=self.gates)

    def tables(self) -> Assembled:
        """A scheduler that never runs, for its tables of what there is."""
        random = Random(0)  # noqa: S311 - nothing is drawn
        dependencies = Dependencies(api=MemoryApi(), recorder=NO_EVENTS, clock=SystemClock(), random=random)
        return build_virtual_scheduler(self.config, self.gates, dependencies)


@asynccontextmanager
async def watched_cluster(kubeconfig: str, policy: Policy) -> AsyncIterator[PageSource]:
    """A live cluster: every request is a GET. Errors as `fetch_objects`, while it starts."""
    clock, random = SystemClock(), Random()  # noqa: S311 - for jitter
    assembled = policy.tables()
    connection = choose_connection(kubeconfig, clock)
    transport = HttpTransport(connection)
    rest = RestClient(transport, clock, random)
    durations = SchedulerMetrics(CollectorRegistry()).event_handling_duration
    features = resource_features(policy.gates)
    watches = Watches(rest, clock, random, assembled.handlers, durations, features)
    try:
        kinds = await AccessCheck(rest, watched_kinds(policy.gates)).served_kinds_at_once()
        await watches.start(kinds)
        yield PageSource(
            title=connection.server,
            kind="cluster",
            assembled=assembled,
            clock=clock,
            make_simulation=policy.simulation,
            placements=placements_seen(assembled, clock),
            gates=policy.gates,
            config_text=policy.text,
        )
    finally:
        await watches.stop()
        await transport.close()


def loaded_cluster(objects: Sequence[Any], title: str, policy: Policy) -> PageSource:
    """What files contain."""
    assembled = policy.tables()
    for obj in objects:
        assembled.handlers.add(completed(obj))
    return PageSource(
        title=title,
        kind="files",
        assembled=assembled,
        clock=SystemClock(),
        make_simulation=policy.simulation,
        gates=policy.gates,
        config_text=policy.text,
    )
