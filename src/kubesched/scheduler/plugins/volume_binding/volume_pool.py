"""Free persistent volumes: the smallest that satisfies a claim, for all nodes at once (FindMatchingVolume)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from kubesched.errors import InvalidObjectError
from kubesched.objects import PersistentVolume, PersistentVolumeClaim
from kubesched.objects.quantity import Quantity
from kubesched.objects.selectors import compile_label_selector
from kubesched.scheduler.columns import EVERYTHING, Booleans, Integers, NodeView
from kubesched.scheduler.plugins.support.storage.claims import STORAGE, class_of_claim, class_of_volume, is_bound_to
from kubesched.scheduler.plugins.volume_binding.assume_cache import AssumeCache
from kubesched.scheduler.plugins.volume_binding.size_index import NONE, Eligible, SizeIndex
from kubesched.scheduler.plugins.volume_binding.volume_affinity import affinity_of, matching_nodes

_PRE_BOUND: Final = -2
"""Stands for the one volume that is bound to the claim already (pre-bound)."""
_FILESYSTEM: Final = "Filesystem"


class Shape(NamedTuple):
    """What free volumes must agree in with a claim, besides their size; access modes must include the claim's."""

    storage_class: str
    volume_mode: str
    attributes_class: str
    access_modes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Picks:
    """The volume that a claim would get on each node of a view."""

    claim: PersistentVolumeClaim
    items: Integers
    pre_bound: str = ""
    """The name of the volume that is pre-bound to the claim, where `items` says so."""

    @property
    def found(self) -> Booleans:
        found: Booleans = self.items != NONE
        return found


class VolumePool:
    """Persistent volumes as assumed, filed so that claims find theirs. Call `refresh` before asking."""

    def __init__(self, volumes: AssumeCache[PersistentVolume], *, with_attributes_classes: bool) -> None:
        self._volumes = volumes
        self._with_attributes_classes = with_attributes_classes
        self._free = SizeIndex()
        self._shapes: defaultdict[str, set[Shape]] = defaultdict(set)
        self._pre_bound: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # by claim, names of volumes
        self._claim_of: dict[str, tuple[str, str]] = {}

    def refresh(self) -> None:
        changed = self._volumes.refresh()
        if changed is EVERYTHING:
            changed = [*self._claim_of, *self._free.names(), *(v.metadata.name for v in self._volumes.store)]
        for name in changed:
            self._file(name)

    def assume(self, volume: PersistentVolume) -> None:
        self._volumes.assume(volume)
        self._file(volume.metadata.name)

    def restore(self, volume: PersistentVolume) -> None:
        self._volumes.restore(volume)
        self._file(volume.metadata.name)

    def pick(self, claim: PersistentVolumeClaim, nodes: NodeView, earlier: Sequence[Picks]) -> Picks:
        """The volume for a claim on each node, none of which is an earlier claim's there.

        A volume that is bound to the claim goes before all others: then it is that one, or none. Raises
        InvalidObjectError for a claim that cannot be understood.
        """
        eligible = self._eligible(claim)
        pre_bound = self._pre_bound_to(claim)
        if pre_bound is not None and all(picks.pre_bound != pre_bound.metadata.name for picks in earlier):
            reached = matching_nodes(affinity_of(pre_bound), nodes)
            return Picks(claim, np.where(reached, _PRE_BOUND, NONE), pre_bound.metadata.name)
        wanted = _wanted_shape(claim)
        fitting = [
            shape
            for shape in self._shapes.get(wanted.storage_class, ())
            if shape[:3] == wanted[:3] and wanted.access_modes <= shape.access_modes
        ]
        fitting.sort(key=lambda shape: sorted(shape.access_modes))
        taken = [picks.items for picks in earlier]
        return Picks(claim, self._free.smallest(fitting, _request(claim), nodes, taken, eligible))

    def picked(self, picks: Picks, position: int) -> PersistentVolume | None:
        """The volume that a claim would get on one node."""
        item = int(picks.items[position])
        if item == NONE:
            return None
        return self._volumes.get(picks.pre_bound if item == _PRE_BOUND else self._free.name(item))

    def sizes(self, picks: Picks) -> Integers:
        """The bytes of the volume that a claim would get on each node, 0 where it would get none."""
        sizes = self._free.sizes(picks.items)
        if picks.pre_bound and (volume := self._volumes.get(picks.pre_bound)) is not None:
            sizes[picks.items == _PRE_BOUND] = volume.spec.capacity.get(STORAGE, Quantity.ZERO).value()
        return sizes

    def _eligible(self, claim: PersistentVolumeClaim) -> Eligible | None:
        """What the claim's own selector says of a volume, by its name."""
        if claim.spec.volume_attributes_class_name and not self._with_attributes_classes:
            raise InvalidObjectError(
                f"unsupported volumeAttributesClassName is set on claim {claim.metadata.key} "
                "when the feature-gate VolumeAttributesClass is disabled"
            )
        if claim.spec.selector is None:
            return None
        try:
            selector = compile_label_selector(claim.spec.selector)
        except InvalidObjectError as error:
            raise InvalidObjectError(
                f"error creating internal label selector for claim: {claim.metadata.key}: {error}"
            ) from error

        def eligible(name: str) -> bool:
            volume = self._volumes.get(name)
            return volume is not None and selector.matches(volume.metadata.labels)

        return eligible

    def _pre_bound_to(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        wanted = _wanted_shape(claim)
        for name in sorted(self._pre_bound.get((claim.metadata.namespace, claim.metadata.name), ())):
            volume = self._volumes.get(name)
            if (
                volume is not None
                and is_bound_to(volume, claim)
                and _shape(volume)[:3] == wanted[:3]
                and _size(volume) >= _request(claim)
                and volume.metadata.deletion_timestamp is None
                and self._is_supported(volume)
            ):
                return volume
        return None

    def _file(self, name: str) -> None:
        if (claim := self._claim_of.pop(name, None)) is not None:
            self._pre_bound[claim].discard(name)
            if not self._pre_bound[claim]:
                del self._pre_bound[claim]
        volume = self._volumes.get(name)
        if volume is not None and (reference := volume.spec.claim_ref) is not None:
            claim = self._claim_of[name] = reference.namespace, reference.name
            self._pre_bound[claim].add(name)
        if volume is not None and self._is_free(volume):
            shape = _shape(volume)
            self._shapes[shape.storage_class].add(shape)
            self._free.add(shape, name, _size(volume), affinity_of(volume))
        else:
            self._free.remove(name)

    def _is_free(self, volume: PersistentVolume) -> bool:
        return (
            volume.spec.claim_ref is None
            and volume.status.phase == "Available"
            and volume.metadata.deletion_timestamp is None
            and self._is_supported(volume)
        )

    def _is_supported(self, volume: PersistentVolume) -> bool:
        return self._with_attributes_classes or not volume.spec.volume_attributes_class_name


def _wanted_shape(claim: PersistentVolumeClaim) -> Shape:
    spec = claim.spec
    return Shape(
        class_of_claim(claim),
        spec.volume_mode or _FILESYSTEM,
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
    )


def _shape(volume: PersistentVolume) -> Shape:
    spec = volume.spec
    return Shape(
        class_of_volume(volume),
        spec.volume_mode or _FILESYSTEM,
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
    )


def _size(volume: PersistentVolume) -> int:
    return volume.spec.capacity.get(STORAGE, Quantity.ZERO).nanos


def _request(claim: PersistentVolumeClaim) -> int:
    return claim.spec.resources.requests.get(STORAGE, Quantity.ZERO).nanos
