"""Devices that a benchmark's drivers published, for claims that are allocated without a pod."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from kubesched.apps.bench.manifests import allocated
from kubesched.apps.bench.templates import Manifest
from kubesched.errors import KubeschedError


class DevicePool:
    """Gives each claim devices of a random node that has enough left, whatever the claim's class selects."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._free: dict[str, list[tuple[str, str]]] = defaultdict(list)
        """Per node: (driver, device)."""

    def add(self, driver: str, node_name: str, devices: int) -> None:
        self._free[node_name] += [(driver, f"instance-{index}") for index in reversed(range(devices))]

    def allocate(self, claim: Manifest) -> Manifest:
        """The claim with an allocation. KubeschedError if no node has enough devices left."""
        requests = [
            request["name"]
            for request in claim["spec"]["devices"]["requests"]
            for _ in range(int((request.get("exactly") or {}).get("count", 1)))
        ]
        with_room = [node_name for node_name, free in self._free.items() if len(free) >= len(requests)]
        if not with_room:
            raise KubeschedError(f"no node has devices left for claim {claim['metadata']['name']}")
        node_name = self._random.choice(with_room)
        results = []
        for request in requests:
            driver, device = self._free[node_name].pop()
            results.append({"request": request, "driver": driver, "pool": node_name, "device": device})
        return allocated(claim, node_name, results)
