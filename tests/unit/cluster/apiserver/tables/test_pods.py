"""What `kubectl get pods` says of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.apiserver.tables.pods import PODS
from kubesched.objects.base import Json

NOW = 1_700_000_000.0


def pod(status: Json, *, deleted: bool = False, **spec: Any) -> Json:
    metadata = {"name": "p", "creationTimestamp": "2023-11-14T22:13:10Z"}
    if deleted:
        metadata["deletionTimestamp"] = "2023-11-14T22:13:15Z"
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}, "status": status}


def container(state: Json, **more: Any) -> Json:
    return {"name": "c", "state": state, **more}


RUNNING = {"phase": "Running", "containerStatuses": [container({"running": {}}, ready=True)]}


@pytest.mark.parametrize(
    ("value", "ready", "status", "restarts"),
    [
        pytest.param(pod({"phase": "Pending"}), "0/1", "Pending", "0", id="pending"),
        pytest.param(pod(RUNNING), "1/1", "Running", "0", id="running"),
        pytest.param(pod(RUNNING, deleted=True), "1/1", "Terminating", "0", id="terminating"),
        pytest.param(pod(RUNNING | {"reason": "NodeLost"}, deleted=True), "1/1", "Unknown", "0", id="lost"),
        pytest.param(pod({"phase": "Failed", "reason": "Evicted"}), "0/1", "Evicted", "0", id="a reason of its own"),
        pytest.param(
            pod({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            "0/1",
            "SchedulingGated",
            "0",
            id="gated",
        ),
        pytest.param(
            pod({"phase": "Pending", "containerStatuses": [container({"waiting": {"reason": "ErrImagePull"}})]}),
            "0/1",
            "ErrImagePull",
            "0",
            id="waiting",
        ),
        pytest.param(
            pod({"phase": "Succeeded", "containerStatuses": [container({"terminated": {"reason": "Completed"}})]}),
            "0/1",
            "Completed",
            "0",
            id="completed",
        ),
        pytest.param(
            pod({"phase": "Failed", "containerStatuses": [container({"terminated": {"exitCode": 3}})]}),
            "0/1",
            "ExitCode:3",
            "0",
            id="an exit code",
        ),
        pytest.param(
            pod(
                {
                    "phase": "Running",
                    "containerStatuses": [
                        container(
                            {"running": {}},
                            ready=True,
                            restartCount=2,
                            lastState={"terminated": {"finishedAt": "2023-11-14T22:13:15Z"}},
                        )
                    ],
                }
            ),
            "1/1",
            "Running",
            "2 (5s ago)",
            id="restarted",
        ),
        pytest.param(
            pod(
                {"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]},
                initContainers=[{"name": "i"}, {"name": "j"}],
            ),
            "0/1",
            "Init:0/2",
            "0",
            id="initializing",
        ),
        pytest.param(
            pod(
                RUNNING
                | {"initContainerStatuses": [{"name": "s", "started": True, "ready": True, "state": {"running": {}}}]},
                initContainers=[{"name": "s", "restartPolicy": "Always"}],
            ),
            "2/2",
            "Running",
            "0",
            id="a sidecar counts",
        ),
    ],
)
def test_status(value: Json, ready: str, status: str, restarts: str) -> None:
    """Ready containers, one word and restarts."""
    assert PODS.row(value, NOW)[:5] == ["p", ready, status, restarts, "10s"]


def test_wide() -> None:
    """Address, node and gates."""
    value = pod(
        RUNNING | {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "x", "status": "True"}]},
        nodeName="n1",
        readinessGates=[{"conditionType": "x"}, {"conditionType": "y"}],
    )
    assert PODS.row(value, NOW)[5:] == ["10.0.0.1", "n1", "<none>", "1/2"]
