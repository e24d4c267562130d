"""What scheduling reads of a pod, computed once for all pods that agree in it.

The replicas of a Deployment differ in name and uid only; they share one `PodTemplate`. Whatever depends on nothing
else (requests, tolerations, compiled selectors, the answers of filters and scores) is computed once per template.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Hashable, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod
from kubesched.objects.affinity import Taint
from kubesched.objects.pod import ContainerPort
from kubesched.objects.pod_resources import DEFAULT_FEATURES, ResourceFeatures, scheduled_usage
from kubesched.objects.tolerations import Tolerations
from kubesched.scheduler.columns.affinity_terms import (
    AffinityTerm,
    CarriedTerm,
    TermKind,
    carried,
    compile_terms,
)
from kubesched.scheduler.columns.interning import Interner
from kubesched.scheduler.columns.once import once
from kubesched.scheduler.columns.pod_identity import Parts, identity, parts_of, same_identity

HostPort = tuple[str, str, int]
"""(address, protocol, port); the address is 0.0.0.0 where the pod names none."""

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a host port's wildcard, nothing is bound here


class VolumeClaim(NamedTuple):
    """A persistent volume claim that a pod uses; one for an ephemeral volume is made for this pod, and owned by it."""

    name: str
    is_ephemeral: bool


class _Size:
    """What templates take of a node's resources, by number."""

    __slots__ = ("__weakref__", "memo", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.memo: dict[object, Any] = {}


class PodTemplate:
    """One distinct scheduling-relevant spec. Compare and hash by identity: `PodTemplates` interns them."""

    __slots__ = (
        "__dict__",  # for what is worked out `once`
        "__weakref__",
        "_size",
        "_terms",
        "exemplar",
        "has_plain_requests",
        "labels",
        "memo",
        "namespace",
        "nonzero_cpu",
        "nonzero_memory",
        "priority",
        "request_vector",
        "requests",
        "size",
        "size_memo",
        "spec",
        "wanted_node",
    )

    def __init__(self, exemplar: Pod, known: PodTemplates, wanted_node: str = "") -> None:
        self.exemplar = exemplar
        """A pod with this template. Only what the template's key covers may be read from it."""
        self.namespace = exemplar.metadata.namespace
        self.labels: Mapping[str, str] = exemplar.metadata.labels
        self.spec = exemplar.spec
        self.priority = exemplar.priority
        self.wanted_node = wanted_node
        """The node that a pending pod asks for by name; empty for placed pods."""
        usage = scheduled_usage(exemplar, known.features)
        self.requests: Mapping[str, int] = usage.requests
        self.has_plain_requests = usage.is_plain
        """All rules of `objects.pod_resources` come to the same `requests`."""
        self.request_vector: tuple[tuple[int, int], ...] = tuple(
            (known.resources.id_of(name), amount) for name, amount in usage.requests.items() if amount
        )
        self.nonzero_cpu, self.nonzero_memory = usage.non_zero_cpu, usage.non_zero_memory
        self._size = known.size_of((self.request_vector, self.nonzero_cpu, self.nonzero_memory))
        self.size = self._size.number
        """A positive number, equal for templates that take the same of a node's resources."""

        self.memo: dict[object, Any] = {}
        """What others have worked out about it, by who they are: forgotten with the template."""
        self.size_memo = self._size.memo
        """The same, for what follows from its size alone: forgotten with the last template of that size."""
        self.requests_memo = self.size_memo if self.has_plain_requests else self.memo
        """The same, for what follows from what it requests, by whatever rule."""
        self._terms: dict[TermKind, tuple[AffinityTerm, ...]] = {}

    def __repr__(self) -> str:
        return f"PodTemplate(like {self.exemplar.key})"

    def tolerates(self, taint: Taint) -> bool:
        return self.tolerations.tolerate(taint)

    @once
    def tolerations(self) -> Tolerations:
        return Tolerations(self.spec.tolerations)

    @once
    def host_ports(self) -> frozenset[HostPort]:
        """Ports that the pod takes on its node: of containers and of sidecars, not of other init containers."""
        containers = self.spec.containers
        if self.spec.init_containers:
            containers = (*containers, *[c for c in self.spec.init_containers if c.is_sidecar])
        return frozenset([_host_port(port) for c in containers for port in c.ports if port.host_port > 0])

    @once
    def claim_names(self) -> tuple[str, ...]:
        """Persistent volume claims named by the pod's volumes, without those of ephemeral volumes."""
        sources = [volume.persistent_volume_claim for volume in self.spec.volumes]
        return tuple([source.claim_name for source in sources if source is not None])

    @once
    def volume_claims(self) -> tuple[VolumeClaim, ...]:
        """The claims behind the pod's volumes in the order of the volumes, those of ephemeral ones included."""
        claims: list[VolumeClaim] = []
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                claims.append(VolumeClaim(volume.persistent_volume_claim.claim_name, is_ephemeral=False))
            elif volume.ephemeral is not None:
                claims.append(VolumeClaim(f"{self.exemplar.metadata.name}-{volume.name}", is_ephemeral=True))
        return tuple(claims)

    @property
    def required_affinity(self) -> tuple[AffinityTerm, ...]:
        return self.terms(TermKind.REQUIRED_AFFINITY)

    @property
    def required_anti_affinity(self) -> tuple[AffinityTerm, ...]:
        return self.terms(TermKind.REQUIRED_ANTI_AFFINITY)

    @property
    def preferred_affinity(self) -> tuple[AffinityTerm, ...]:
        return self.terms(TermKind.PREFERRED_AFFINITY)

    @property
    def preferred_anti_affinity(self) -> tuple[AffinityTerm, ...]:
        return self.terms(TermKind.PREFERRED_ANTI_AFFINITY)

    def terms(self, kind: TermKind) -> tuple[AffinityTerm, ...]:
        """Raises InvalidObjectError for a selector that does not compile."""
        terms = self._terms.get(kind)
        if terms is None:
            terms = self._terms[kind] = compile_terms(self.spec.affinity, kind, self.namespace)
        return terms

    @once
    def carried_terms(self) -> Mapping[CarriedTerm, int]:
        """All terms with their weights. A placed pod's terms that do not compile are as if absent (PodInfo.Update)."""
        if not self.has_affinity:
            return {}
        found: dict[CarriedTerm, int] = {}
        for kind in TermKind:
            with contextlib.suppress(InvalidObjectError):
                found |= carried(kind, self.terms(kind))
        return found

    @once
    def tags(self) -> frozenset[Hashable]:
        """Its labels, its affinity terms and its host ports: what counts are narrowed by (see `PodCounts.of`)."""
        return frozenset((*self.labels.items(), *self.carried_terms, *map(port_tag, self.host_ports)))

    @once
    def has_affinity(self) -> bool:
        affinity = self.spec.affinity
        return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)


