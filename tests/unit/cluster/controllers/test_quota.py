"""Resource quotas: what is used, and who is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


def quota(**spec: Any) -> Json:
    return {"metadata": {"name": "q"}, "spec": spec}


def pod(name: str, *, requests: Json | None = None, limits: Json | None = None, **spec: Any) -> Json:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec},
    }


def create(rig: Any, resource: str, value: Json) -> None:
    rig.api.create(rig.api.catalog.named(resource), value, "default")


DISK = {
    "metadata": {"name": "disk"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "5Gi"}},
    },
}


@pytest.mark.parametrize(
    ("hard", "objects", "used"),
    [
        pytest.param(
            {"pods": "9", "cpu": "4", "requests.memory": "4Gi", "limits.cpu": "8", "count/pods": "20"},
            [
                ("pods", pod("a", requests={"cpu": "500m", "memory": "1Gi"}, limits={"cpu": "1"})),
                ("pods", pod("b", requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "2"})),
            ],
            {"pods": "2", "cpu": "1500m", "requests.memory": "2Gi", "limits.cpu": "3", "count/pods": "2"},
            id="pods and what they ask for",
        ),
        pytest.param(
            {"requests.example.com/gpu": "8"},
            [("pods", pod("a", limits={"example.com/gpu": "2"}))],
            {"requests.example.com/gpu": "2"},
            id="extended resources",
        ),
        pytest.param(
            {
                "persistentvolumeclaims": "5",
                "requests.storage": "1Ti",
                "fast.storageclass.storage.k8s.io/requests.storage": "10Gi",
                "slow.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
            },
            [("persistentvolumeclaims", DISK)],
            {
                "persistentvolumeclaims": "1",
                "requests.storage": "5Gi",
                "fast.storageclass.storage.k8s.io/requests.storage": "5Gi",
                "slow.storageclass.storage.k8s.io/persistentvolumeclaims": "0",
            },
            id="claims, also by class",
        ),
        pytest.param(
            {"services": "3", "services.nodeports": "3", "count/services": "3", "configmaps": "9"},
            [
                ("services", {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
                ("configmaps", {"metadata": {"name": "m"}}),
            ],
            {"services": "1", "services.nodeports": "1", "count/services": "1", "configmaps": "1"},
            id="other objects",
        ),
    ],
)
async def test_the_status_says_what_is_used(rig: Any, hard: Json, objects: list[tuple[str, Json]], used: Json) -> None:
    """And goes back to nothing when the objects are gone."""
    create(rig, "resourcequotas", quota(hard=hard))
    empty = rig.items("services", "default")  # the API server's own
    for resource, value in objects:
        create(rig, resource, value)
    await rig.advance(1)
    status = rig.get("resourcequotas", "q")["status"]
    assert status["hard"] == hard
    own = {name: str(len(empty)) for name in ("services", "count/services") if name in hard}
    assert {name: amount for name, amount in status["used"].items() if name not in own} == {
        name: amount for name, amount in used.items() if name not in own
    }
    for resource, value in objects:
        rig.api.delete(rig.api.catalog.named(resource), value["metadata"]["name"], "default")
    await rig.advance(3)
    left = rig.get("resourcequotas", "q")["status"]["used"]
    assert left == dict.fromkeys(hard, "0") | own


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        pytest.param(
            {"hard": {"pods": "1"}},
            pod("b"),
            'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
            id="one pod too many",
        ),
        pytest.param(
            {"hard": {"requests.cpu": "2", "limits.cpu": "9"}},
            pod("b", requests={"cpu": "1500m"}, limits={"cpu": "2"}),
            'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=1, '
            "limited: requests.cpu=2",
            id="too much of a resource",
        ),
        pytest.param(
            {"hard": {"requests.cpu": "2", "limits.memory": "1Gi"}},
            pod("b"),
            'pods "b" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
            id="a pod that does not say how much",
        ),
        pytest.param({"hard": {"pods": "1"}, "scopes": ["BestEffort"]}, pod("b"), "", id="none in its scope yet"),
        pytest.param(
            {
                "hard": {"pods": "0"},
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                },
            },
            pod("b"),
            "",
            id="of another priority class",
        ),
        pytest.param(
            {"hard": {"pods": "0"}, "scopes": ["NotTerminating"]},
            pod("b"),
            'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
            id="a scope that it is in",
        ),
    ],
)
async def test_a_pod_without_room_is_refused(rig: Any, spec: Json, value: Json, message: str) -> None:
    """In the words of kube-apiserver; one pod that asks for a CPU is there already."""
    create(rig, "pods", pod("a", requests={"cpu": "1"}, limits={"cpu": "1"}, activeDeadlineSeconds=600))
    create(rig, "resourcequotas", quota(**spec))
    await rig.advance(1)
    if not message:
        create(rig, "pods", value)
        return
    with pytest.raises(RequestRefusedError) as refused:
        create(rig, "pods", value)
    assert (refused.value.code, refused.value.message) == (403, message)


async def test_a_replica_set_goes_on_when_there_is_room(rig: Any) -> None:
    """Refusals are events, and a larger quota is enough."""
    rig.add_nodes(1)
    create(rig, "resourcequotas", quota(hard={"pods": "2"}))
    await rig.advance(1)
    template = {"metadata": {"labels": {"app": "w"}}, "spec": pod("w")["spec"]}
    spec = {"replicas": 4, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    create(rig, "replicasets.apps", {"metadata": {"name": "w"}, "spec": spec})
    await rig.advance(3)
    assert len(rig.names("pods")) == 2
    assert "FailedCreate" in rig.reasons("w")
    rig.change("resourcequotas", "q", lambda value: value["spec"]["hard"].update(pods="9"))
    await rig.advance(90)
    assert len(rig.names("pods")) == 4
    assert rig.get("resourcequotas", "q")["status"]["used"] == {"pods": "4"}


async def test_finished_pods_use_nothing(rig: Any) -> None:
    """But they are still counted as objects."""
    rig.add_nodes(1)
    create(rig, "resourcequotas", quota(hard={"pods": "1", "count/pods": "5"}))
    done = pod("done", restartPolicy="Never")
    done["metadata"]["annotations"] = {"kubesched.io/run-seconds": "1"}
    create(rig, "pods", done)
    await rig.advance(5)
    assert rig.get("resourcequotas", "q")["status"]["used"] == {"pods": "0", "count/pods": "1"}
