"""What scheduling reads of a pod, computed once for all pods that agree in it.

The replicas of a Deployment differ in name and uid only; they share one `PodTemplate`. Whatever depends on nothing
else (requests, tolerations, compiled selectors, the answers of filters and scores) is computed once per template.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from kubesched.columns.affinity_terms import (
    AffinityTerm,
    CarriedTerm,
    TermKind,
    carried,
    compile_terms,
    compile_weighted,
)
from kubesched.columns.interning import Interner
from kubesched.errors import InvalidObjectError
from kubesched.objects import ContainerPort, Pod, Quantity, Taint, Volume
from kubesched.objects.pod_resources import DEFAULT_FEATURES, ResourceFeatures, scheduled_usage
from kubesched.objects.tolerations import tolerates_taint

HostPort = tuple[str, str, int]
"""(address, protocol, port); the address is 0.0.0.0 where the pod names none."""

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a host port's wildcard, nothing is bound here


class VolumeClaim(NamedTuple):
    """A persistent volume claim that a pod uses; one for an ephemeral volume is made for this pod, and owned by it."""

    name: str
    is_ephemeral: bool


class PodTemplate:
    """One distinct scheduling-relevant spec. Compare and hash by identity: `PodTemplates` interns them."""

    def __init__(
        self, exemplar: Pod, resources: Interner[str], features: ResourceFeatures, wanted_node: str = ""
    ) -> None:
        self.exemplar = exemplar
        """A pod with this template. Only what the template's key covers may be read from it."""
        self.namespace = exemplar.metadata.namespace
        self.labels: Mapping[str, str] = exemplar.metadata.labels
        self.spec = exemplar.spec
        self.priority = exemplar.priority
        self.wanted_node = wanted_node
        """The node that a pending pod asks for by name; empty for placed pods."""
        usage = scheduled_usage(exemplar, features)
        self.requests: Mapping[str, int] = usage.requests
        self.request_vector: tuple[tuple[int, int], ...] = tuple(
            (resources.id_of(name), amount) for name, amount in usage.requests.items() if amount
        )
        self.nonzero_cpu, self.nonzero_memory = usage.non_zero_cpu, usage.non_zero_memory

    def __repr__(self) -> str:
        return f"PodTemplate(like {self.exemplar.key})"

    def tolerates(self, taint: Taint) -> bool:
        return any(tolerates_taint(toleration, taint) for toleration in self.spec.tolerations)

    @cached_property
    def host_ports(self) -> frozenset[HostPort]:
        """Ports that the pod takes on its node: of containers and of sidecars, not of other init containers."""
        containers = (*self.spec.containers, *(c for c in self.spec.init_containers if c.is_sidecar))
        return frozenset(_host_port(port) for c in containers for port in c.ports if port.host_port > 0)

    @cached_property
    def claim_names(self) -> tuple[str, ...]:
        """Persistent volume claims named by the pod's volumes, without those of ephemeral volumes."""
        sources = (volume.persistent_volume_claim for volume in self.spec.volumes)
        return tuple(source.claim_name for source in sources if source is not None)

    @cached_property
    def volume_claims(self) -> tuple[VolumeClaim, ...]:
        """The claims behind the pod's volumes in the order of the volumes, those of ephemeral ones included."""
        claims: list[VolumeClaim] = []
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                claims.append(VolumeClaim(volume.persistent_volume_claim.claim_name, is_ephemeral=False))
            elif volume.ephemeral is not None:
                claims.append(VolumeClaim(f"{self.exemplar.metadata.name}-{volume.name}", is_ephemeral=True))
        return tuple(claims)

    @cached_property
    def required_affinity(self) -> tuple[AffinityTerm, ...]:
        affinity = self.spec.affinity and self.spec.affinity.pod_affinity
        terms = affinity.required_during_scheduling_ignored_during_execution if affinity else ()
        return compile_terms(terms, self.namespace)

    @cached_property
    def required_anti_affinity(self) -> tuple[AffinityTerm, ...]:
        affinity = self.spec.affinity and self.spec.affinity.pod_anti_affinity
        terms = affinity.required_during_scheduling_ignored_during_execution if affinity else ()
        return compile_terms(terms, self.namespace)

    @cached_property
    def preferred_affinity(self) -> tuple[AffinityTerm, ...]:
        affinity = self.spec.affinity and self.spec.affinity.pod_affinity
        terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        return compile_weighted(terms, self.namespace)

    @cached_property
    def preferred_anti_affinity(self) -> tuple[AffinityTerm, ...]:
        affinity = self.spec.affinity and self.spec.affinity.pod_anti_affinity
        terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        return compile_weighted(terms, self.namespace)

    def terms(self, kind: TermKind) -> tuple[AffinityTerm, ...]:
        match kind:
            case TermKind.REQUIRED_AFFINITY:
                return self.required_affinity
            case TermKind.REQUIRED_ANTI_AFFINITY:
                return self.required_anti_affinity
            case TermKind.PREFERRED_AFFINITY:
                return self.preferred_affinity
            case TermKind.PREFERRED_ANTI_AFFINITY:
                return self.preferred_anti_affinity

    @cached_property
    def carried_terms(self) -> Mapping[CarriedTerm, int]:
        """All terms with their weights. A placed pod's terms that do not compile are as if absent (PodInfo.Update)."""
        if not self.has_affinity:
            return {}
        found: dict[CarriedTerm, int] = {}
        for kind in TermKind:
            with contextlib.suppress(InvalidObjectError):
                found |= carried(kind, self.terms(kind))
        return found

    @cached_property
    def tags(self) -> frozenset[Hashable]:
        """Its labels and its affinity terms: what counts are narrowed by (see `PodCounts.of`)."""
        return frozenset((*self.labels.items(), *self.carried_terms))

    @cached_property
    def has_affinity(self) -> bool:
        affinity = self.spec.affinity
        return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)


