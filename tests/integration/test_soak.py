"""Days of coming and going in seconds: what is remembered follows what is there, not what ever was."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections import Counter, deque
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, Final
from unittest.mock import patch

from msgspec.structs import replace

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.objects import Node, Pod
from kubesched.objects.affinity import Taint
from kubesched.objects.completion import completed
from kubesched.objects.quantity import Quantity
from kubesched.scheduler import build
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.scheduler.engine.sharing import evaluation_cache
from kubesched.testing.builders import EPOCH, HOSTNAME_LABEL, ZONE_LABEL, make_node, make_pod
from kubesched.testing.recording import RecordingRecorder

GATES = FeatureGates()
NODES_ALIVE, PODS_ALIVE = 20, 30
KEPT = 40
MEMORY = KEPT * (evaluation_cache._BYTES_PER_ENTRY + evaluation_cache._BYTES_PER_ROW * 64)


class Soak:
    """A scheduler in whose cluster nothing stays: each node and each pod is unlike all others."""

    def __init__(self, pod: Callable[[int], Pod], memory: int = MEMORY) -> None:
        self.pod = pod
        api = MemoryApi()
        dependencies = Dependencies(api=api, recorder=RecordingRecorder(), clock=VirtualClock(), random=Random(0))
        with patch.object(build, "BYTES_FOR_EVALUATIONS", memory):
            self.made = build_scheduler(default_config(GATES), GATES, dependencies)
        api.connect(self.made.objects, self.made.handlers)
        self.cluster = self.made.cache.cluster
        [self.evaluator] = self.made.evaluators.values()
        self.nodes: deque[Node] = deque()
        self.pods: deque[str] = deque()
        self.serial = 0

    async def run(self, rounds: int, pods: int = 20, nodes: int = 20) -> None:
        """In each round so many come, and as many go."""
        for _ in range(rounds):
            for _ in range(nodes):
                self.next_node()
            for _ in range(pods):
                self.next_pod()
            await self.made.scheduler.schedule_pending()

    def next_node(self) -> None:
        self.serial += 1
        name, labels = f"n{self.serial}", {f"key-{self.serial}": "x", "pool": f"pool-{self.serial}"}
        node = completed(make_node(name, cpu="64", memory="64Gi", zone=f"z{self.serial % 3}", labels=labels))
        self.made.handlers.add(node)
        added = EPOCH + timedelta(seconds=self.serial)
        taint = Taint(key=f"taint-{self.serial}", effect="PreferNoSchedule", time_added=added)
        features = (f"feature-{self.serial}",)
        status = replace(node.status, declared_features=features)
        changed = replace(node, spec=replace(node.spec, taints=(taint,)), status=status)
        self.made.handlers.update(node, changed)
        self.nodes.append(changed)
        if len(self.nodes) > NODES_ALIVE:
            self.made.handlers.delete(self.nodes.popleft())

    def next_pod(self) -> None:
        self.serial += 1
        self.made.handlers.add(completed(self.pod(self.serial)))
        self.pods.append(f"p{self.serial}")
        if len(self.pods) > PODS_ALIVE:
            gone = self.made.objects.of(Pod).get(self.pods.popleft(), "default")
            assert gone is not None
            self.made.handlers.delete(gone)

    def containers(self) -> dict[str, int]:
        """All that could remember what is gone."""
        nodes, pods, counts = self.cluster.nodes, self.cluster.pods, self.cluster.counts
        kept = self.evaluator._cache
        return {
            "rows of nodes": len(nodes),
            "sets of taints": len(nodes.taint_sets.values),
            "sets of features": len(nodes.feature_sets.values),
            "label keys": len(nodes.labels) + len(nodes._not_carried),
            "host names": len(nodes.label(HOSTNAME_LABEL).values),
            "pools": len(nodes.label("pool").values),
            "rows of pods": len(pods.infos),
            "templates in use": len(pods.templates),
            "templates": len(self.cluster.templates),
            "sizes": len(self.cluster.templates._sizes),
            "counts": len(counts),
            "counts by tag": len(counts._narrowed_to),
            "counts without a tag": len(counts._not_narrowed),
            "tags": len(counts._slots_with),
            "weights": sum(map(len, counts._in_slot)),
            "terms": len(self.cluster.terms._templates),
            "terms by label": len(self.cluster.terms._by_label),
            "evaluations": len(kept._evaluations),
            "layers": len(kept._layers),
        }


def unlike_others(number: int) -> Pod:
    """Another size, port, toleration, spread and term than any pod before."""
    traits = [trait(number) for trait in TRAITS]
    return make_pod(f"p{number}", labels={"app": f"app-{number}"}, **(traits[0] | traits[1] | traits[2] | traits[3]))


def unlike_others_in_one(number: int) -> Pod:
    """Another size, or port and toleration, or spread, or term than any pod before."""
    return make_pod(f"p{number}", labels={"app": f"app-{number}"}, **TRAITS[number % len(TRAITS)](number))


def size(number: int) -> dict[str, Any]:
    return {"cpu": "10m", "memory": str(1000 + number)}


def port_and_toleration(number: int) -> dict[str, Any]:
    return {"host_ports": [1024 + number], "tolerations": [f"taint-{number}"]}


def spread(number: int) -> dict[str, Any]:
    selector = {"matchLabels": {"app": f"app-{number}"}}
    limits = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"spread": [{"topologyKey": ZONE_LABEL, "labelSelector": selector} | limits]}


def term(number: int) -> dict[str, Any]:
    away = {"topologyKey": HOSTNAME_LABEL, "labelSelector": {"matchLabels": {"app": f"app-{number}"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [away]}}}


TRAITS: Final = (size, port_and_toleration, spread, term)


def test_nothing_grows_with_what_is_gone() -> None:
    """Neither what is remembered of nodes, labels, taints, ports, sizes and terms, nor any kind of object of ours."""
    soak = Soak(unlike_others_in_one)

    async def live() -> tuple[Counter[str], Counter[str]]:
        await soak.run(rounds=20)
        early = objects_of_ours()
        await soak.run(rounds=60)
        return early, objects_of_ours()

    early, late = asyncio.run(live())
    assert len(soak.made.objects.of(Pod)) == PODS_ALIVE
    templates = PODS_ALIVE + KEPT + 10
    assert {name: entries for name, entries in soak.containers().items() if entries > 4 * templates} == {}
    assert {name: late[name] - early[name] for name in late if late[name] > 1.2 * early[name] + 50} == {}


def objects_of_ours() -> Counter[str]:
    """How many there are of each kind, but for quantities, of which some thousands are remembered by their text."""
    gc.collect()
    return Counter(
        type(found).__qualname__
        for found in gc.get_objects()
        if type(found) is not Quantity and str(type(found).__module__).startswith("kubesched.")
    )


def test_an_evaluation_takes_no_more_than_it_is_counted_for() -> None:
    """With its template, its counts and the plans that plugins made, for pods that share nothing with each other."""
    soak = Soak(unlike_others, memory=1 << 30)
    number = 50

    async def live() -> int:
        await soak.run(rounds=10, pods=10, nodes=2)
        gc.collect()
        tracemalloc.start()
        before = len(soak.evaluator._cache._evaluations)
        await soak.run(rounds=number // 10, pods=10, nodes=0)
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(soak.evaluator._cache._evaluations) == before + number
        return taken

    counted = evaluation_cache._BYTES_PER_ENTRY + evaluation_cache._BYTES_PER_ROW * soak.cluster.nodes.capacity
    assert asyncio.run(live()) <= number * counted * 1.25
