"""What a running scheduler tells: events, metrics, health, its state on a signal."""

from __future__ import annotations

import signal

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually


def test_kubectl_describe_shows_what_happened(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """A pod that had to wait shows both of its events, with who reported them."""
    admin = real_cluster.admin
    start_scheduler()
    admin.create(pod("web", cpu="1"))
    eventually(lambda: admin.list("Event"), "the first event is written")
    admin.create(node("n1"))
    eventually(lambda: admin.node_of("web"), "the pod is placed")
    eventually(lambda: "Scheduled" in [event["reason"] for event in admin.list("Event")], "its last event is written")
    described = " ".join(real_cluster.kubectl("describe", "pod", "web").split())
    assert "Warning FailedScheduling" in described
    assert "default-scheduler no nodes available to schedule pods" in described
    assert "Normal Scheduled" in described
    assert "default-scheduler Successfully assigned default/web to n1" in described


def test_metrics_and_pages_are_for_who_may_read_them(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Health is for everybody; metrics and configuration need a user that the API server lets."""
    admin = real_cluster.admin
    admin.create(node("n1"))
    scheduler = start_scheduler()
    admin.create_all([pod("fits", cpu="1"), pod("too-large", cpu="100")])
    eventually(lambda: "FailedScheduling" in str(admin.list("Event")), "the large pod was tried")
    eventually(lambda: admin.node_of("fits"), "the pod is placed")
    for path, code in (("/healthz", 200), ("/livez", 200), ("/readyz", 200), ("/metrics", 403)):
        assert scheduler.answers(path) == code, path

    with_certificate = real_cluster.client(f"https://127.0.0.1:{scheduler.port}")
    attempts = 'scheduler_schedule_attempts_total{profile="default-scheduler",result='

    def metrics_once_the_binding_is_answered() -> str:
        page: str = with_certificate.call("GET", "/metrics")["text"]
        return page if f'{attempts}"scheduled"}}' in page else ""

    metrics = eventually(metrics_once_the_binding_is_answered, "the binding is counted")
    config = with_certificate.call("GET", "/configz")["componentconfig"]
    with_certificate.close()
    assert f'{attempts}"scheduled"}} 1.0' in metrics
    assert f'{attempts}"unschedulable"}} 1.0' in metrics
    assert 'scheduler_pending_pods{queue="unschedulable"} 1.0' in metrics
    assert 'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1.0' in metrics
    assert 'scheduler_cache_size{type="pods"} 1.0' in metrics
    assert 'scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeResourcesFit"' in metrics
    assert 'scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 1.0' in metrics
    assert "storage.k8s.io" not in metrics, "of kinds without events there are no durations"
    assert config["clientConnection"]["qps"] == 1000


def test_a_signal_logs_cache_queue_and_their_agreement(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """SIGUSR2 shows what the scheduler believes, and that the API server told the same."""
    admin = real_cluster.admin
    admin.create(node("n1"))
    scheduler = start_scheduler()
    admin.create_all([pod("fits", cpu="1"), pod("too-large", cpu="100")])
    eventually(lambda: "FailedScheduling" in str(admin.list("Event")), "both pods were tried")
    eventually(lambda: admin.node_of("fits"), "the pod is placed")
    scheduler.signal(signal.SIGUSR2)
    eventually(lambda: "Cache and informers agree" in scheduler.log, "the state is logged")
    assert "n1: 1 pods: default/fits" in scheduler.log
    assert "default/too-large" in scheduler.log
