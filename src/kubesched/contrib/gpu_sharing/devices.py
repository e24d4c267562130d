"""What each GPU has left, per node: derived from the pods on it, and kept up to date.

The names are those of Alibaba's GPU-sharing scheduler. A node offers `alibabacloud.com/gpu-milli`, a thousand for each
GPU; a pod requests up to a thousand (a share of one GPU) or a multiple of it (so many whole ones). Which GPUs it got
is an annotation of the pod: `alibabacloud.com/gpu-index: "0-3"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from kubesched.framework import EVERYTHING, ClusterTables, Follower, Integers, NodeView, PodInfo, PodTemplate
from kubesched.objects import Pod

RESOURCE: Final = "alibabacloud.com/gpu-milli"
DEVICES: Final = "alibabacloud.com/gpu-index"
"""The annotation with the numbers of a placed pod's GPUs, from 0, with a hyphen between them."""
MODEL: Final = "alibabacloud.com/gpu-card-model"
"""The label of a node. Pods choose models by node selector or node affinity."""
WHOLE: Final = 1000


def requested(pod: PodTemplate) -> int:
    """Thousandths of GPUs."""
    return pod.requests.get(RESOURCE, 0)


def requested_by(pod: Pod) -> int:
    """The same, of a pod."""
    return sum(
        int(container.resources.requests[RESOURCE].value())
        for container in pod.spec.containers
        if RESOURCE in container.resources.requests
    )


def is_share(thousandths: int) -> bool:
    """Whether this is less than a GPU, to be found on a single one."""
    return 0 < thousandths < WHOLE


def devices_of(pod: Pod) -> tuple[int, ...]:
    """The numbers in a pod's annotation; none if there is no annotation, or one that makes no sense."""
    return parse_annotation(pod.metadata.annotations.get(DEVICES, ""))


@lru_cache
def parse_annotation(text: str) -> tuple[int, ...]:
    parts = text.split("-") if text else []
    return tuple(map(int, parts)) if all(part.isascii() and part.isdecimal() for part in parts) else ()


def as_annotation(devices: Iterable[int]) -> str:
    return "-".join(map(str, devices))


def best_fit(free: Sequence[int], thousandths: int) -> tuple[int, ...]:
    """The first of the fullest GPUs that a share fits on, or the first free ones; empty if there are too few."""
    if is_share(thousandths):
        fitting = [device for device, left in enumerate(free) if left >= thousandths]
        return (min(fitting, key=free.__getitem__),) if fitting else ()
    count = thousandths // WHOLE
    whole = [device for device, left in enumerate(free) if left == WHOLE]
    return tuple(whole[:count]) if len(whole) >= count else ()


def take(free: list[int], thousandths: int, devices: Sequence[int]) -> bool:
    """Take a pod's part of these GPUs. False, and nothing is taken, if they are not that many or have no room."""
    each = min(thousandths, WHOLE)
    count = 1 if is_share(thousandths) else thousandths // WHOLE
    if len(set(devices)) != count or not all(device < len(free) and free[device] >= each for device in devices):
        return False
    for device in devices:
        free[device] -= each
    return True


def kind_of(thousandths: int) -> int:
    """A bit: the first for pods with a share of a GPU, the next for those with one whole GPU, and so on."""
    return 1 << min(thousandths // WHOLE, 62)


class DeviceTable:
    """The GPUs of all nodes in columns, by row of the node table. Call `refresh` before you read."""

    def __init__(self, cluster: ClusterTables) -> None:
        self._cluster = cluster
        self._changed_nodes = Follower(cluster.nodes.node_changes)
        self._changed_pods = Follower(cluster.nodes.pod_changes)
        self._ids: dict[str, int] = {"": 0}
        self.free: Integers = np.zeros((0, 1), np.int64)
        """rows × GPUs: thousandths that are left; 0 for GPUs that a node does not have."""
        self.count: Integers = np.zeros(0, np.int64)
        """How many GPUs the node has."""
        self.model: Integers = np.zeros(0, np.int64)
        """The id of the node's model, see `models`."""
        self.kinds: Integers = np.zeros(0, np.int64)
        """Which kinds of pods (`kind_of`) have GPUs of the node, one bit for each."""

    @property
    def models(self) -> Sequence[str]:
        """The names of the models, by id; 0 is that of nodes without the label."""
        return tuple(self._ids)

    def refresh(self) -> None:
        """Follow what happened to nodes and pods since the last call."""
        nodes, pods = self._changed_nodes.changed(), self._changed_pods.changed()
        if not nodes and not pods:
            return
        rows: Iterable[int]
        if nodes is EVERYTHING or pods is EVERYTHING or len(self._cluster.nodes) > len(self.count):
            rows = range(len(self._cluster.nodes))
            self._make_room(len(rows))
        else:
            rows = {*nodes, *pods}
        for row in rows:
            self._write(row)

    def view(self, nodes: NodeView) -> tuple[Integers, Integers]:
        """`free` and `kinds` of the rows of a view, with its "what if" applied."""
        self.refresh()
        free, kinds = self.free[nodes.rows], self.kinds[nodes.rows]
        what_if = nodes.what_if
        if what_if is not None:
            free, kinds, rows = free.copy(), kinds.copy(), nodes.row_ids()
            for position in sorted(set(what_if.positions.tolist())):
                row = int(rows[position])
                pods = what_if.pods_at(position, self._cluster.pods.on_node(row))
                left, kinds[position] = left_by(pods, int(self.count[row]))
                free[position, : len(left)] = left
        return free, kinds

    def at(self, node_name: str) -> list[int]:
        """What each GPU of a node has left."""
        self.refresh()
        row = self._cluster.nodes.row_of[node_name]
        left: list[int] = self.free[row, : self.count[row]].tolist()
        return left

    def _write(self, row: int) -> None:
        table = self._cluster.nodes
        node = table.nodes[row]
        count = int(table.allocatable[table.resource_id(RESOURCE)][row]) // WHOLE
        if count > self.free.shape[1]:
            self.free = np.pad(self.free, ((0, 0), (0, count - self.free.shape[1])))
        left, self.kinds[row] = left_by(self._cluster.pods.on_node(row), count)
        self.count[row] = count
        self.free[row] = 0
        self.free[row, :count] = left
        labels: Mapping[str, str] = node.metadata.labels if node is not None else {}
        self.model[row] = self._ids.setdefault(labels.get(MODEL, ""), len(self._ids))

    def _make_room(self, rows: int) -> None:
        more = rows - len(self.count)
        if more > 0:
            self.free = np.pad(self.free, ((0, more), (0, 0)))
            self.count, self.model, self.kinds = (
                np.pad(one, (0, more)) for one in (self.count, self.model, self.kinds)
            )


def left_by(pods: Iterable[PodInfo], count: int) -> tuple[list[int], int]:
    """What pods leave of a node's GPUs, and the kinds of pods that have some.

    Pods without an annotation that can be (placed by another scheduler, or hypothetically) count where `best_fit` would
    put them, after the others: by uid, so that it does not matter in which order they came.
    """
    free = [WHOLE] * count
    kinds = 0
    elsewhere: list[PodInfo] = []
    sharing = [info for info in pods if requested(info.template)]
    for info in sorted(sharing, key=lambda info: info.uid):
        thousandths = requested(info.template)
        kinds |= kind_of(thousandths)
        if not take(free, thousandths, devices_of(info.pod)):
            elsewhere.append(info)
    for info in elsewhere:
        take(free, requested(info.template), best_fit(free, requested(info.template)))
    return free, kinds
