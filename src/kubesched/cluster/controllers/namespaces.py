"""Namespaces: a new one gets its default service account; one that is deleted is emptied first."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.options import DeleteOptions
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.informer import Informer
from kubesched.cluster.records import WorkloadRecord
from kubesched.errors import RequestRefusedError

NAME: Final = "namespace"
LOOK_AGAIN: Final = 0.5
ACCOUNT: Final = "default"


class NamespaceController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._namespaces = Informer(context.api, "namespaces", WorkloadRecord)
        self._accounts = context.api.catalog.named("serviceaccounts")
        self._contents = [item for item in context.api.catalog if item.namespaced and "delete" in item.verbs]
        self._namespaces.listen(self._changed)

    def reconcile(self, namespace: str, name: str) -> None:
        found = self._namespaces.get(name)
        if found is None:
            return
        if found.metadata.deletion_timestamp is None:
            self._ensure_account(name)
        elif self._empty(name):
            self._let_go(found)
        else:
            self._context.enqueue(NAME, found.metadata, after=LOOK_AGAIN)

    def _ensure_account(self, namespace: str) -> None:
        if self._context.api.reader.bucket(self._accounts).get(namespace, ACCOUNT) is None:
            self._context.api.create(self._accounts, {"metadata": {"name": ACCOUNT}}, namespace)

    def _empty(self, namespace: str) -> bool:
        """Delete whatever is in there; True when nothing is left."""
        left = 0
        for resource in self._contents:
            for entry in self._context.api.reader.bucket(resource).in_order(namespace):
                left += not self._delete(resource, entry.name, namespace)
        return not left

    def _delete(self, resource: Resource, name: str, namespace: str) -> bool:
        try:
            return self._context.api.delete(resource, name, namespace, DeleteOptions(propagation="Background")).gone
        except RequestRefusedError as refusal:
            if refusal.code == 404:
                return True
            raise

    def _let_go(self, namespace: WorkloadRecord) -> None:
        resource = self._namespaces.resource
        found = self._context.api.reader.get(resource, namespace.metadata.name)
        value = found.decode()
        value["spec"]["finalizers"] = []
        self._context.api.writer.replace(resource, found, {}, value)

    def _changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if new is not None:
            self._context.enqueue(NAME, new.metadata)
