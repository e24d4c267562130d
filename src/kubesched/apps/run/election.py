"""Leader election of the process: which Lease, which timing, and who is notified."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from kubesched.apps.run.clients import Clients
from kubesched.client.candidacy import Candidacy
from kubesched.client.fence import Fence
from kubesched.client.leader_election import ElectionTiming, LeaderElector, default_identity
from kubesched.client.lease_lock import LeaseLock
from kubesched.client.recorder import EventRecorder
from kubesched.clock import Clock
from kubesched.config.feature_gates import FeatureGates
from kubesched.config.model import LeaderElectionConfiguration
from kubesched.telemetry.component_metrics import LeaderElectionMetrics
from kubesched.telemetry.logging import log
from kubesched.telemetry.version import KUBERNETES_VERSION

EVENT_GRACE: Final = 2.0
# kube-scheduler stands for its default lease, whatever lease it is configured with.
_NAMESPACE: Final = "kube-system"
_LEASE: Final = "kube-scheduler"


class Election:
    """Runs for leader, and stands as a candidate where the API server holds the election (CoordinatedLeaderElection).

    Its clients are its own: nothing that the scheduler does holds up a renewal. ConfigurationError for a timing with
    which two could lead at once.
    """

    def __init__(
        self,
        config: LeaderElectionConfiguration,
        clients: Clients,
        clock: Clock,
        random: Random,
        *,
        gates: FeatureGates,
        hostname: str,
        scheduler_name: str,
        metrics: LeaderElectionMetrics,
        fence: Fence,
        on_started_leading: Callable[[], None],
        on_lost: Callable[[], None],
    ) -> None:
        """Events about the lease are reported in the name of the scheduler."""
        identity = default_identity(hostname, random)
        coordinated = gates.enabled("CoordinatedLeaderElection")
        timing = ElectionTiming(
            lease_duration=config.lease_duration.total_seconds(),
            renew_deadline=config.renew_deadline.total_seconds(),
            retry_period=config.retry_period.total_seconds(),
        )
        self._lock = LeaseLock(
            clients.client(time_limit=timing.renew_deadline / 2),  # as NewFromKubeconfig: a request may be tried twice
            namespace=config.resource_namespace,
            name=config.resource_name,
            identity=identity,
        )
        self._status = metrics.master_status.labels(config.resource_name)
        self._on_started_leading = on_started_leading
        self._recorder = EventRecorder(
            clients.client(), clock, random, reporting_controller=scheduler_name, hostname=hostname
        )
        self._elector = LeaderElector(
            self._lock,
            timing,
            clock,
            random,
            coordinated=coordinated,
            fence=fence,
            on_started_leading=self._started,
            on_stopped_leading=lambda: self._status.set(0.0),
            on_lost=on_lost,
            on_new_leader=self._seen,
            on_slow_renewal=metrics.slowpath.labels(config.resource_name).inc,
            on_event=self._record,
        )
        self._candidacy: Candidacy | None = None
        if coordinated:
            self._candidacy = Candidacy(
                clients.client(),
                clock,
                random,
                namespace=_NAMESPACE,
                name=identity,
                lease=_LEASE,
                binary_version=KUBERNETES_VERSION.removeprefix("v"),
                emulation_version=f"{gates.version}.0",
            )
        self._standing: asyncio.Task[None] | None = None
        self.health_problem = self._elector.health_problem

    def stand(self) -> None:
        """Be there to be chosen, from now on until `stop`."""
        self._recorder.start()
        if self._candidacy is not None:
            self._standing = asyncio.get_running_loop().create_task(self._candidacy.run())
            self._standing.add_done_callback(_report)

    async def run(self) -> None:
        """Wait for the lease, then keep it. Returns when it is lost; when cancelled, gives it back first."""
        await self._elector.run()

    async def stop(self) -> None:
        """Write the last events about the lease."""
        if self._standing is not None:
            self._standing.cancel()
        await self._recorder.stop(grace=EVENT_GRACE)

    def _started(self) -> None:
        self._status.set(1.0)
        self._on_started_leading()

    def _seen(self, identity: str) -> None:
        if identity and identity != self._lock.identity:
            log.info("New leader elected", identity=identity)

    def _record(self, note: str) -> None:
        """What happened to our leadership, as client-go's resource lock tells it."""
        self._recorder.event(self._lock.reference(), "Normal", "LeaderElection", "LeaderElection", note)


def _report(standing: asyncio.Task[None]) -> None:
    if not standing.cancelled() and (error := standing.exception()) is not None:
        log.error("No longer a candidate for the lease", error)
