"""The admission chain: the namespace, what the resource's own rule says, and quotas.

A real server also mounts service account tokens, protects volumes in use by finalizers and taints new nodes as not
ready. It is left out here because the controllers that would undo it are: a claim could never be deleted, and a node
that somebody applies as ready would never take a pod.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.admission.quotas import Quotas
from kubesched.cluster.apiserver.resource import AdmissionContext, Resource, Stored
from kubesched.cluster.apiserver.storage import Store
from kubesched.objects.base import Json


class Admission:
    """`admit` may change an object in place, before it is validated; `validate` comes after. Both may refuse it."""

    def __init__(self, store: Store, resources: Sequence[Resource], stored: Stored, rng: random.Random) -> None:
        self._namespaces = stored("namespaces")
        self._plugins = {
            resource.qualified: resource.rules.admission(AdmissionContext(resource, stored, rng))
            for resource in resources
            if resource.rules.admission is not None
        }
        self.quotas = Quotas(store, resources)

    def admit(self, resource: Resource, value: Json, old: Json | None = None) -> None:
        """`old` is what is replaced; None for a new object, which needs a namespace that takes it."""
        if old is None and resource.namespaced:
            self._require_namespace(resource, value["metadata"])
        if plugin := self._plugins.get(resource.qualified):
            plugin.admit(value, old)

    def validate(self, resource: Resource, value: Json, old: Json | None = None) -> None:
        if plugin := self._plugins.get(resource.qualified):
            plugin.validate(value, old)
        self.quotas.validate(resource, value, old)

    def _require_namespace(self, resource: Resource, metadata: Json) -> None:
        name = metadata.get("namespace", "")
        found = self._namespaces.get("", name)
        if found is None:
            raise status.not_found(_NAMESPACES, name)
        if found.fields.get("status.phase") == "Terminating":
            message = f"unable to create new content in namespace {name} because it is being terminated"
            raise status.forbidden(resource, metadata.get("name", ""), message, cause="NamespaceTerminating")


class _Namespaces:
    group, kind, plural = "", "Namespace", "namespaces"


_NAMESPACES = _Namespaces()
