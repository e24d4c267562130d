"""The official Python client (`kubernetes` on the package index) works on the embedded API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import kubernetes.client
import kubernetes.config
import kubernetes.watch
import pytest
from kubernetes.client.exceptions import ApiException

from kubesched.testing.api_server_process import ApiServerProcess


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[kubernetes.client.CoreV1Api]:
    """A client that finds server, certificate and token in the kubeconfig file. It may block: nobody else is here."""
    server = await ApiServerProcess.start(tmp_path / "config")
    with kubernetes.config.new_client_from_config(str(tmp_path / "config")) as client:
        yield kubernetes.client.CoreV1Api(client)
        client.rest_client.pool_manager.clear()  # it leaves its connections to the collector otherwise
    await server.stop()


def pod(name: str) -> kubernetes.client.V1Pod:
    container = kubernetes.client.V1Container(
        name="web",
        image="nginx",
        resources=kubernetes.client.V1ResourceRequirements(requests={"cpu": "100m"}),
    )
    return kubernetes.client.V1Pod(
        metadata=kubernetes.client.V1ObjectMeta(name=name, labels={"app": "web"}),
        spec=kubernetes.client.V1PodSpec(containers=[container]),
    )


async def test_pods_from_creation_to_deletion(core: kubernetes.client.CoreV1Api) -> None:
    """Create, read, list by label, patch, bind, delete: what was asked for is what there is."""
    made = core.create_namespaced_pod("default", pod("a"))
    core.create_namespaced_pod("default", pod("b"))
    assert (made.status.phase, made.spec.scheduler_name) == ("Pending", "default-scheduler")
    assert made.metadata.creation_timestamp.tzinfo is not None

    patched = core.patch_namespaced_pod("a", "default", {"metadata": {"labels": {"tier": "front"}}})
    assert patched.metadata.labels == {"app": "web", "tier": "front"}
    listed = core.list_namespaced_pod("default", label_selector="tier=front")
    assert [item.metadata.name for item in listed.items] == ["a"]
    page = core.list_namespaced_pod("default", limit=1)
    rest = core.list_namespaced_pod("default", limit=1, _continue=page.metadata._continue)
    assert [item.metadata.name for item in page.items + rest.items] == ["a", "b"]

    target = kubernetes.client.V1ObjectReference(kind="Node", name="n1")
    binding = kubernetes.client.V1Binding(metadata=kubernetes.client.V1ObjectMeta(name="a"), target=target)
    core.create_namespaced_pod_binding("a", "default", binding, _preload_content=False)
    assert core.read_namespaced_pod("a", "default").spec.node_name == "n1"

    core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_pod("a", "default")
    assert refused.value.status == 404


async def test_nodes_from_creation_to_deletion(core: kubernetes.client.CoreV1Api) -> None:
    """Its own kinds of patches; a stale update is a conflict."""
    core.create_node(kubernetes.client.V1Node(metadata=kubernetes.client.V1ObjectMeta(name="n1")))
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    core.patch_node_status("n1", {"status": {"capacity": capacity, "allocatable": capacity}})
    stale = core.read_node("n1")
    taint = kubernetes.client.V1Taint(key="dedicated", value="gpu", effect="NoSchedule")
    core.patch_node("n1", {"spec": {"unschedulable": True, "taints": [taint]}})
    node = core.read_node("n1")
    assert node.status.allocatable == capacity
    assert (node.spec.unschedulable, node.spec.taints[0].value) == (True, "gpu")
    stale.metadata.labels = {"zone": "a"}
    with pytest.raises(ApiException) as refused:
        core.replace_node("n1", stale)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
    core.delete_node("n1")
    assert core.list_node().items == []


async def test_a_watch_from_a_list(core: kubernetes.client.CoreV1Api) -> None:
    """The client's own loop over typed events."""
    version = core.list_namespaced_pod("default").metadata.resource_version
    core.create_namespaced_pod("default", pod("a"))
    core.patch_namespaced_pod("a", "default", {"metadata": {"annotations": {"seen": "yes"}}})
    core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
    watch = kubernetes.watch.Watch()
    seen = []
    for event in watch.stream(core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watch.stop()
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
