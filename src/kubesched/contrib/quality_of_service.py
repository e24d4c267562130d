"""Quality of service: the class that Kubernetes gives a pod by its requests and limits."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kubesched.framework import PodTemplate, Quantity, ResourceRequirements

_COMPUTE: Final = ("cpu", "memory")


class QualityOfService(enum.IntEnum):
    """A lower number is the better class."""

    GUARANTEED = 0
    BURSTABLE = 1
    BEST_EFFORT = 2


def quality_of_service(pod: PodTemplate) -> QualityOfService:
    """The class that the API server writes to a pod's status (ComputePodQOS)."""
    spec = pod.spec
    if spec.resources is not None:
        return _quality([spec.resources], all_limited=not spec.resources.limits or _limits_both(spec.resources))
    resources = [container.resources for container in (*spec.containers, *spec.init_containers)]
    return _quality(resources, all_limited=all(map(_limits_both, resources)))


def _quality(resources: Sequence[ResourceRequirements], *, all_limited: bool) -> QualityOfService:
    requests, limits = _sums([one.requests for one in resources]), _sums([one.limits for one in resources])
    if not requests and not limits:
        return QualityOfService.BEST_EFFORT
    return QualityOfService.GUARANTEED if all_limited and requests == limits else QualityOfService.BURSTABLE


def _limits_both(resources: ResourceRequirements) -> bool:
    return all(resources.limits.get(name, Quantity.ZERO) > Quantity.ZERO for name in _COMPUTE)


def _sums(amounts: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    """What is asked for of CPU and memory together; a resource that nobody asks for is not in it."""
    total: dict[str, Quantity] = {}
    for one in amounts:
        for name in _COMPUTE:
            amount = one.get(name, Quantity.ZERO)
            if amount > Quantity.ZERO:
                total[name] = total[name] + amount if name in total else amount
    return total
