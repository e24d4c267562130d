"""Nodes in the order in which a sample is taken: round-robin over zones, so that a sample spreads over them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from kubesched.objects import Node

_ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


def zone_of(labels: Mapping[str, str]) -> tuple[str, str]:
    """(region, zone); the old labels win where both exist (component-helpers GetZoneKey)."""
    return _first(labels, _REGION_LABELS), _first(labels, _ZONE_LABELS)


def _first(labels: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if key in labels), "")


class NodeTree:
    """Node names by zone. `version` changes with any change of the order."""

    def __init__(self) -> None:
        self._zones: dict[tuple[str, str], dict[str, None]] = {}
        self._zone_of: dict[str, tuple[str, str]] = {}
        self._order: list[str] | None = None
        self.version = 0

    def __len__(self) -> int:
        return len(self._zone_of)

    def add(self, node: Node) -> None:
        """Add a node, or move it if its zone has changed."""
        name, zone = node.metadata.name, zone_of(node.metadata.labels)
        if self._zone_of.get(name) == zone:
            return
        self.remove(name)
        self._zones.setdefault(zone, {})[name] = None
        self._zone_of[name] = zone
        self._changed()

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]
        self._changed()

    def order(self) -> list[str]:
        """All nodes: the first of every zone, then the second of every zone, and so on."""
        if self._order is None:
            rounds = zip_longest(*self._zones.values())
            self._order = [name for names in rounds for name in names if name is not None]
        return self._order

    def _changed(self) -> None:
        self._order = None
        self.version += 1
