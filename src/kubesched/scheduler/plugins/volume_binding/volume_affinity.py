"""Which nodes have access to a persistent volume: its node affinity, translated where a CSI driver has taken over."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kubesched.errors import InvalidObjectError
from kubesched.objects import CSINode, PersistentVolume
from kubesched.objects.affinity import NodeSelector
from kubesched.objects.node_selectors import NodeMatcher, compile_node_selector
from kubesched.objects.selectors import FieldSelector
from kubesched.scheduler.columns import Booleans, NodeView
from kubesched.scheduler.columns.node_matching import matching_selector
from kubesched.scheduler.plugins.support.storage.csi_migration import in_tree_plugin, translated
from kubesched.scheduler.plugins.support.storage.csi_nodes import MIGRATED_PLUGINS, CsiNodeColumns


def affinity_of(volume: PersistentVolume) -> NodeMatcher | None:
    """The nodes that have access to a volume; None: all."""
    return _matcher(_required(volume))


def _required(volume: PersistentVolume) -> NodeSelector | None:
    affinity = volume.spec.node_affinity
    return affinity.required if affinity is not None else None


def _matcher(required: NodeSelector | None) -> NodeMatcher | None:
    return _compile(required) if required is not None else None


@lru_cache(maxsize=1 << 14)
def _compile(required: NodeSelector) -> NodeMatcher:
    """By labels alone: CheckNodeAffinity asks with a node that has no name, and then fields do not count."""
    terms = compile_node_selector(required).terms
    return NodeMatcher(tuple(replace(term, fields=FieldSelector.EVERYTHING) for term in terms))


def matching_nodes(affinity: NodeMatcher | None, nodes: NodeView) -> Booleans:
    if affinity is None:
        return np.ones(len(nodes), dtype=np.bool_)
    return matching_selector(affinity, nodes)


class VolumeAffinity(NamedTuple):
    """All that access to a bound volume depends on.

    On nodes that say that a CSI driver has taken over the in-tree `plugin`, the driver's topology counts.
    """

    required: NodeSelector | None
    plugin: str = ""
    required_by_driver: NodeSelector | None = None
    problem: str = ""
    """Why the driver's topology is not known."""

    @classmethod
    def of(cls, volume: PersistentVolume) -> VolumeAffinity:
        required = _required(volume)
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.is_migrated:
            return cls(required)
        try:
            return cls(required, plugin.name, _required(translated(volume, plugin)))
        except InvalidObjectError as error:
            return cls(required, plugin.name, problem=f"could not translate pv: {error}")


def nodes_with_access(
    affinity: VolumeAffinity, nodes: NodeView, csi_nodes: CsiNodeColumns
) -> tuple[Booleans, Booleans, str]:
    """Nodes with access to a bound volume; nodes for which that is not known, and why."""
    reached = matching_nodes(_matcher(affinity.required), nodes)
    nowhere = np.zeros(len(nodes), dtype=np.bool_)
    if not affinity.plugin:
        return reached, nowhere, ""
    is_migrated = csi_nodes.is_migrated(affinity.plugin)[nodes.rows]
    if not is_migrated.any():
        return reached, nowhere, ""
    if affinity.problem:
        return reached, is_migrated, affinity.problem
    by_driver = matching_nodes(_matcher(affinity.required_by_driver), nodes)
    return np.where(is_migrated, by_driver, reached), nowhere, ""


def as_translated_on(volume: PersistentVolume, csi_node: CSINode | None) -> PersistentVolume:
    """A volume with the topology that counts on a node. InvalidObjectError if it does not translate."""
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not plugin.is_migrated or csi_node is None:
        return volume
    migrated = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")
    return translated(volume, plugin) if plugin.name in migrated else volume
