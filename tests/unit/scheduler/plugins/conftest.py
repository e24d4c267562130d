"""Ways to ask about the same cluster: all nodes, some, each alone, and with pods added or removed hypothetically."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import pytest

from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables, NodeView, PodInfo, WhatIf
from kubesched.scheduler.framework import NodeInfo
from kubesched.scheduler.framework.node_info import node_info_at

Worlds: TypeAlias = Callable[[ClusterTables, Pod], Iterator[tuple[NodeView, list[tuple[int, NodeInfo]]]]]


def _worlds(cluster: ClusterTables, added: Pod) -> Iterator[tuple[NodeView, list[tuple[int, NodeInfo]]]]:
    everything = cluster.view()
    rows = everything.row_ids()
    views = [everything, cluster.view(rows[::-2]), *(cluster.view(rows[k : k + 1]) for k in rows)]
    views.append(everything.supposing(_first_pods_gone(cluster)))
    info: PodInfo = cluster.templates.info(added)
    views.append(cluster.view(rows[::2]).supposing(WhatIf.added([(0, info)] if len(rows) else [])))
    for view in views:
        exists = view.exists
        yield view, [(k, node_info_at(view, k)) for k in range(len(view)) if exists[k]]


def _first_pods_gone(cluster: ClusterTables) -> WhatIf:
    """Every node without the pod that came first to it."""
    first: dict[int, int] = {}
    for pod_row, node_row in enumerate(cluster.pods.node_row[cluster.pods.used()].tolist()):
        first.setdefault(node_row, pod_row)
    pod_rows = np.array(list(first.values()), dtype=np.intp)
    return WhatIf.removed(cluster.pods, pod_rows, np.array(list(first), dtype=np.intp))


@pytest.fixture(scope="session")
def worlds() -> Worlds:
    """Views of a cluster, each with its existing nodes one by one as a plain formulation reads them."""
    return _worlds
