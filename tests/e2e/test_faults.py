"""The API server goes away, forgets, and stops believing us: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.e2e.api_client import ApiClient
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually

from kubesched.objects.base import Json

# So much longer than a token says the API server takes it, since clocks differ.
CLOCK_SKEW = timedelta(minutes=1)


def assert_placed_once(real_cluster: RealControlPlane, pods: int, *, pods_per_node: int) -> None:
    """Every pod has a node, no pod was bound twice, and no node has more pods than it takes."""
    placements = real_cluster.admin.placements()
    assert len(placements) == pods
    nodes = list(placements.values())
    assert max(nodes.count(name) for name in set(nodes)) <= pods_per_node
    assert max(real_cluster.bindings().values()) == 1


def test_the_api_server_dies_in_the_middle_of_a_thousand_bindings(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Killed and started again while bindings are under way: every pod is bound in the end, exactly once."""
    admin, count = real_cluster.admin, 1000
    admin.create_all(node(f"n{number}", pods=110) for number in range(10))
    admin.create_all(pod(f"p{number}", cpu="10m") for number in range(count))
    start_scheduler(config={"qps": 80}, ready=False)  # ten seconds for all of them: time enough to see the middle
    bound = eventually(lambda: (found := len(admin.placements())) > 100 and found, "pods are being bound", every=0.02)
    real_cluster.kill_api_server()
    assert bound < count, "the API server died too late for this test"
    real_cluster.start_api_server()
    eventually(lambda: len(admin.placements()) == count, "all pods are bound", every=0.5)
    assert_placed_once(real_cluster, count, pods_per_node=110)


def test_a_server_that_wants_its_clients_elsewhere_costs_no_binding(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Behind a load balancer, servers ask clients now and then to reconnect, in the middle of their requests."""
    admin, count = real_cluster.admin, 1000
    real_cluster.kill_api_server()
    real_cluster.start_api_server(goaway_chance=0.02)
    try:
        admin.create_all(node(f"n{number}", cpu="100", pods=300) for number in range(5))
        admin.create_all(pod(f"p{number}", cpu="10m") for number in range(count))
        start_scheduler(config={"qps": 5000})
        eventually(lambda: len(admin.placements()) == count, "all pods are bound", every=0.2)
        assert [event["note"] for event in admin.list("Event") if event["reason"] != "Scheduled"] == []
        assert_placed_once(real_cluster, count, pods_per_node=300)
    finally:
        real_cluster.kill_api_server()
        real_cluster.start_api_server()


def test_a_control_plane_boots_as_a_whole(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """The scheduler is there first; then an API server comes that forbids everything until it has read its roles."""
    real_cluster.kill_api_server()
    scheduler = start_scheduler(ready=False)
    eventually(lambda: "Waiting for the API server" in scheduler.log, "the scheduler waits")
    real_cluster.start_api_server()
    scheduler.wait_until_ready()


def test_a_forgotten_version_leads_to_a_fresh_list(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """What happened while nobody watched, and was compacted away, is known all the same."""
    admin = real_cluster.admin
    admin.create_all([node("kept", cpu="2"), node("removed", cpu="64")])
    scheduler = start_scheduler()
    admin.create(pod("first", cpu="1", nodeSelector={"kubernetes.io/hostname": "kept"}))
    eventually(lambda: admin.node_of("first"), "the first pod is placed")

    scheduler.signal(signal.SIGSTOP)
    admin.delete("Pod", "first")
    admin.delete("Node", "removed")
    admin.create(node("added", cpu="2", labels={"new": "yes"}))
    admin.create(pod("on-kept", cpu="2", nodeSelector={"kubernetes.io/hostname": "kept"}))
    admin.create(pod("on-added", cpu="2", nodeSelector={"new": "yes"}))
    admin.create(pod("nowhere", cpu="10"))
    real_cluster.compact()
    real_cluster.kill_api_server()  # with its memory of earlier versions
    real_cluster.start_api_server()
    scheduler.signal(signal.SIGCONT)

    eventually(lambda: admin.placements() == {"on-kept": "kept", "on-added": "added"}, "both pods are placed")
    eventually(lambda: "Watch closed: relisting" in scheduler.log, "versions were gone")
    scheduler.signal(signal.SIGUSR2)
    eventually(lambda: "Cache and informers agree" in scheduler.log, "the state is as after a fresh start")


def test_an_expired_token_is_replaced_by_the_exec_plugin(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """A kubeconfig's credential plugin is asked again when the API server no longer takes its token."""
    admin = real_cluster.admin
    account = scheduler_account(admin)
    tokens, runs = real_cluster.folder / "tokens", real_cluster.folder / "plugin-runs"
    runs.write_text("")
    kubeconfig = real_cluster.kubeconfig("by-plugin", {"exec": plugin(real_cluster.folder, tokens, runs)})
    admin.create(node("n1"))
    now = datetime.now(UTC).replace(microsecond=0)  # tokens expire on full seconds
    expires = now + timedelta(seconds=5)
    short = real_cluster.tokens.token(account, expires=expires - CLOCK_SKEW)
    long = real_cluster.tokens.token(account, expires=now + timedelta(hours=1))
    tokens.write_text(f"{short}\n{long}")
    scheduler = start_scheduler(kubeconfig=kubeconfig)
    numbers = iter(range(10_000))

    def another_pod_needs_another_token() -> bool:
        admin.create(pod(f"p{next(numbers)}", cpu="10m"))
        return not tokens.read_text()

    eventually(another_pod_needs_another_token, "the first token has expired", every=0.5)
    admin.create(pod("after", cpu="10m"))
    eventually(lambda: admin.node_of("after"), "a pod is placed with the second token")
    assert scheduler.is_running
    _, second = (float(moment) for moment in runs.read_text().split())
    assert second >= expires.timestamp(), "the plugin is asked again when its token is over, not before"


def scheduler_account(admin: ApiClient) -> Json:
    """A ServiceAccount that may do what kube-scheduler may."""
    name, namespace = "kubesched", "kube-system"
    admin.delete("ServiceAccount", name, namespace)
    account = admin.create({"kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
    for role in ("system:kube-scheduler", "system:volume-scheduler"):
        binding = f"kubesched-{role.replace(':', '-')}"
        admin.delete("ClusterRoleBinding", binding)
        admin.create(
            {
                "kind": "ClusterRoleBinding",
                "metadata": {"name": binding},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            }
        )
    return account


def plugin(folder: Path, tokens: Path, runs: Path) -> Json:
    """An exec plugin that hands out the tokens in a file, one per run, and notes when it ran."""
    script = folder / "plugin.py"
    script.write_text(
        "import json, pathlib, time\n"
        f"with open({str(runs)!r}, 'a') as runs:\n"
        "    print(time.time(), file=runs)\n"
        f"file = pathlib.Path({str(tokens)!r})\n"
        "token, *rest = file.read_text().splitlines()\n"
        "file.write_text('\\n'.join(rest))\n"
        "status = {'token': token}\n"
        "version = 'client.authentication.k8s.io/v1'\n"
        "print(json.dumps({'apiVersion': version, 'kind': 'ExecCredential', 'status': status}))\n"
    )
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(script)],
        "interactiveMode": "Never",
    }
