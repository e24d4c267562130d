"""The VolumeBinding plugin."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

import numpy as np

from kubesched.config.plugin_args import DEFAULT_STORAGE_SHAPE, VolumeBindingArgs
from kubesched.errors import ConfigurationError
from kubesched.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from kubesched.scheduler.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    FIXED,
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Plugin,
    PodChange,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_each
from kubesched.scheduler.plugins.support.storage.csi_nodes import CsiNodeColumns
from kubesched.scheduler.plugins.volume_binding.assume_cache import AssumeCache
from kubesched.scheduler.plugins.volume_binding.binding import VolumeBinder
from kubesched.scheduler.plugins.volume_binding.finding import VolumeFinder
from kubesched.scheduler.plugins.volume_binding.hints import EVENTS
from kubesched.scheduler.plugins.volume_binding.pod_claims import ClaimSorter, PodClaims
from kubesched.scheduler.plugins.volume_binding.provisioning import StorageCapacities
from kubesched.scheduler.plugins.volume_binding.reservation import Reservation, bind, select_node
from kubesched.scheduler.plugins.volume_binding.scoring import StorageScorer
from kubesched.scheduler.plugins.volume_binding.volume_pool import VolumePool

NAME: Final = "VolumeBinding"
_RESERVATION: Final = (NAME, "reservation")


class VolumeBinding(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, ReservePlugin, PreBindPlugin):
    """Finds a node that has access to the pod's volumes or can get them, and has them bound before the pod is.

    Everything up to Score depends on the pod's template, on nodes' labels and on storage objects alone, so that
    answers are kept while no storage object changes. Reserve looks again at the chosen node, instead of remembering
    a choice of volumes for every node: nothing can have happened in between.
    """

    name = NAME
    depends_on = DependsOn.NODE
    pre_binds_in_parallel = True

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        objects = handle.objects
        kinds = (PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity)
        self._stores = [objects.of(kind) for kind in kinds]
        self._cluster = handle.cluster
        self._observer = handle.volume_observer
        self._claims = AssumeCache(objects.of(PersistentVolumeClaim))
        self._volumes = AssumeCache(objects.of(PersistentVolume))
        self._sorter = ClaimSorter(self._claims, objects.of(StorageClass))
        self._pool = VolumePool(self._volumes, with_attributes_classes=handle.gates.enabled("VolumeAttributesClass"))
        capacities = StorageCapacities(objects)
        self._finder = VolumeFinder(
            self._volumes,
            self._pool,
            objects.of(StorageClass),
            capacities,
            CsiNodeColumns(handle.cluster, objects.of(CSINode)),
        )
        self._binder = VolumeBinder(handle.api, objects, handle.cluster, handle.clock, args.bind_timeout_seconds)
        self._scorer: StorageScorer | None = None
        if handle.gates.enabled("StorageCapacityScoring"):
            self._scorer = StorageScorer(args.shape or DEFAULT_STORAGE_SHAPE, self._pool, capacities)

    def take_over(self, previous: Plugin) -> None:
        """What is assumed of volumes belongs to the pods that are being bound: it cannot change hands."""
        raise ConfigurationError(["the arguments of VolumeBinding change with a restart only"])

    def external_version(self, pod: PodTemplate) -> Hashable:
        if not pod.volume_claims:
            return FIXED
        return (self._claims.version, self._volumes.version, *[store.version for store in self._stores])

    def signature(self, pod: PodTemplate) -> Hashable:
        """Of claims that are bound already, only their volumes' node affinities."""
        if not pod.volume_claims:
            return ()
        self._claims.refresh()
        claims = self._sorter.sort(pod)
        return None if isinstance(claims, Status) or claims.delayed else self._finder.affinities_of(claims.bound)

    def concerns(self, pod: PodTemplate) -> bool:
        return bool(pod.volume_claims)

    def events_to_register(self) -> Sequence[EventHint]:
        return EVENTS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        if not pod.template.volume_claims:
            return SKIP
        self._claims.refresh()
        claims = self._sorter.sort(pod.template)
        if isinstance(claims, Status):
            return claims
        state.write(NAME, claims)
        return SUCCESS

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        return without_each("volumes", "volume", pod.spec)

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        found = self._finder.find(state.read(NAME, PodClaims), nodes)
        if any(where.any() for where, _ in found.errors):
            self._observer.stage_failed("predicate")
        return found.verdict(nodes)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SKIP if self._scorer is None else SUCCESS

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        claims = state.get(NAME)
        if self._scorer is None or not isinstance(claims, PodClaims):
            return np.zeros(len(nodes), dtype=np.int64)
        return self._scorer.score(self._finder.find(claims, nodes), nodes)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        reservation = Reservation(node_name)
        state.write(_RESERVATION, reservation)
        claims = state.get(NAME)
        row = self._cluster.nodes.row_of.get(node_name)
        if row is None or not isinstance(claims, PodClaims) or not claims.delayed:
            return SUCCESS
        nodes = self._cluster.view(np.array([row], dtype=np.intp))
        found = self._finder.find(claims, nodes)
        if not found.verdict(nodes).fitting[0]:
            # Filter does not run in this profile: then nothing is bound either.
            return SUCCESS
        for volume, claim in self._finder.bindings(found, 0):
            binding = bind(volume, claim)
            reservation.bindings.append(binding)
            if binding.is_changed:
                self._pool.assume(binding.volume)
        for provision in found.provisions:
            if provision.where[0]:
                claim = select_node(provision.claim, node_name)
                reservation.provisions.append(claim)
                self._claims.assume(claim)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        reservation = state.get(_RESERVATION)
        if isinstance(reservation, Reservation):
            for binding in reservation.bindings:
                self._pool.restore(binding.volume)
            for claim in reservation.provisions:
                self._claims.restore(claim)

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        reservation = state.get(_RESERVATION)
        if not isinstance(reservation, Reservation) or reservation.node_name != node_name:
            return Status.failed(f'no pod volume found for node "{node_name}"')
        return SKIP if reservation.is_empty else SUCCESS

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        preflight = self.pre_bind_preflight(state, pod, node_name)
        if not preflight.is_success:
            return SUCCESS if preflight.is_skip else preflight
        status = await self._binder.bind(pod, state.read(_RESERVATION, Reservation))
        if not status.is_success:
            self._observer.stage_failed("bind")
        return status
