"""The quotas of all namespaces, and what their pods use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubesched.contrib.capacity_scheduling.amounts import UNLIMITED, Amounts, add, amounts, exceeds, request_of
from kubesched.contrib.capacity_scheduling.elastic_quota import ElasticQuota
from kubesched.framework import Handle, ObjectStore, Pod

_ANYTHING: Amounts = dict.fromkeys(("cpu", "memory", "ephemeral-storage"), UNLIMITED)


class Quota(NamedTuple):
    """A quota and what is used of it. `used` follows the pods: copy it to suppose something."""

    minimum: Amounts
    maximum: Amounts
    used: Amounts

    def exceeds_max_with(self, asked: Mapping[str, int]) -> bool:
        return exceeds(asked, self.used, self.maximum, unnamed=UNLIMITED)

    def exceeds_min_with(self, asked: Mapping[str, int]) -> bool:
        return exceeds(asked, self.used, self.minimum, unnamed=0)

    def exceeds_min(self) -> bool:
        """Whether it borrows from others."""
        return exceeds(self.used, {}, self.minimum, unnamed=0)


class Quotas:
    """By namespace. Pods count from the time they get a node, assumed ones included, until they have ended."""

    def __init__(self, handle: Handle) -> None:
        self._templates = handle.cluster.templates
        self._store: ObjectStore[ElasticQuota] = handle.informer(ElasticQuota)
        self._used: dict[str, Amounts] = {}
        self._counted: dict[str, tuple[str, Amounts]] = {}  # by uid: namespace and request
        self._known: tuple[int, dict[str, Quota]] = (-1, {})
        pods = handle.objects.of(Pod)
        pods.subscribe(self._changed)
        for pod in pods:
            self._changed(None, pod)

    @property
    def version(self) -> int:
        """Changes with the quotas, not with what is used of them."""
        return self._store.version

    def all(self) -> Mapping[str, Quota]:
        version, quotas = self._known
        if version != self._store.version:
            quotas = {}
            for one in self._store:
                namespace, spec = one.metadata.namespace, one.spec
                maximum = amounts(spec.max) if spec.max is not None else _ANYTHING
                used = self._used.setdefault(namespace, {})
                quotas.setdefault(namespace, Quota(amounts(spec.min or {}), maximum, used))
            self._known = (self._store.version, quotas)
        return quotas

    def count(self, pod: Pod) -> None:
        """Idempotent."""
        uid, namespace = pod.metadata.uid, pod.metadata.namespace
        if uid not in self._counted:
            request = request_of(self._templates.info(pod).template)
            self._counted[uid] = namespace, request
            add(self._used.setdefault(namespace, {}), request)

    def drop(self, pod: Pod) -> None:
        """Idempotent."""
        found = self._counted.pop(pod.metadata.uid, None)
        if found is not None:
            namespace, request = found
            add(self._used[namespace], request, -1)

    def take_over(self, previous: Quotas) -> None:
        """Pods that are assumed, and not bound yet, count on."""
        for uid, (namespace, request) in previous._counted.items():
            if uid not in self._counted:
                self._counted[uid] = namespace, request
                add(self._used.setdefault(namespace, {}), request)

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.spec.node_name and not new.is_terminal:
            self.count(new)
        elif old is not None and old.spec.node_name:
            self.drop(old)


def together(quotas: Mapping[str, Quota]) -> tuple[Amounts, Amounts]:
    """What is used of all quotas, and what they guarantee."""
    used: Amounts = {}
    guaranteed: Amounts = {}
    for quota in quotas.values():
        add(used, quota.used)
        add(guaranteed, quota.minimum)
    return used, guaranteed


def all_exceed_min_with(quotas: Mapping[str, Quota], asked: Mapping[str, int]) -> bool:
    """Whether more would be used than all quotas guarantee together: there is nothing left to borrow."""
    used, guaranteed = together(quotas)
    add(used, asked)
    return exceeds(used, {}, guaranteed, unnamed=0)
