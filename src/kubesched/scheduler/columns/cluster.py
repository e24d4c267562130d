"""The tables together: every change to what is placed where goes through here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kubesched.objects import Namespace, Node
from kubesched.objects.pod_resources import DEFAULT_FEATURES, ResourceFeatures
from kubesched.scheduler.columns.interning import Interner
from kubesched.scheduler.columns.node_table import NodeTable
from kubesched.scheduler.columns.node_view import NodeView
from kubesched.scheduler.columns.pod_counts import PodCounts
from kubesched.scheduler.columns.pod_table import PodTable
from kubesched.scheduler.columns.pod_template import PodInfo, PodTemplate, PodTemplates
from kubesched.scheduler.columns.terms_in_use import TermsInUse


class ClusterTables:
    """Nodes, the pods on them, and namespaces' labels. No rules: whoever calls knows why."""

    def __init__(self, features: ResourceFeatures = DEFAULT_FEATURES) -> None:
        resources: Interner[str] = Interner()
        self.nodes = NodeTable(resources)
        self.pods = PodTable()
        self.templates = PodTemplates(resources, features)
        self.counts = PodCounts(self.pods)
        self.terms = TermsInUse()
        self.namespace_labels: dict[str, Mapping[str, str]] = {}
        self.namespaces_version = 0
        self._counted_capacity = self.nodes.capacity

    def view(self, rows: npt.NDArray[np.intp] | None = None) -> NodeView:
        """A view of the given rows, or of all."""
        return NodeView(self, slice(0, len(self.nodes)) if rows is None else rows)

    def set_node(self, node: Node) -> bool:
        """Add or change a node. False if nothing that scheduling reads has changed."""
        changed = self.nodes.write(node)
        if self.nodes.capacity != self._counted_capacity:
            self._grow_counts()
        return changed

    def remove_node(self, name: str) -> None:
        row = self.nodes.row_of[name]
        self.nodes.clear(row)
        self._release_if_empty(row)

    def place(self, info: PodInfo, node_name: str) -> None:
        """Count a pod on a node; the node need not exist (yet)."""
        nodes, template = self.nodes, info.template
        row = nodes.row_for(node_name)
        if nodes.capacity != self._counted_capacity:
            self._grow_counts()
        slot = self.pods.slot_of.get(template)
        if slot is None:
            slot = self._take_slot(template)
        self.pods.add(info, row, slot)
        nodes.account(row, template, +1)
        self.counts.change(slot, row, info, +1)

    def displace(self, uid: str) -> PodInfo:
        """Take a placed pod off its node."""
        info, row, slot = self.pods.remove(uid)
        self.nodes.account(row, info.template, -1)
        self.counts.change(slot, row, info, -1)
        if info.template not in self.pods.slot_of:
            self.counts.slot_released(slot, info.template)
            self.terms.template_released(info.template)
        self._release_if_empty(row)
        return info

    def replace(self, info: PodInfo) -> None:
        """A newer version of a placed pod, on the same node."""
        pods = self.pods
        row = pods.row_of(info.uid)
        assert row is not None, f"pod {info.key} is not placed"
        old = pods.infos[row]
        assert old is not None
        ends, ended = info.pod.metadata.deletion_timestamp, old.pod.metadata.deletion_timestamp
        if old.template is info.template and (ends is None) is (ended is None):
            pods.swap(row, info)
            if old.pod.metadata.annotations != info.pod.metadata.annotations:  # plugins may read them
                self.nodes.pod_changes.append(int(pods.node_row[row]))
        else:
            node_name = self.nodes.names[int(pods.node_row[row])]
            self.displace(info.uid)
            self.place(info, node_name)

    def set_namespace(self, namespace: Namespace) -> None:
        if self.namespace_labels.get(namespace.metadata.name) != namespace.metadata.labels:
            self.namespace_labels[namespace.metadata.name] = namespace.metadata.labels
            self.namespaces_version += 1

    def remove_namespace(self, name: str) -> None:
        if self.namespace_labels.pop(name, None) is not None:
            self.namespaces_version += 1

    def _take_slot(self, template: PodTemplate) -> int:
        slot = self.pods.take_slot(template)
        self.counts.slot_taken(slot, template)
        self.terms.template_taken(template)
        return slot

    def _grow_counts(self) -> None:
        self._counted_capacity = self.nodes.capacity
        self.counts.grow(self._counted_capacity)

    def _release_if_empty(self, row: int) -> None:
        if self.nodes.nodes[row] is None and not self.nodes.pod_count[row]:
            self.nodes.release(row)
