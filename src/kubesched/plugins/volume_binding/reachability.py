"""From which nodes a persistent volume can be reached."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from kubesched.columns import Booleans, NodeView
from kubesched.columns.node_matching import matching_selector
from kubesched.errors import InvalidObjectError
from kubesched.objects import CSINode, NodeSelector, PersistentVolume
from kubesched.objects.node_selectors import NodeMatcher, compile_node_selector
from kubesched.objects.selectors import FieldSelector
from kubesched.plugins.storage.csi_migration import in_tree_plugin, translated
from kubesched.plugins.storage.csi_nodes import MIGRATED_PLUGINS, CsiNodeColumns


def affinity_of(volume: PersistentVolume) -> NodeMatcher | None:
    """The nodes that a volume can be reached from; None: from all."""
    affinity = volume.spec.node_affinity
    return _compile(affinity.required) if affinity is not None and affinity.required is not None else None


@lru_cache(maxsize=1 << 14)
def _compile(required: NodeSelector) -> NodeMatcher:
    """By labels alone: CheckNodeAffinity asks with a node that has no name, and then fields do not count."""
    terms = compile_node_selector(required).terms
    return NodeMatcher(tuple(replace(term, fields=FieldSelector.EVERYTHING) for term in terms))


def reachable(affinity: NodeMatcher | None, nodes: NodeView) -> Booleans:
    if affinity is None:
        return np.ones(len(nodes), dtype=np.bool_)
    return matching_selector(affinity, nodes)


def reachable_where_bound(
    volume: PersistentVolume, nodes: NodeView, csi_nodes: CsiNodeColumns
) -> tuple[Booleans, Booleans, str]:
    """Nodes that reach a bound volume; nodes for which that cannot be told, and why.

    Where a node says that a CSI driver has taken over an in-tree plugin, the driver's topology counts.
    """
    reached = reachable(affinity_of(volume), nodes)
    nowhere = np.zeros(len(nodes), dtype=np.bool_)
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not plugin.is_migrated:
        return reached, nowhere, ""
    is_migrated = csi_nodes.is_migrated(plugin.name)[nodes.rows]
    if not is_migrated.any():
        return reached, nowhere, ""
    try:
        by_driver = affinity_of(translated(volume, plugin))
    except InvalidObjectError as error:
        return reached, is_migrated, f"could not translate pv: {error}"
    return np.where(is_migrated, reachable(by_driver, nodes), reached), nowhere, ""


def as_seen_from(volume: PersistentVolume, csi_node: CSINode | None) -> PersistentVolume:
    """A volume with the topology that counts on a node. InvalidObjectError if it does not translate."""
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not plugin.is_migrated or csi_node is None:
        return volume
    migrated = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")
    return translated(volume, plugin) if plugin.name in migrated else volume
