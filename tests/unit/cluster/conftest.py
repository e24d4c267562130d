"""A cluster in memory on a virtual clock: API, simulated kubelets, controllers, and a stand-in for the scheduler."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import yaml

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.storage import Store
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.manager import ControllerManager
from kubesched.cluster.controllers.table import make_controllers
from kubesched.cluster.informer import Informer
from kubesched.cluster.kubelet.kubelets import SimulatedKubelets
from kubesched.cluster.kubelet.node_shapes import make_nodes
from kubesched.cluster.kubelet.timings import Timings
from kubesched.cluster.manifests import create_all
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

TIMINGS = Timings(start=0.5, stop=1.0, job_run=5.0, ready_after=1.0, spread=0.0, pull_per_gigabyte=0.0)


class Rig:
    """`advance` lets time pass; every pod that fits its node selector is bound to the emptiest node meanwhile."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.api = Api(store=Store(), clock=self.clock, rng=random.Random(1))
        bootstrap(self.api)
        pods, nodes = Informer(self.api, "pods", PodRecord), Informer(self.api, "nodes", NodeRecord)
        self._kubelets = SimulatedKubelets(self.api, pods, nodes, random.Random(1), TIMINGS)
        self._context = ControllerContext(self.api, pods, nodes)
        self._manager = ControllerManager(self._context, make_controllers(self._context))
        self.schedules = True

    async def run(self) -> None:
        await asyncio.gather(self._kubelets.run(), self._manager.run(), self._schedule())

    def add_nodes(self, count: int) -> None:
        create_all(self.api, (("test", node) for node in make_nodes(count)))

    def apply(self, text: str) -> None:
        """Create the objects of a YAML text; ConfigurationError if the API refuses one."""
        create_all(self.api, (("test", document) for document in yaml.safe_load_all(text)))

    async def advance(self, seconds: float) -> None:
        """In steps, so that what follows from a change happens within the same time as in a real cluster."""
        for _ in range(round(seconds / 0.05)):
            await self.clock.advance(0.05)

    def get(self, resource: str, name: str, namespace: str = "default") -> Json:
        found = self.api.catalog.named(resource)
        return self.api.get(found, name, namespace if found.namespaced else "")

    def items(self, resource: str, namespace: str = "") -> list[Json]:
        page = self.api.list(self.api.catalog.named(resource), namespace)
        return [entry.decode() for entry in page.entries]

    def names(self, resource: str, namespace: str = "default") -> list[str]:
        return [item["metadata"]["name"] for item in self.items(resource, namespace)]

    def change(self, resource: str, name: str, change: Callable[[Json], Any], namespace: str = "default") -> None:
        def changed(value: Json) -> Json:
            change(value)
            return value

        found = self.api.catalog.named(resource)
        self.api.change(found, name, namespace if found.namespaced else "", changed)

    def reasons(self, name: str) -> list[str]:
        """The reasons of the events about an object."""
        return [item["reason"] for item in self.items("events") if item["involvedObject"]["name"] == name]

    async def _schedule(self) -> None:
        while True:
            for pod in self.items("pods") if self.schedules else ():
                if not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp"):
                    self._bind(pod)
            await self.clock.sleep(0.1)

    def _bind(self, pod: Json) -> None:
        wanted = _pinned_to(pod)
        nodes = [
            item
            for item in self.items("nodes")
            if wanted in ("", item["metadata"]["name"]) and _accepts(item, bool(wanted))
        ]
        if not nodes:
            return
        counts = [sum(other["spec"].get("nodeName") == name(node) for other in self.items("pods")) for node in nodes]
        target = name(nodes[counts.index(min(counts))])
        metadata = pod["metadata"]
        binding = {"metadata": {"name": metadata["name"]}, "target": {"name": target}}
        try:
            self.api.bind(binding, metadata["name"], metadata["namespace"])
        except RequestRefusedError:
            return  # the next round sees why


def name(item: Json) -> str:
    return str(item["metadata"]["name"])


def _accepts(node: Json, daemon: bool) -> bool:
    spec = node.get("spec") or {}
    return daemon or (not spec.get("unschedulable") and not spec.get("taints"))


def _pinned_to(pod: Json) -> str:
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in affinity.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return ""


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A running cluster with three nodes."""
    rig = Rig()
    rig.add_nodes(3)
    task = asyncio.create_task(rig.run())
    await rig.advance(0.3)
    yield rig
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
