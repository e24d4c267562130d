"""Go's kube-scheduler, with its own defaults, schedules pods on the embedded API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.real_server import find_assets

from kubesched.cluster.apiserver.server import ApiServer
from kubesched.cluster.apiserver.verbs.watching import Watch
from kubesched.objects.base import Json


def node(name: str) -> Json:
    status = {
        "capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": status}


def pod(name: str, cpu: str, **spec: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def wait_until(watch: Watch, happened: Callable[[], bool]) -> None:
    if not happened():
        async for _ in watch.changes():
            if happened():
                return


@pytest.mark.e2e
async def test_pods_are_scheduled(tmp_path: Path) -> None:
    """Over TLS, with a token, in protobuf, under leader election; what does not fit gets its condition and event."""
    assets = find_assets()
    if assets is None or not (assets / "kube-scheduler").exists():
        pytest.skip("no kube-scheduler on this machine")
    server = ApiServer()
    await server.start()
    api = server.api
    pods, events = api.catalog.named("pods"), api.catalog.named("events")
    for name in ("n1", "n2"):
        api.create(api.catalog.named("nodes"), node(name))
    for index in range(4):
        api.create(pods, pod(f"p{index}", "900m"), "default")
    api.create(pods, pod("large", "8"), "default")
    server.write_kubeconfig(tmp_path / "config")
    command = [str(assets / "kube-scheduler"), f"--kubeconfig={tmp_path / 'config'}", "--secure-port=0"]
    command.append("--authentication-skip-lookup")
    scheduler = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(120):
            await wait_until(api.watch(events), lambda: len(api.list(events, "default").entries) >= 5)
            refused = b'"Unschedulable"'
            await wait_until(api.watch(pods), lambda: refused in api.reader.get(pods, "large", "default").raw)
    finally:
        scheduler.terminate()
        await scheduler.wait()
    placed = [entry.fields["spec.nodeName"] for entry in api.list(pods).entries if entry.name != "large"]
    assert sorted(placed) == ["n1", "n1", "n2", "n2"]
    await server.stop()
