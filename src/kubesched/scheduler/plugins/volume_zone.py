"""VolumeZone: a node is in the zone and region that the pod's persistent volumes are labelled with."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from kubesched.objects import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from kubesched.scheduler.columns import ABSENT, Booleans, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    FIXED,
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PodChange,
    PreFilterPlugin,
    Reason,
    Resource,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_each
from kubesched.scheduler.plugins.support.storage.claims import WAIT_FOR_FIRST_CONSUMER, class_of_claim, not_found
from kubesched.scheduler.plugins.support.storage.csi_topology import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_DELIMITER,
)

NAME: Final = "VolumeZone"
OTHER_ZONE: Final = Reason.unresolvable("node(s) had no available volume zone")

_TOPOLOGY_KEYS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_STABLE_KEY: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class Topology(NamedTuple):
    """A label of a volume: nodes must have one of these values for the key."""

    key: str
    values: frozenset[str]


class VolumeZone(PreFilterPlugin, FilterPlugin):
    """Only claims that are bound to a volume matter; those that wait for their first consumer are skipped."""

    name = NAME
    depends_on = DependsOn.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        self._claims = handle.objects.of(PersistentVolumeClaim)
        self._volumes = handle.objects.of(PersistentVolume)
        self._classes = handle.objects.of(StorageClass)

    def external_version(self, pod: PodTemplate) -> Hashable:
        if not pod.claim_names:
            return FIXED
        return self._claims.version, self._volumes.version, self._classes.version

    def signature(self, pod: PodTemplate) -> Hashable:
        topologies = self._topologies(pod)
        return None if isinstance(topologies, Status) else topologies

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        topologies = self._topologies(pod.template)
        if isinstance(topologies, Status):
            return topologies
        if not topologies:
            return SKIP
        state.write(NAME, topologies)
        return SUCCESS

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        return without_each("volumes", "volume", pod.spec)

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        elsewhere = np.zeros(len(nodes), dtype=np.bool_)
        for topology in set(state.read(NAME, tuple)):
            elsewhere |= ~_is_within(topology, nodes)
        if elsewhere.any():
            elsewhere &= _has_topology(nodes)
        return Verdict.rejects(nodes, where=elsewhere, reason=OTHER_ZONE)

    def events_to_register(self) -> Sequence[EventHint]:
        changed = Action.ADD | Action.UPDATE
        return (
            EventHint(ClusterEvent(Resource.STORAGE_CLASS, Action.ADD), _after_class_added, per_template=True),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
            EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, changed), _after_claim_changed, per_template=True),
            EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME, changed), _after_volume_changed, per_template=True),
        )

    def _topologies(self, pod: PodTemplate) -> tuple[Topology, ...] | Status:
        """What the volumes of a pod's claims ask of nodes, or why it cannot be scheduled."""
        topologies: list[Topology] = []
        for name in pod.claim_names:
            volume = self._volume_of(pod.namespace, name)
            if isinstance(volume, Status):
                return volume
            if volume is not None:
                topologies += topologies_of(volume)
        return tuple(topologies)

    def _volume_of(self, namespace: str, claim_name: str) -> PersistentVolume | Status | None:
        """The volume of a claim, None while it waits for its first consumer, or why there is none."""
        if not claim_name:
            return Status.unresolvable("PersistentVolumeClaim had no name")
        claim = self._claims.get(claim_name, namespace)
        if claim is None:
            return Status.unresolvable(not_found(PersistentVolumeClaim, claim_name))
        if not claim.spec.volume_name:
            return self._check_unbound(claim)
        volume = self._volumes.get(claim.spec.volume_name)
        return volume or Status.unresolvable(not_found(PersistentVolume, claim.spec.volume_name))

    def _check_unbound(self, claim: PersistentVolumeClaim) -> Status | None:
        class_name = class_of_claim(claim)
        if not class_name:
            return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._classes.get(class_name)
        if storage_class is None:
            return Status.unresolvable(not_found(StorageClass, class_name))
        if storage_class.volume_binding_mode is None:
            return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{class_name}"')
        if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return None
        return Status.unresolvable("PersistentVolume had no name")


def topologies_of(volume: PersistentVolume) -> list[Topology]:
    """What a volume's labels ask of nodes. A label that is no list of zones is ignored (getPVTopologies)."""
    topologies: list[Topology] = []
    for key in _TOPOLOGY_KEYS:
        if (label := volume.metadata.labels.get(key)) is not None:
            values = frozenset(part.strip() for part in label.split(ZONE_DELIMITER))
            if "" not in values:
                topologies.append(Topology(key, values))
    return topologies


def _is_within(topology: Topology, nodes: NodeView) -> Booleans:
    """Nodes with one of the values; where a beta key is absent, the stable key of the same meaning counts."""
    within = nodes.label(topology.key).is_in(topology.values, nodes.rows)
    stable_key = _STABLE_KEY.get(topology.key)
    if stable_key is not None:
        lacks_beta = nodes.domains(topology.key) == ABSENT
        within |= lacks_beta & nodes.label(stable_key).is_in(topology.values, nodes.rows)
    return within


def _has_topology(nodes: NodeView) -> Booleans:
    """Nodes with any of the labels. The others take every volume: a cluster in a single zone may label nothing."""
    labelled = np.zeros(len(nodes), dtype=np.bool_)
    for key in _TOPOLOGY_KEYS:
        labelled |= nodes.label(key).present(nodes.rows)
    return labelled


def _after_class_added(pod: PodInfo, old: None, new: StorageClass) -> Hint:
    return Hint.QUEUE if new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else Hint.SKIP


def _after_claim_changed(pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> Hint:
    template = pod.template
    is_mine = new.metadata.namespace == template.namespace and new.metadata.name in template.claim_names
    return Hint.QUEUE if is_mine else Hint.SKIP


def _after_volume_changed(pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume) -> Hint:
    if old is None or topologies_of(old) != topologies_of(new):
        return Hint.QUEUE
    return Hint.SKIP
