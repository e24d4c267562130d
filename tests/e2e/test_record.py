"""`kubesched record` as a process beside API servers: it reads only, and survives their restarts and its own end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import SCHEDULER_USER, ControlPlane, RealControlPlane, clean_environment
from tests.e2e.manifests import node, pod
from tests.e2e.processes import Process, eventually

from kubesched.objects import Node, Pod
from kubesched.traces import Decision, DecisionType, Gap, Trace

RBAC = Path(__file__).parents[2] / "deploy" / "record" / "rbac.yaml"
StartRecording = Callable[[Path, Path], Process]


@pytest.fixture
def start_recording() -> Iterator[StartRecording]:
    """Starts `kubesched record` with a kubeconfig, into a file, and waits until it has begun."""
    started: list[Process] = []

    def start(kubeconfig: Path, path: Path) -> Process:
        command = [sys.executable, "-m", "kubesched", "record", f"--kubeconfig={kubeconfig}", "-o", str(path)]
        process = Process(command, path.with_suffix(".log"), clean_environment())
        started.append(process)
        eventually(lambda: path.exists() or not process.is_running, "the recording begins")
        assert process.is_running, process.log
        return process

    yield start
    for process in started:
        if process.is_running:
            process.kill()


@pytest.fixture
def reader(real_cluster: RealControlPlane) -> Iterator[Path]:
    """The kubeconfig of the account that deploy/record makes: it may only list and watch."""
    real_cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", str(RBAC))
    account = real_cluster.admin.get("ServiceAccount", "kubesched-record", "kube-system")
    token = real_cluster.tokens.token(account, expires=datetime.now(UTC) + timedelta(hours=1))
    yield real_cluster.kubeconfig("record", {"token": token})
    real_cluster.kubectl("delete", "--wait=false", "-f", str(RBAC))


def pods_in(path: Path) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.node_name for pod in Trace.open(path).state_at().of(Pod)}


def test_killed_at_any_moment_the_file_is_readable(
    cluster: ControlPlane, start_recording: StartRecording, tmp_path: Path
) -> None:
    """kill -9: everything up to the last second is there, and nothing that was not."""
    path = tmp_path / "t.jsonl.zst"
    cluster.admin.create(node("n1"))
    process = start_recording(cluster.kubeconfig(SCHEDULER_USER), path)
    cluster.admin.create_all(pod(f"p{number}") for number in range(50))
    eventually(lambda: len(pods_in(path)) == 50, "all pods are in the file, while it is written", every=0.2)
    process.signal(signal.SIGKILL)
    process.wait()
    trace = Trace.open(path)
    state = trace.state_at()
    assert {found.metadata.name for found in state.of(Pod)} == {f"p{number}" for number in range(50)}
    assert [found.name for found in state.of(Node)] == ["n1"]
    assert "cut off" in trace.notes[0]


def test_the_role_in_deploy_suffices_and_decisions_are_seen(
    real_cluster: RealControlPlane,
    reader: Path,
    start_scheduler: StartScheduler,
    start_recording: StartRecording,
    tmp_path: Path,
) -> None:
    """With list and watch alone: arrivals, a pod that does not fit, and bindings, each to the node it really got."""
    path, admin = tmp_path / "t.jsonl.zst", real_cluster.admin
    admin.create_all(node(f"n{number}", cpu="4") for number in range(3))
    process = start_recording(reader, path)
    start_scheduler()
    admin.create_all([*(pod(f"p{number}", cpu="1") for number in range(6)), pod("huge", cpu="100")])
    eventually(lambda: sum(map(bool, admin.placements().values())) == 6, "six pods are bound")
    eventually(lambda: sum(map(bool, pods_in(path).values())) == 6, "the file has it", every=0.2)
    assert process.stop() == 0, process.log
    trace = Trace.open(path)
    decisions = [entry for entry in trace if isinstance(entry, Decision)]
    bound = {entry.pod: entry.node for entry in decisions if entry.type is DecisionType.BOUND}
    assert bound == {f"default/{name}": place for name, place in admin.placements().items() if place}
    assert any(e.type is DecisionType.UNSCHEDULABLE and "Insufficient cpu" in e.message for e in decisions)
    assert trace.ended is not None
    assert not trace.notes
    assert "forbidden" not in process.log


def test_an_api_server_that_dies_leaves_a_gap_and_a_whole_state(
    real_cluster: RealControlPlane, start_recording: StartRecording, tmp_path: Path
) -> None:
    """Killed, its history compacted, and started again: what happened meanwhile is in the state after the gap."""
    path, admin = tmp_path / "t.jsonl.zst", real_cluster.admin
    admin.create_all([node("n1"), pod("before"), pod("goes")])
    process = start_recording(real_cluster.admin_kubeconfig, path)
    real_cluster.kill_api_server()
    real_cluster.start_api_server()
    admin.delete("Pod", "goes")
    admin.create(pod("after"))
    real_cluster.compact()
    expected = {"before", "after"}
    eventually(lambda: set(pods_in(path)) == expected, "the trace has caught up", every=0.5)
    admin.create(pod("later"))
    eventually(lambda: set(pods_in(path)) == {*expected, "later"}, "and goes on", every=0.5)
    assert process.stop() == 0, process.log
    gaps = [entry for entry in Trace.open(path) if isinstance(entry, Gap)]
    assert "Pod" in {gap.kind for gap in gaps}
    assert all(gap.since <= gap.time for gap in gaps)
