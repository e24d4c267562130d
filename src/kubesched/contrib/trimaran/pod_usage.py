"""What a pod asks for, as Trimaran counts it: containers together, or the largest init container, and the overhead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kubesched.framework import PodTemplate, Quantity, ResourceRequirements


class Amounts(NamedTuple):
    """Thousandths of CPU, and bytes of memory."""

    cpu: int
    memory: int


class Asked(NamedTuple):
    """No limit is below the request."""

    requests: Amounts
    limits: Amounts


def asked(pod: PodTemplate) -> Asked:
    """Kept with the template."""
    known: Asked | None = pod.memo.get(Asked)
    if known is None:
        requests = _effective(pod, lambda resources: resources.requests)
        limits = _effective(pod, lambda resources: resources.limits)
        known = Asked(requests, Amounts(max(limits.cpu, requests.cpu), max(limits.memory, requests.memory)))
        pod.memo[Asked] = known
    return known


def _effective(pod: PodTemplate, which: Callable[[ResourceRequirements], Mapping[str, Quantity]]) -> Amounts:
    spec = pod.spec
    containers = [_amounts(which(container.resources)) for container in spec.containers]
    first = [_amounts(which(container.resources)) for container in spec.init_containers]
    overhead = _amounts(spec.overhead)
    cpu = max([sum(one.cpu for one in containers), *(one.cpu for one in first)])
    memory = max([sum(one.memory for one in containers), *(one.memory for one in first)])
    return Amounts(cpu + overhead.cpu, memory + overhead.memory)


def _amounts(resources: Mapping[str, Quantity]) -> Amounts:
    cpu, memory = resources.get("cpu"), resources.get("memory")
    return Amounts(cpu.milli_value() if cpu is not None else 0, memory.value() if memory is not None else 0)
