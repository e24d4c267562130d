"""The nodes that the kubelets play: their addresses, their images, and whether they are down."""

from __future__ import annotations

import ipaddress
import itertools
import zlib
from collections.abc import Callable, Iterable
from typing import Final

from kubesched.clock import utc
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.kubelet import node_status
from kubesched.cluster.records import NodeRecord
from kubesched.objects.base import Json

SMALLEST_IMAGE: Final = 20_000_000
LARGEST_IMAGE: Final = 600_000_000
_FIRST_ADDRESS: Final = 2  # the network's and the bridge's come before


class SimulatedNode:
    """What a kubelet knows besides its Node object."""

    def __init__(self, name: str, number: int, pod_range: str) -> None:
        self.name = name
        self.host_ip = node_status.host_ip(number)
        self.down = False
        self.images: set[str] = set()
        self._first_ip = int(ipaddress.ip_network(pod_range)[0])
        self._addresses = itertools.cycle(range(_FIRST_ADDRESS, node_status.ADDRESSES_PER_NODE - 1))

    def next_ip(self) -> str:
        return str(ipaddress.ip_address(self._first_ip + next(self._addresses)))

    def missing(self, images: Iterable[str]) -> dict[str, int]:
        """The images that a pod needs and the node lacks, with their sizes."""
        return {image: image_size(image) for image in images if image not in self.images}


class Nodes:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._nodes_resource = api.catalog.named("nodes")
        self._known: dict[str, SimulatedNode] = {}
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._known)

    def get(self, name: str) -> SimulatedNode | None:
        return self._known.get(name)

    def adopt(self, record: NodeRecord) -> SimulatedNode:
        """Begin to play a node: fill in what its kubelet reports, and say that it is ready."""
        found = self._api.reader.get(self._nodes_resource, record.metadata.name)
        node = found.decode()
        number = node_status.number_of(node)
        if number is None:
            number = self._next_number
        self._next_number = max(self._next_number, number + 1)
        node_status.set_pod_range(node, number)
        node_status.complete_node(node, number, self._now())
        self._api.writer.replace(self._nodes_resource, found, {}, node)
        simulated = SimulatedNode(record.metadata.name, number, node["spec"]["podCIDR"])
        simulated.down = node_status.is_down(record.metadata.annotations)
        for image in node["status"].get("images") or ():
            simulated.images.update(image.get("names") or ())
        self._known[simulated.name] = simulated
        return simulated

    def forget(self, name: str) -> None:
        self._known.pop(name, None)

    def switch(self, node: SimulatedNode, *, down: bool) -> None:
        """The node fails or comes back; its conditions say so."""
        node.down = down
        self._change(node.name, lambda value: node_status.set_conditions(value, self._now()))

    def add_images(self, node: SimulatedNode, images: dict[str, int]) -> None:
        node.images.update(images)
        self._change(node.name, lambda value: node_status.add_images(value, images))

    def _change(self, name: str, change: Callable[[Json], None]) -> None:
        found = self._api.reader.bucket(self._nodes_resource).get("", name)
        if found is not None:
            value = found.decode()
            change(value)
            self._api.writer.replace(self._nodes_resource, found, {}, value)

    def _now(self) -> str:
        return utc(self._api.clock).strftime("%Y-%m-%dT%H:%M:%SZ")


def image_size(image: str) -> int:
    """Some size for an image: always the same one for the same name."""
    return SMALLEST_IMAGE + zlib.crc32(image.encode()) % (LARGEST_IMAGE - SMALLEST_IMAGE)
