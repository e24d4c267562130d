"""The nodes of `--nodes N`: a few common machine shapes in three zones, the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kubesched.objects.base import Json

ZONES: Final = ("zone-a", "zone-b", "zone-c")
REGION: Final = "local"
PODS_PER_NODE: Final = "110"


class Shape(NamedTuple):
    instance_type: str
    cpu: str
    memory: str
    disk: str = "100Gi"


GENERAL: Final = Shape("general-4", "4", "16Gi")
LARGE: Final = Shape("general-8", "8", "32Gi")
COMPUTE: Final = Shape("compute-8", "8", "16Gi")
MEMORY: Final = Shape("memory-4", "4", "32Gi")
SHAPES: Final = (GENERAL, GENERAL, LARGE, COMPUTE, MEMORY)
"""In turn. Five shapes and three zones: every shape comes to be in every zone."""


def make_nodes(count: int) -> Iterator[Json]:
    """Node manifests `node-1` … `node-<count>`."""
    for number in range(1, count + 1):
        shape = SHAPES[(number - 1) % len(SHAPES)]
        yield make_node(f"node-{number}", shape, ZONES[(number - 1) % len(ZONES)])


def make_node(name: str, shape: Shape, zone: str) -> Json:
    offers = {"cpu": shape.cpu, "memory": shape.memory, "ephemeral-storage": shape.disk, "pods": PODS_PER_NODE}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "topology.kubernetes.io/region": REGION,
                "topology.kubernetes.io/zone": zone,
                "node.kubernetes.io/instance-type": shape.instance_type,
            },
        },
        "status": {"capacity": offers, "allocatable": dict(offers)},
    }
