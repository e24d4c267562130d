"""What a pod asks for, and of whom: its containers one by one, or as a whole.

Amounts are thousandths: of a CPU, of a byte, of a device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kubesched.contrib.quality_of_service import QualityOfService, quality_of_service
from kubesched.framework import PodSpec, PodTemplate, Quantity

Amounts = tuple[tuple[str, int], ...]
"""By resource, in the order in which they are named. Requests of 0 are among them."""

_HUGE_PAGES: Final = "hugepages-"
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_LARGEST: Final = 1 << 62
_NANOS_PER_MILLI: Final = 10**6
_DEMAND: Final = object()


class Demand(NamedTuple):
    """All that the plugin reads of a pod."""

    quality: QualityOfService
    init_containers: tuple[tuple[bool, Amounts], ...]
    """Whether it is a sidecar, and what it asks for."""
    containers: tuple[Amounts, ...]
    pod: Amounts
    """What the pod asks for as a whole."""

    @property
    def is_guaranteed(self) -> bool:
        return self.quality is QualityOfService.GUARANTEED

    @property
    def is_judged(self) -> bool:
        """Not if it asks for nothing that a zone might lack: a best-effort pod without devices."""
        asked = [amounts for _, amounts in self.init_containers]
        return self.quality is not QualityOfService.BEST_EFFORT or any(
            not is_native(name) for amounts in (*asked, *self.containers) for name, _ in amounts
        )


def demand_of(pod: PodTemplate) -> Demand:
    known: Demand | None = pod.memo.get(_DEMAND)
    if known is None:
        spec = pod.spec
        known = pod.memo[_DEMAND] = Demand(
            quality_of_service(pod),
            tuple([(one.is_sidecar, _amounts(one.resources.requests)) for one in spec.init_containers]),
            tuple([_amounts(one.resources.requests) for one in spec.containers]),
            effective_request(spec),
        )
    return known


def effective_request(spec: PodSpec) -> Amounts:
    """The sum of the containers or the largest init container, and the overhead (GetPodEffectiveRequest).

    Sidecars are as other init containers.
    """
    total: dict[str, int] = {}
    _add(total, (one.resources.requests for one in spec.containers))
    for container in spec.init_containers:
        for name, amount in _amounts(container.resources.requests):
            total[name] = max(total.get(name, 0), amount)
    _add(total, [spec.overhead])
    return tuple(total.items())


def is_exclusive(quality: QualityOfService, name: str, amount: int) -> bool:
    """Whether nobody else gets what is given for this request: devices, whole CPUs, memory of guaranteed pods."""
    if not is_native(name):
        return True
    if quality is not QualityOfService.GUARANTEED or amount <= 0:
        return False
    return amount % 1000 == 0 if name == "cpu" else is_numa_affine(name)


def asks_exclusively(pod: PodTemplate) -> bool:
    demand = demand_of(pod)
    asked: Sequence[Amounts] = (*[amounts for _, amounts in demand.init_containers], *demand.containers)
    return any(is_exclusive(demand.quality, name, amount) for amounts in asked for name, amount in amounts)


def is_native(name: str) -> bool:
    """IsNativeResource: a name without a domain, or with that of Kubernetes."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_numa_affine(name: str) -> bool:
    """What belongs to a zone on every machine. Only guaranteed pods get it from one zone."""
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def is_host_level(name: str) -> bool:
    """What may belong to no zone: storage, and devices that say nothing about it."""
    return name in ("ephemeral-storage", "storage") or not is_native(name)


def _amounts(requests: Mapping[str, Quantity]) -> Amounts:
    return tuple([(name, min(-(-amount.nanos // _NANOS_PER_MILLI), _LARGEST)) for name, amount in requests.items()])


def _add(total: dict[str, int], requests: Iterable[Mapping[str, Quantity]]) -> None:
    for one in requests:
        for name, amount in _amounts(one):
            total[name] = min(total.get(name, 0) + amount, _LARGEST)
