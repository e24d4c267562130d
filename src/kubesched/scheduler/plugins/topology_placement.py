"""TopologyPlacementGenerator: a group with a topology constraint goes into one domain as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kubesched.objects import PodGroup
from kubesched.scheduler.columns import ABSENT, LabelColumn
from kubesched.scheduler.framework import (
    SUCCESS,
    Handle,
    Placement,
    PlacementGeneratePlugin,
    PodGroupInfo,
    Status,
)

NAME: Final = "TopologyPlacementGenerator"


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """One placement per value of the constraint's label; only the domain of pods that have a node already, if any."""

    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle
        self._groups = handle.objects.of(PodGroup)

    def generate_placements(self, group: PodGroupInfo, within: Placement) -> tuple[Sequence[Placement], Status]:
        known = self._groups.get(group.name, group.namespace)
        if known is None:
            return [], Status.failed(f'podgroup.scheduling.k8s.io "{group.name}" not found')
        constraints = known.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return [within], SUCCESS
        column = within.nodes.label(constraints.topology[0].key)  # the API allows a single one
        required, problem = self._domain_of_scheduled(group, column)
        if problem:
            return [], Status.failed(f"cannot determine domain for already scheduled pods: {problem}")
        domains = within.nodes.domains(column.key)
        if required is not None:
            domains = np.where(domains == required, domains, ABSENT)
        return [
            Placement(column.values[domain], within.nodes.at(np.flatnonzero(domains == domain)))
            for domain in np.unique(domains[domains != ABSENT]).tolist()
        ], SUCCESS

    def _domain_of_scheduled(self, group: PodGroupInfo, column: LabelColumn) -> tuple[int | None, str]:
        """The domain that pods of the group are in already (None: no pod has a node), and what is wrong with it."""
        state = self._handle.pod_groups.get(group.namespace, group.name)
        cluster = self._handle.cluster
        found: int | None = None
        for info in state.scheduled() if state is not None else ():
            row = cluster.pods.row_of(info.uid)
            node_row = int(cluster.pods.node_row[row])
            if not cluster.nodes.exists[node_row]:
                missing = f'nodeinfo not found for node name "{cluster.nodes.names[node_row]}"'
                return None, f"getting node for pod {info.key}: {missing}"
            domain = int(column.ids[node_row])
            if domain == ABSENT:
                return None, f"no topology domain found for pod {info.key}"
            if found is not None and found != domain:
                both = f"{column.values[found]}, {column.values[domain]}"
                return None, f"more than 1 domain found for pod group: {both}"
            found = domain
        return found, ""
