"""Several replicas, of which one acts."""

from __future__ import annotations

import signal
from datetime import datetime

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually
from tests.e2e.scheduler import LEASE_SECONDS, RETRY_SECONDS
from tests.e2e.test_faults import assert_placed_once

LEASE = "kube-scheduler"
# How late a standby may be on a busy machine.
SLACK_SECONDS = 10.0


def holder(real_cluster: RealControlPlane) -> str:
    """Who holds the lease; empty when nobody does."""
    leases = {lease["metadata"]["name"]: lease for lease in real_cluster.admin.list("Lease", "kube-system")}
    name: str = leases.get(LEASE, {"spec": {}})["spec"].get("holderIdentity", "")
    return name


def noted_at(real_cluster: RealControlPlane, what: str) -> float:
    """A moment that the lease's holder noted: `renewTime` or `acquireTime`."""
    lease = real_cluster.admin.get("Lease", LEASE, "kube-system")
    return datetime.fromisoformat(lease["spec"][what]).timestamp()


def test_a_standby_takes_over_from_a_killed_leader(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Killed in the middle of its bindings: the other one leads as soon as the lease is over, and finishes them."""
    admin, count = real_cluster.admin, 400
    admin.create_all(node(f"n{number}") for number in range(5))
    admin.create_all(pod(f"p{number}", cpu="10m") for number in range(count))
    leader = start_scheduler("leader", config={"elect": True, "qps": 5}, ready=False)
    first = eventually(lambda: holder(real_cluster), "the first one leads")
    start_scheduler("standby", config={"elect": True, "qps": 300})
    eventually(admin.placements, "the leader has begun", every=0.02)
    leader.kill()
    renewed = noted_at(real_cluster, "renewTime")
    assert holder(real_cluster) == first
    assert len(admin.placements()) < count, "the leader was killed too late for this test"
    eventually(lambda: holder(real_cluster) not in ("", first), "the other one leads", every=0.02)
    waited = noted_at(real_cluster, "acquireTime") - renewed
    # The retry period is stretched by up to 120 %, so that two standbys do not ask in step.
    assert LEASE_SECONDS <= waited < LEASE_SECONDS + 2.2 * RETRY_SECONDS + SLACK_SECONDS
    eventually(lambda: len(admin.placements()) == count, "all pods are bound", every=0.2)
    assert_placed_once(real_cluster, count, pods_per_node=110)


def test_a_leader_that_is_asked_to_stop_leaves_order_behind(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """SIGTERM during bindings: exit code 0, the lease given back, each pod either bound or free for the next one."""
    admin, count = real_cluster.admin, 500
    admin.create_all(node(f"n{number}") for number in range(5))
    admin.create_all(pod(f"p{number}", cpu="10m") for number in range(count))
    leader = start_scheduler("leader", config={"elect": True, "qps": 20}, ready=False)
    eventually(lambda: len(admin.placements()) > 20, "some pods are bound", every=0.02)
    leader.signal(signal.SIGTERM)
    assert leader.wait() == 0
    assert holder(real_cluster) == ""
    assert 20 < len(admin.placements()) < count

    start_scheduler("next", config={"elect": True, "qps": 300})
    eventually(lambda: len(admin.placements()) == count, "all pods are bound", every=0.2)
    assert_placed_once(real_cluster, count, pods_per_node=110)


def test_a_leader_without_its_lease_ends_at_once(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Somebody else took the lease while it was stopped: it notices, and exits with code 1."""
    leader = start_scheduler("leader", config={"elect": True})
    eventually(lambda: holder(real_cluster), "it leads")
    leader.signal(signal.SIGSTOP)
    taken = {"holderIdentity": "usurper", "leaseDurationSeconds": 60}
    real_cluster.admin.patch("Lease", LEASE, {"spec": taken}, "kube-system")
    leader.signal(signal.SIGCONT)
    assert leader.wait() == 1
    assert "Leaderelection lost" in leader.log


def test_without_election_a_stop_is_an_error(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """As kube-scheduler: it was not meant to end."""
    scheduler = start_scheduler()
    scheduler.signal(signal.SIGTERM)
    assert scheduler.wait() == 1
    assert "finished without leader elect" in scheduler.log


def test_the_server_chooses_among_candidates(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """CoordinatedLeaderElection: the older of two versions leads; when it is gone, the other one does."""
    admin = real_cluster.admin
    admin.create(node("n1"))
    coordinated = "--feature-gates=CoordinatedLeaderElection=true"
    new = start_scheduler("new", config={"elect": True}, flags=[coordinated], ready=False)
    first = eventually(lambda: holder(real_cluster), "the only candidate is chosen")
    # It looks every other second: chosen and dismissed in between, it would never know, and go on standing.
    eventually(lambda: "Successfully acquired lease" in new.log, "it leads")
    emulating = [coordinated, "--emulated-version=1.35"]
    old = start_scheduler("old", config={"elect": True}, flags=emulating, ready=False)
    eventually(lambda: len(admin.list("LeaseCandidate", "kube-system")) == 2, "both stand")
    assert new.wait() == 1, "its term is over"
    eventually(lambda: holder(real_cluster) not in ("", first), "the older version leads")
    admin.create(pod("p", cpu="10m"))
    eventually(lambda: admin.node_of("p"), "it schedules")
    old.stop()