class PodInfo(msgspec.Struct, eq=False, gc=False):
    """A pod with its template: what the cache, the queue and the cycles pass around.

    A template knows of no pod but its exemplar, so there are no cycles to collect.
    """

    pod: Pod
    template: PodTemplate
    uid: str

    @property
    def key(self) -> str:
        return self.pod.metadata.key

    @property
    def priority(self) -> int:
        return self.template.priority

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


def _nothing() -> None:
    return None


class PodTemplates:
    """Interns templates: equal specs give the same object for as long as somebody holds it."""

    def __init__(self, resources: Interner[str], features: ResourceFeatures = DEFAULT_FEATURES) -> None:
        self.resources = resources
        self.features = features
        self._sizes: weakref.WeakValueDictionary[tuple[object, ...], _Size] = weakref.WeakValueDictionary()
        self._size_numbers = count(1)
        self._known: weakref.WeakValueDictionary[bytes, PodTemplate] = weakref.WeakValueDictionary()
        self._last: tuple[Parts, Callable[[], PodTemplate | None]] = ((), _nothing)
        """The one that was asked for last, if it lives, and by which parts: replicas come one after the other."""

    def __len__(self) -> int:
        return len(self._known)

    def forget_memos(self) -> None:
        """Drop what plugins and engines have worked out: they were replaced."""
        for template in self._known.values():
            template.memo.clear()
        for size in self._sizes.values():
            size.memo.clear()

    def info(self, pod: Pod, wanted_node: str = "") -> PodInfo:
        """Raises ValueError for a pod whose spec makes no sense (a selector that does not compile, say)."""
        parts = parts_of(pod, wanted_node)
        last_parts, last = self._last
        template = last() if parts == last_parts else None
        if template is None:
            key = identity(parts)
            template = self._known.get(key)
            if template is None:
                template = self._known[key] = PodTemplate(pod, self, wanted_node)
            self._last = parts, weakref.ref(template)
        return PodInfo(pod, template, pod.metadata.uid)

    def size_of(self, taken: tuple[object, ...]) -> _Size:
        """The same object for the same size, for as long as a template has it. Numbers are never used twice."""
        size = self._sizes.get(taken)
        if size is None:
            size = self._sizes[taken] = _Size(next(self._size_numbers))
        return size

    def renewed(self, known: PodInfo, pod: Pod) -> PodInfo:
        """As `info`, for a newer version of a known pod: cheaper if nothing that matters has changed."""
        if known.template.wanted_node or not same_identity(known.pod, pod):
            return self.info(pod)
        return PodInfo(pod, known.template, known.uid)


def port_tag(port: HostPort) -> tuple[str, int]:
    """Protocol and number: what two ports must have in common to collide."""
    return port[1:]


def _host_port(port: ContainerPort) -> HostPort:
    return (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