class PodInfo:
    """A pod with its template: what the cache, the queue and the cycles pass around."""

    __slots__ = ("__weakref__", "pod", "template")

    def __init__(self, pod: Pod, template: PodTemplate) -> None:
        self.pod = pod
        self.template = template

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    @property
    def key(self) -> str:
        return self.pod.key

    @property
    def priority(self) -> int:
        return self.template.priority

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


class PodTemplates:
    """Interns templates: equal specs give the same object for as long as somebody holds it."""

    def __init__(self, resources: Interner[str], features: ResourceFeatures = DEFAULT_FEATURES) -> None:
        self._resources = resources
        self.features = features
        self._known: weakref.WeakValueDictionary[bytes, PodTemplate] = weakref.WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def info(self, pod: Pod, *, wanted_node: str = "") -> PodInfo:
        """Raises ValueError for a pod whose spec makes no sense (a selector that does not compile, say)."""
        key = _ENCODER.encode(_identity(pod, wanted_node))
        template = self._known.get(key)
        if template is None:
            template = self._known[key] = PodTemplate(pod, self._resources, self.features, wanted_node)
        return PodInfo(pod, template)


def _identity(pod: Pod, wanted_node: str) -> tuple[object, ...]:
    """Everything of a pod that a filter, a score or a count may read. What is left out must not matter to any."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    volumes = [volume for volume in spec.volumes if volume != Volume(name=volume.name)]
    owner = metadata.controller_of
    # A claim that is made for one pod is named after it and owned by it: such pods share nothing.
    is_unique = spec.resource_claims or any(volume.ephemeral for volume in volumes)
    return (
        metadata.namespace,
        metadata.labels,
        (metadata.name, metadata.uid, status.resource_claim_statuses) if is_unique else None,
        (owner.api_version, owner.kind, owner.name) if owner else None,
        wanted_node,
        spec.node_selector,
        spec.containers,
        spec.init_containers,
        spec.resources,
        spec.overhead,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        volumes,
        spec.resource_claims,
        spec.scheduling_group,
        spec.priority,
        spec.preemption_policy,
        spec.scheduler_name,
        spec.host_network,
        spec.host_users,
        spec.restart_policy,
        status.extended_resource_claim_status,
        _resize_state(pod) if status.container_statuses or status.resources else None,
    )


def _resize_state(pod: Pod) -> object:
    """The resources in the status, where they differ from the spec (a resize in place); None otherwise."""
    spec, status = pod.spec, pod.status
    in_spec = {c.name: c.resources.requests for c in (*spec.containers, *spec.init_containers)}
    statuses = (*status.container_statuses, *status.init_container_statuses)
    settled = status.resources is None and all(
        (s.resources is None or s.resources.requests == in_spec.get(s.name))
        and (not s.allocated_resources or s.allocated_resources == in_spec.get(s.name))
        for s in statuses
    )
    if settled:
        return None
    pending = [c for c in status.conditions if c.type == "PodResizePending"]
    return (statuses, status.resources, status.allocated_resources, status.resize, pending)


def _host_port(port: ContainerPort) -> HostPort:
    return (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)


def _encode_quantity(value: object) -> str:
    if isinstance(value, Quantity):
        return str(value)
    raise TypeError(f"a pod's identity holds a {type(value).__name__}")


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_encode_quantity, order="deterministic")
