"""Informers of a plugin's own and facts fetched over HTTP, in a scheduler that runs beside an API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec.structs import replace
from tests.integration.test_run_process import Scene, running, scene, until

from kubesched.config import load_config
from kubesched.framework import ConfigMap, ObjectMeta
from kubesched.testing import make_node, make_pod

__all__ = ["scene"]

PLUGIN = """
from kubesched.framework import ClusterEvent, ConfigMap, CustomObject, CustomResource, EventHint, FilterPlugin, Status


class Window(CustomObject):
    resource = CustomResource("example.com/v1", "windows")  # no server here has it


class Tickets(FilterPlugin):
    name = "Tickets"

    def __init__(self, args, handle):
        self._maps = handle.informer(ConfigMap, namespace="kube-system")
        self._windows = handle.informer(Window)
        self._prices = handle.fetch(args["url"], every=0.05)
        self._version = handle.fetch("/version", every=60)

    def filter(self, state, pod, node):
        if (self._prices.value or {}).get(node.name, 100) > 10 or not self._version.value["major"]:
            return Status.unschedulable("too expensive")
        return None if self._maps.get(node.name, "kube-system") else Status.unschedulable("no ticket")

    def events_to_register(self):
        return [EventHint(ClusterEvent.of(ConfigMap)), EventHint(self._prices.event)]
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: "tickets_plugin:Tickets"}]}}
  pluginConfig: [{name: "tickets_plugin:Tickets", args: {url: URL}}]
"""


async def test_config_maps_and_prices_decide(scene: Scene, tmp_path: Path) -> None:
    """A pod waits for a ticket and for a price, and is placed as soon as both are there."""
    price = b'{"n1": 50}'

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(price), price))
        await writer.drain()
        writer.close()

    prices = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{prices.sockets[0].getsockname()[1]}/prices"
    (tmp_path / "tickets_plugin.py").write_text(PLUGIN)
    base = scene.config()
    config = replace(
        load_config(CONFIG.replace("URL", url)),
        client_connection=base.client_connection,
        leader_election=base.leader_election,
    )
    await scene.rest.create(make_node("n1", cpu="4"))
    async with prices, running(scene.process(config, tmp_path)):
        await scene.rest.create(make_pod("web", cpu="1", image="pause"))
        await until(lambda: _is_rejected(scene, "too expensive"))
        price = b'{"n1": 5}'
        await until(lambda: _is_rejected(scene, "no ticket"))
        await scene.rest.create(ConfigMap(metadata=ObjectMeta(name="n1", namespace="kube-system")))
        await until(lambda: scene.placed("web"))


async def _is_rejected(scene: Scene, reason: str) -> bool:
    pod = await scene.rest.get(type(make_pod("x")), "web", "default")
    return any(reason in condition.message for condition in pod.status.conditions)
