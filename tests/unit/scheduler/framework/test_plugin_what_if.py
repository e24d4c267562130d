from __future__ import annotations

import numpy as np

from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables, NodeView, WhatIf
from kubesched.scheduler.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, PodInfo, PreFilterPlugin, Status
from kubesched.testing import make_node, make_pod


class AtMostOne(PreFilterPlugin, FilterPlugin):
    """At most one other pod per node, counted in a state of its own."""

    name = "AtMostOne"

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        counts = {nodes.name(k): len(nodes.cluster.pods.on_node(k)) for k in range(len(nodes))}
        state.write(self.name, counts)
        return SUCCESS

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        return self._count(state, node, +1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        if removed.key == "default/cursed":
            return Status.failed("cannot be removed")
        return self._count(state, node, -1)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None if state.read(self.name, dict)[node.name] <= 1 else Status.unschedulable("crowded")

    def _count(self, state: CycleState, node: NodeInfo, change: int) -> Status:
        counts = state.read(self.name, dict)
        state.write(self.name, {**counts, node.name: counts[node.name] + change})
        return SUCCESS


def test_a_plugin_with_state_hears_of_supposed_changes() -> None:
    """Each node has its own copy of the state; the real one stays as it is."""
    cluster = ClusterTables()
    for k in range(3):
        cluster.set_node(make_node(f"n{k}"))
    for name, node in (("a", "n0"), ("b", "n0"), ("c", "n1"), ("cursed", "n2")):
        cluster.place(cluster.templates.info(make_pod(name, node=node)), node)
    plugin, info = AtMostOne(), cluster.templates.info(make_pod("p"))
    state = CycleState(info)
    plugin.pre_filter(state, info, cluster.view())
    assert plugin.filter_nodes(state, info.template, cluster.view()).fitting.tolist() == [False, True, True]
    come = cluster.templates.info(make_pod("new"))
    removed = WhatIf.removed(cluster.pods, np.array([0, 3]), np.array([0, 2]))
    supposed = cluster.view().supposing(removed | WhatIf.added([(1, come)]))
    verdict = plugin.filter_nodes(state, info.template, supposed)
    assert verdict.fitting.tolist() == [True, False, False]
    assert verdict.status(2, plugin.name).message == "cannot be removed"
    assert state.read(plugin.name, dict) == {"n0": 2, "n1": 1, "n2": 1}
