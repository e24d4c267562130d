"""One node with its pods: what a per-node plugin sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import NodeView, PodInfo
from kubesched.scheduler.columns.pod_template import HostPort


@dataclass(frozen=True)
class NodeInfo:
    """A node and the pods on it, with the sums that the table keeps. CPU counts in millicores, all else in units."""

    node: Node
    pod_infos: Sequence[PodInfo]
    allocatable: Mapping[str, int]
    """By resource: 0 for those that the node does not offer."""
    requested: Mapping[str, int]
    """By resource: 0 for those that no pod on the node requests."""
    allowed_pods: int
    image_sizes: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def pods(self) -> list[Pod]:
        return [info.pod for info in self.pod_infos]

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels

    @cached_property
    def free(self) -> Mapping[str, int]:
        """What is left of each resource."""
        return Counter({name: amount - self.requested[name] for name, amount in self.allocatable.items()})

    @cached_property
    def used_ports(self) -> frozenset[HostPort]:
        return frozenset(port for info in self.pod_infos for port in info.template.host_ports)


def node_info_at(nodes: NodeView, position: int) -> NodeInfo:
    """The node at a position of a view that exists there, with the view's "what if" applied."""
    table = nodes.table
    row = int(nodes.row_ids()[position])
    node = table.nodes[row]
    assert node is not None, f"no node in row {row}"
    pods = list(nodes.cluster.pods.on_node(row))
    if nodes.what_if is not None:
        pods = nodes.what_if.pods_at(position, pods)
    requested: Counter[str] = Counter()  # what is not in it counts as 0
    for info in pods:
        for name, amount in info.template.requests.items():
            requested[name] += amount
    return NodeInfo(
        node=node,
        pod_infos=pods,
        allocatable=Counter(
            {
                table.resources.values[resource]: amount
                for resource in table.resources_of(row)
                if (amount := int(table.allocatable[resource][row]))
            }
        ),
        requested=requested,
        allowed_pods=int(table.allowed_pods[row]),
        image_sizes={name: image.size_bytes for image in node.status.images for name in image.names},
    )
