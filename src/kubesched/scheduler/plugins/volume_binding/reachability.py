"""From which nodes a persistent volume can be reached."""

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
    """The nodes that a volume can be reached from; None: from all."""
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


def reachable(affinity: NodeMatcher | None, nodes: NodeView) -> Booleans:
    if affinity is None:
        return np.ones(len(nodes), dtype=np.bool_)
    return matching_selector(affinity, nodes)


class Way(NamedTuple):
    """From where a bound volume can be reached: all that this depends on.

    On nodes that say that a CSI driver has taken over the in-tree `plugin`, the driver's topology counts.
    """

    required: NodeSelector | None
    plugin: str = ""
    required_by_driver: NodeSelector | None = None
    problem: str = ""
    """Why the driver's topology cannot be told."""

    @classmethod
    def to(cls, volume: PersistentVolume) -> Way:
        required = _required(volume)
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.is_migrated:
            return cls(required)
        try:
            return cls(required, plugin.name, _required(translated(volume, plugin)))
        except InvalidObjectError as error:
            return cls(required, plugin.name, problem=f"could not translate pv: {error}")


def reachable_where_bound(way: Way, nodes: NodeView, csi_nodes: CsiNodeColumns) -> tuple[Booleans, Booleans, str]:
    """Nodes that reach a bound volume; nodes for which that cannot be told, and why."""
    reached = reachable(_matcher(way.required), nodes)
    nowhere = np.zeros(len(nodes), dtype=np.bool_)
    if not way.plugin:
        return reached, nowhere, ""
    is_migrated = csi_nodes.is_migrated(way.plugin)[nodes.rows]
    if not is_migrated.any():
        return reached, nowhere, ""
    if way.problem:
        return reached, is_migrated, way.problem
    by_driver = reachable(_matcher(way.required_by_driver), nodes)
    return np.where(is_migrated, by_driver, reached), nowhere, ""


def as_seen_from(volume: PersistentVolume, csi_node: CSINode | None) -> PersistentVolume:
    """A volume with the topology that counts on a node. InvalidObjectError if it does not translate."""
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not plugin.is_migrated or csi_node is None:
        return volume
    migrated = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")
    return translated(volume, plugin) if plugin.name in migrated else volume
