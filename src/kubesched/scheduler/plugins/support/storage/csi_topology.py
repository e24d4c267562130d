"""A persistent volume's zones, written as the topology of the CSI driver that has replaced its in-tree plugin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from kubesched.objects import PersistentVolume
from kubesched.objects.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kubesched.objects.storage import VolumeNodeAffinity

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER: Final = "__"
"""Separates the zones in a volume's label."""


def with_csi_topology(volume: PersistentVolume, topology_key: str) -> VolumeNodeAffinity | None:
    """The volume's node affinity in the driver's terms (translateTopologyFromInTreeToCSI).

    Zones in the node affinity are renamed; without any, the zones of the volume's label are added.
    """
    zone_key, region_key = _topology_keys(volume)
    terms = _terms(volume)
    if _values(terms, zone_key):
        terms = _renamed(terms, zone_key, topology_key)
    elif zones := _label_zones(volume, zone_key):
        requirement = NodeSelectorRequirement(key=topology_key, operator="In", values=zones)
        terms = tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, requirement))
            for term in terms or (NodeSelectorTerm(),)
        )
    if region_key == BETA_REGION and _values(terms, BETA_REGION):
        terms = _renamed(terms, BETA_REGION, REGION)
    if not terms:
        return volume.spec.node_affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def _topology_keys(volume: PersistentVolume) -> tuple[str, str]:
    """The keys of zone and region that the volume uses: those of its affinity before those of its labels."""
    used = {requirement.key for requirement in _requirements(_terms(volume))}
    for keys in (used, volume.metadata.labels):
        if ZONE in keys:
            return ZONE, REGION
        if BETA_ZONE in keys:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _label_zones(volume: PersistentVolume, zone_key: str) -> tuple[str, ...]:
    zones = (zone.strip() for zone in volume.metadata.labels.get(zone_key, "").split(ZONE_DELIMITER))
    return tuple(sorted({zone for zone in zones if zone}))


def _terms(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    return required.node_selector_terms if required is not None else ()


def _requirements(terms: tuple[NodeSelectorTerm, ...]) -> Iterator[NodeSelectorRequirement]:
    return (requirement for term in terms for requirement in term.match_expressions)


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> set[str]:
    return {value for requirement in _requirements(terms) if requirement.key == key for value in requirement.values}


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    def rename(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return msgspec.structs.replace(requirement, key=new) if requirement.key == old else requirement

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(rename, term.match_expressions))) for term in terms
    )
