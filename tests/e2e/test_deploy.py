"""The manifests of `deploy/`, on a real API server: they are accepted, and what they allow is enough."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually

DEPLOY = Path(__file__).parents[2] / "deploy"
STRICTLY = ("--server-side", "--validate=strict")


@pytest.fixture
def second_scheduler(real_cluster: RealControlPlane) -> Iterator[RealControlPlane]:
    """A cluster that the manifests of the second scheduler were applied to."""
    real_cluster.kubectl("apply", *STRICTLY, "-k", str(DEPLOY / "second-scheduler"))
    yield real_cluster
    real_cluster.kubectl("delete", "--wait=false", "-k", str(DEPLOY / "second-scheduler"))


def test_the_static_pod_is_accepted(real_cluster: RealControlPlane) -> None:
    """No field is unknown or refused."""
    said = real_cluster.kubectl(
        "apply", *STRICTLY, "--dry-run=server", "-f", str(DEPLOY / "in-place" / "kube-scheduler.yaml")
    )
    assert "pod/kube-scheduler serverside-applied (server dry run)" in said


def test_the_second_schedulers_account_may_do_all_it_needs(
    second_scheduler: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """With the ConfigMap's configuration and the account's token it leads, schedules, and knows its callers."""
    admin = second_scheduler.admin
    config_map = yaml.safe_load(second_scheduler.kubectl("-n", "kube-system", "get", "cm", "kubesched", "-o", "yaml"))
    config = yaml.safe_load(config_map["data"]["config.yaml"])
    account = admin.get("ServiceAccount", "kubesched", "kube-system")
    token = second_scheduler.tokens.token(account, expires=datetime.now(UTC) + timedelta(hours=1))
    kubeconfig = second_scheduler.kubeconfig("second-scheduler", {"token": token})
    flags = [f"--{purpose}-kubeconfig={kubeconfig}" for purpose in ("authentication", "authorization")]

    admin.create(node("n1"))
    scheduler = start_scheduler("second", config=config, kubeconfig=kubeconfig, flags=flags)
    admin.create_all([pod("ours", schedulerName="kubesched"), pod("others")])
    eventually(lambda: admin.node_of("ours"), "the pod is placed")
    eventually(lambda: "Scheduled" in [event["reason"] for event in admin.list("Event")], "its event is written")
    assert not admin.node_of("others")
    lease = admin.get("Lease", "kubesched", "kube-system")
    assert lease["spec"]["holderIdentity"]

    with_certificate = second_scheduler.client(f"https://127.0.0.1:{scheduler.port}")
    assert "scheduler_schedule_attempts_total" in with_certificate.call("GET", "/metrics")["text"]
    with_certificate.close()
    assert "forbidden" not in scheduler.log
