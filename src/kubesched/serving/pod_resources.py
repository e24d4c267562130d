"""Requests and limits of every pod as the scheduler counts them: kube_pod_resource_request and _limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from prometheus_client.core import GaugeMetricFamily, Metric

from kubesched.objects import Pod
from kubesched.objects.pod import Container
from kubesched.objects.quantity import Quantity

Kind = Literal["requests", "limits"]
Amounts = dict[str, int]
"""Resource name → billionths of a unit."""

LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
NAMES: Final[Mapping[Kind, str]] = {"requests": "kube_pod_resource_request", "limits": "kube_pod_resource_limit"}
HELP: Final[Mapping[Kind, str]] = {
    "requests": "[STABLE] Resources requested by workloads on the cluster, broken down by pod. This shows the resource "
    "usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
    "limits": "[STABLE] Resources limit for workloads on the cluster, broken down by pod. This shows the resource "
    "usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
}
UNITS: Final = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}
PODS_PER_FAMILY: Final = 500


def families(pods: Sequence[Pod]) -> Iterator[Metric]:
    """The two metrics, in pieces of some hundred pods, so that a large cluster does not hold up the loop."""
    kinds: tuple[Kind, Kind] = ("requests", "limits")
    for kind in kinds:
        for start in range(0, len(pods), PODS_PER_FAMILY):
            yield _family(kind, pods[start : start + PODS_PER_FAMILY])


def _family(kind: Kind, pods: Iterable[Pod]) -> Metric:
    family = GaugeMetricFamily(NAMES[kind], HELP[kind], labels=LABELS)
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in ("Succeeded", "Failed"):
            continue
        priority = "" if pod.spec.priority is None else str(pod.spec.priority)
        who = (pod.metadata.namespace, pod.metadata.name, pod.spec.node_name, pod.spec.scheduler_name, priority)
        for resource, nanos in sorted(pod_total(pod, kind).items()):
            if nanos:
                family.add_metric((*who, resource, _unit(resource)), nanos / 10**9)
    return family


def pod_total(pod: Pod, kind: Kind) -> Amounts:
    """What a pod counts for: containers and sidecars, or its largest init step, then pod level, then overhead.

    component-helpers' PodRequests and PodLimits, by the spec alone.
    """
    total: Amounts = {}
    sidecars: Amounts = {}
    init_peak: Amounts = {}
    for container in pod.spec.containers:
        _add(total, _of(container, kind))
    for container in pod.spec.init_containers:
        own = _of(container, kind)
        if container.is_sidecar:
            _add(total, own)
            _add(sidecars, own)
            step = sidecars
        else:
            step = dict(sidecars)
            _add(step, own)
        _raise_to(init_peak, step)
    _raise_to(total, init_peak)
    if pod.spec.resources is not None:
        at_pod_level: Mapping[str, Quantity] = getattr(pod.spec.resources, kind)
        total |= {name: amount.nanos for name, amount in at_pod_level.items() if _counts_at_pod_level(name)}
    for name, amount in pod.spec.overhead.items():
        if kind == "requests" or total.get(name):
            total[name] = total.get(name, 0) + amount.nanos
    return total


def _of(container: Container, kind: Kind) -> Amounts:
    amounts: Mapping[str, Quantity] = getattr(container.resources, kind)
    return {name: amount.nanos for name, amount in amounts.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, nanos in more.items():
        total[name] = total.get(name, 0) + nanos


def _raise_to(total: Amounts, least: Amounts) -> None:
    for name, nanos in least.items():
        total[name] = max(total.get(name, 0), nanos)


def _counts_at_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    if resource.startswith("attachable-volumes-"):
        return "integer"
    return UNITS.get(resource, "")
