"""What a scheduler writes comes back as events, as from an API server."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.errors import ApiStatusError
from kubesched.objects import PersistentVolumeClaim, Pod
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo, NominatingMode, ObjectStores
from kubesched.testing import make_pod, make_pvc


class Handlers:
    """Stores what it is told, and remembers it."""

    def __init__(self, objects: ObjectStores) -> None:
        self.objects = objects
        self.told: list[str] = []

    def add(self, obj: Any) -> None:
        self.told.append(f"added {obj.metadata.name}")
        self.objects.of(type(obj)).set(obj)

    def update(self, old: Any, new: Any) -> None:
        assert old.metadata.resource_version != new.metadata.resource_version
        self.told.append(f"updated {new.metadata.name}")
        self.objects.of(type(new)).set(new)

    def delete(self, obj: Any) -> None:
        self.told.append(f"deleted {obj.metadata.name}")
        self.objects.of(type(obj)).remove(obj)


@pytest.fixture
def handlers() -> Handlers:
    return Handlers(ObjectStores())


@pytest.fixture
def api(handlers: Handlers) -> MemoryApi:
    api = MemoryApi()
    api.connect(handlers.objects, handlers)
    return api


def current(handlers: Handlers) -> Pod:
    pod = handlers.objects.of(Pod).get("web", "default")
    assert pod is not None
    return pod


async def test_binding(api: MemoryApi, handlers: Handlers) -> None:
    """Once, the pod that is meant, and only if it is there."""
    with pytest.raises(ApiStatusError, match="404"):
        await api.bind(make_pod("web"), "n1")
    await api.create(make_pod("web"))
    with pytest.raises(ApiStatusError, match="recreated"):
        await api.bind(make_pod("web", uid="another"), "n1")
    await api.bind(make_pod("web"), "n1")
    assert current(handlers).spec.node_name == "n1"
    with pytest.raises(ApiStatusError, match="already assigned to node n1"):
        await api.bind(make_pod("web"), "n2")
    assert handlers.told == ["added web", "updated web"]


async def test_statuses(api: MemoryApi, handlers: Handlers) -> None:
    """A condition replaces that of its type; what changes nothing is no event."""
    await api.create(make_pod("web"))
    pod = make_pod("web")
    first, second = (PodCondition(type="PodScheduled", status="False", message=text) for text in ("a", "b"))
    await api.patch_pod_status(pod, first, NominatingInfo("n1"))
    await api.patch_pod_status(pod, first, NominatingInfo("", NominatingMode.NOOP))
    await api.patch_pod_status(pod, second, None)
    assert current(handlers).status.conditions == (second,)
    assert current(handlers).status.nominated_node_name == "n1"
    await api.patch_pod_status(pod, None, NominatingInfo(""))
    assert current(handlers).status.nominated_node_name == ""
    assert handlers.told == ["added web", "updated web", "updated web", "updated web"]


async def test_deleting(api: MemoryApi, handlers: Handlers) -> None:
    """The pod that is meant; it is no error if it is gone."""
    await api.create(make_pod("web"))
    await api.delete_pod(make_pod("web", uid="another"))
    await api.delete_pod(make_pod("web"))
    await api.delete_pod(make_pod("web"))
    assert handlers.told == ["added web", "deleted web"]


async def test_patching(api: MemoryApi, handlers: Handlers) -> None:
    """A JSON merge patch: null removes, objects are merged."""
    claim = make_pvc("data")
    await api.create(claim)
    body = {"metadata": {"annotations": {"a": "b"}}, "spec": {"volumeName": "v1"}}
    patched = await api.patch(PersistentVolumeClaim, "data", body, namespace="default")
    assert patched.spec.volume_name == "v1"
    body = {"metadata": {"annotations": {"a": None}}}
    patched = await api.patch(PersistentVolumeClaim, "data", body, namespace="default")
    assert (patched.metadata.annotations, patched.spec.volume_name) == ({}, "v1")
    await api.delete(PersistentVolumeClaim, "data", namespace="default")
    with pytest.raises(ApiStatusError, match="404"):
        await api.delete(PersistentVolumeClaim, "data", namespace="default")
