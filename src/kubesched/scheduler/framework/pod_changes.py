"""Changes of a pod that a filter would let pass: plugins propose them, `kubesched explain` tries them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from kubesched.objects.affinity import Affinity
from kubesched.objects.pod import Container, PodSpec


@dataclass(frozen=True, slots=True)
class PodChange:
    """One change of a pod's spec. `says` completes the sentence "it would fit if it …": `tolerated gpu:NoSchedule`."""

    says: str
    apply: Callable[[PodSpec], PodSpec]
    resource: str = ""
    """Set if the change is to ask for less of this resource: `{free}` in `says` is what the best node has left of it,
    and `apply` asks for none."""


def without_each(field: str, noun: str, spec: PodSpec) -> Iterator[PodChange]:
    """The pod without one of several things that have names: volumes, claims."""
    for item in getattr(spec, field):
        yield PodChange(f"had no {noun} {item.name}", partial(without_item, field, item))


def without_item(field: str, item: object, spec: PodSpec) -> PodSpec:
    return replace(spec, **{field: tuple(other for other in getattr(spec, field) if other != item)})


def without_required_affinity(field: str, noun: str, spec: PodSpec) -> Iterator[PodChange]:
    """The pod without one kind of affinity (`node_affinity`, …), if it requires something by it."""
    terms = getattr(spec.affinity, field, None)
    if terms is not None and terms.required_during_scheduling_ignored_during_execution:
        yield PodChange(f"had no required {noun}", partial(_without_affinity, field))


def _without_affinity(field: str, spec: PodSpec) -> PodSpec:
    return replace(spec, affinity=replace(spec.affinity or Affinity(), **{field: None}))


def with_containers(edit: Callable[[Container], Container], spec: PodSpec) -> PodSpec:
    """The pod with all its containers edited."""
    return replace(
        spec, containers=tuple(map(edit, spec.containers)), init_containers=tuple(map(edit, spec.init_containers))
    )
