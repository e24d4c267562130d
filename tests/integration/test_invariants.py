"""What must never happen, through the whole scheduler with an API server that fails, hangs and forgets to answer.

No node is overcommitted, no pod is bound twice, and no pod is lost: each one waits in the queue, is being tried or
bound, is bound, or is gone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock, utc
from kubesched.config import FeatureGates, default_config
from kubesched.errors import ApiStatusError, TransportError
from kubesched.objects import Node, Pod
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import NominatingInfo
from kubesched.testing.builders import ZONE_LABEL, make_node, make_pod
from kubesched.testing.recording import RecordingRecorder

STEPS = 150
GATES = FeatureGates()
CONFIG = default_config(GATES)


class FaultyApi(MemoryApi):
    """Binds that fail before or after they happened, that take their time or hang; statuses that cannot be written."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__()
        self._clock = clock
        self._random = random
        self.is_healthy = False
        self.binding: set[str] = set()
        self.bound: Counter[str] = Counter()
        self.conflicts = 0

    async def bind(self, pod: Pod, node_name: str) -> None:
        assert pod.metadata.uid not in self.binding, "two bindings of one pod at a time"
        self.binding.add(pod.metadata.uid)
        try:
            await self._bind(pod, node_name)
        finally:
            self.binding.discard(pod.metadata.uid)

    async def _bind(self, pod: Pod, node_name: str) -> None:
        fate = "well" if self.is_healthy else self._random.choice(("well", "well", "late", "lost", "refused", "hangs"))
        if fate == "refused":
            raise TransportError("connection refused")
        if fate == "late":
            await self._clock.sleep(5)
        if fate == "hangs":
            await self._clock.sleep(60)
            raise TransportError("no answer")
        try:
            await super().bind(pod, node_name)
        except ApiStatusError as error:
            self.conflicts += error.code == 409
            raise
        self.bound[pod.metadata.uid] += 1
        if fate == "lost":
            raise TransportError("the answer was lost")

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        if not self.is_healthy and self._random.random() < 0.2:
            raise TransportError("connection reset")
        await super().patch_pod_status(pod, condition, nominating)


class Driver:
    """A cluster with churn."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = VirtualClock()
        self.api = FaultyApi(self.clock, Random(seed + 1000))
        dependencies = Dependencies(
            api=self.api, recorder=RecordingRecorder(), clock=self.clock, random=Random(seed + 2000)
        )
        self.parts: Assembled = build_scheduler(CONFIG, GATES, dependencies)
        self.api.connect(self.parts.objects, self.parts.handlers)
        self.serial = 0
        self.steps = (
            (8, self.pod_comes),
            (2, self.pod_goes),
            (1, self.pod_is_being_deleted),
            (1, self.node_changes),
            (1, self.node_goes),
            (2, self.node_comes),
            (3, self.time_passes),
        )

    @property
    def pods(self) -> list[Pod]:
        return list(self.parts.objects.of(Pod))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.parts.scheduler.run()), asyncio.create_task(self.parts.queue.run())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await self.parts.scheduler.tasks.stop(0)
            await asyncio.gather(*tasks, return_exceptions=True)

    async def step(self) -> None:
        weights = [weight for weight, _ in self.steps]
        await self.random.choices([act for _, act in self.steps], weights)[0]()
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)

    # what happens

    async def pod_comes(self) -> None:
        self.serial += 1
        more: dict[str, Any] = self.random.choice(
            (
                {},
                {"priority": 100},
                {"host_ports": [80]},
                {"labels": {"app": "spread"}, "spread": [SPREAD]},
                {"labels": {"app": "alone"}, "affinity": ALONE},
            )
        )
        self.parts.handlers.add(make_pod(f"p{self.serial}", cpu=self.random.choice(("500m", "1", "2")), **more))

    async def pod_goes(self) -> None:
        if self.pods:
            self.parts.handlers.delete(self.random.choice(self.pods))

    async def pod_is_being_deleted(self) -> None:
        if self.pods:
            old = self.random.choice(self.pods)
            gone = replace(old.metadata, deletion_timestamp=utc(self.clock) + timedelta(seconds=30))
            self.parts.handlers.update(old, replace(old, metadata=gone))

    async def node_comes(self) -> None:
        name = f"n{self.random.randrange(8)}"
        if self.parts.objects.of(Node).get(name) is None:
            node = make_node(name, cpu="4", pods=5, zone=self.random.choice("ab"))
            self.parts.handlers.add(node)

    async def node_changes(self) -> None:
        nodes = list(self.parts.objects.of(Node))
        if nodes:
            old = self.random.choice(nodes)
            self.parts.handlers.update(
                old, replace(old, spec=replace(old.spec, unschedulable=self.random.random() < 0.3))
            )

    async def node_goes(self) -> None:
        nodes = list(self.parts.objects.of(Node))
        if len(nodes) > 2:
            self.parts.handlers.delete(self.random.choice(nodes))

    async def time_passes(self) -> None:
        await self.clock.advance(self.random.choice((0.5, 3, 20, 70)))

    # what must hold

    def check(self) -> None:
        self.no_node_is_overcommitted()
        self.no_pod_is_lost()
        assert all(times == 1 for times in self.api.bound.values())

    def no_node_is_overcommitted(self) -> None:
        table = self.parts.cache.cluster.nodes
        for row, node in table.existing():
            assert table.requested[0][row] <= table.allocatable[0][row], node.metadata.name
            assert table.pod_count[row] <= table.allowed_pods[row], node.metadata.name
            ports = Counter(p for info in self.parts.cache.cluster.pods.on_node(row) for p in info.template.host_ports)
            assert all(times == 1 for times in ports.values()), node.metadata.name

    def no_pod_is_lost(self) -> None:
        cache, queue = self.parts.cache, self.parts.queue
        waiting = Counter(queued.uid for _, queued in queue.waiting())
        in_flight = {pod.metadata.uid for pod in queue.in_flight_pods()}
        for pod in self.pods:
            uid = pod.metadata.uid
            is_bound = bool(pod.spec.node_name)
            under_way = uid in in_flight or cache.is_assumed(uid) or uid in self.api.binding
            places = (waiting[uid], under_way and not is_bound, is_bound)
            if not (pod.is_terminating and not any(places)):
                assert sum(map(int, places)) == 1, (pod.key, places)
            assert not is_bound or cache.node_of(uid) == pod.spec.node_name
        known = {pod.metadata.uid for pod in self.pods}
        assert set(waiting) <= known
        assert {state.info.uid for state in cache.pods() if not state.assumed} <= known


SPREAD = {
    "maxSkew": 2,
    "topologyKey": ZONE_LABEL,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "spread"}},
}
ALONE = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "alone"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_that_must_never_happen_happens(seed: int) -> None:
    """Random churn and faults; then the API server recovers, room is made, and every pod finds its node."""
    driver = Driver(seed)
    async with driver.running():
        for _ in range(STEPS):
            await driver.step()
            driver.check()
        driver.api.is_healthy = True
        for k in range(len(driver.pods)):
            driver.parts.handlers.add(make_node(f"late{k}", cpu="4", zone="ab"[k % 2]))
        for _ in range(20):
            await driver.clock.advance(60)
            driver.check()
        homeless = [pod.key for pod in driver.pods if not pod.spec.node_name and not pod.is_terminating]
        assert not homeless, driver.parts.queue.dump()
    assert sum(driver.api.bound.values()) > 20
    assert not driver.api.conflicts
