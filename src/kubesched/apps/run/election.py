"""Leader election of the process: which Lease, which timing, and who is notified."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from kubesched.apps.run.clients import Clients
from kubesched.apps.run.recorders import ProfileRecorders
from kubesched.client.candidacy import Candidacy
from kubesched.client.leader_election import ElectionTiming, LeaderElector, default_identity
from kubesched.client.lease_lock import LeaseLock
from kubesched.clock import Clock
from kubesched.config.feature_gates import FeatureGates
from kubesched.config.model import LeaderElectionConfiguration
from kubesched.telemetry.component_metrics import LeaderElectionMetrics
from kubesched.telemetry.logging import log
from kubesched.telemetry.version import KUBERNETES_VERSION

# kube-scheduler stands for its default lease, whatever lease it is configured with.
_NAMESPACE: Final = "kube-system"
_LEASE: Final = "kube-scheduler"


def _make_candidacy(clients: Clients, clock: Clock, random: Random, gates: FeatureGates, identity: str) -> Candidacy:
    return Candidacy(
        clients.main,
        clock,
        random,
        namespace=_NAMESPACE,
        name=identity,
        lease=_LEASE,
        binary_version=KUBERNETES_VERSION.removeprefix("v"),
        emulation_version=f"{gates.version}.0",
    )


def make_election(
    config: LeaderElectionConfiguration,
    clients: Clients,
    clock: Clock,
    random: Random,
    *,
    gates: FeatureGates,
    hostname: str,
    recorders: ProfileRecorders,
    metrics: LeaderElectionMetrics,
    on_started_leading: Callable[[], None],
    on_lost: Callable[[], None],
) -> tuple[LeaderElector, Candidacy | None]:
    """With a candidacy where the API server holds the election (CoordinatedLeaderElection).

    Raises ConfigurationError for a timing with which two could lead at once.
    """
    identity = default_identity(hostname, random)
    coordinated = gates.enabled("CoordinatedLeaderElection")
    timing = ElectionTiming(
        lease_duration=config.lease_duration.total_seconds(),
        renew_deadline=config.renew_deadline.total_seconds(),
        retry_period=config.retry_period.total_seconds(),
    )
    lock = LeaseLock(
        clients.client(time_limit=timing.renew_deadline / 2),  # as NewFromKubeconfig: one request may be tried twice
        namespace=config.resource_namespace,
        name=config.resource_name,
        identity=identity,
    )
    status = metrics.master_status.labels(config.resource_name)
    slow_renewals = metrics.slowpath.labels(config.resource_name)

    def started() -> None:
        status.set(1.0)
        on_started_leading()

    def seen(identity: str) -> None:
        if identity and identity != lock.identity:
            log.info("New leader elected", identity=identity)

    candidacy = _make_candidacy(clients, clock, random, gates, identity) if coordinated else None
    elector = LeaderElector(
        lock,
        timing,
        clock,
        random,
        coordinated=coordinated,
        on_started_leading=started,
        on_stopped_leading=lambda: status.set(0.0),
        on_lost=on_lost,
        on_new_leader=seen,
        on_slow_renewal=slow_renewals.inc,
        on_event=lambda note: recorders.election_event(lock.reference(), note),
    )
    return elector, candidacy
