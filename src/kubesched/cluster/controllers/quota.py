"""Resource quotas: their status says what is used. Whether there is room is decided when objects are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubesched.cluster.apiserver.verbs.watching import Watch
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.records import PodRecord, WorkloadRecord
from kubesched.objects.base import Json

NAME: Final = "quota"
RESTLESS: Final = frozenset({"pods", "resourcequotas", "events", "events.events.k8s.io", "leases.coordination.k8s.io"})
"""Kinds that change all the time: pods and quotas are observed anyway, a quota of the others is counted late."""


class QuotaController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._resource = context.quotas.resource
        context.quotas.listen(self._quota_changed)
        context.pods.listen(self._pod_changed)
        for resource in context.api.catalog:
            if resource.namespaced and resource.qualified not in RESTLESS:
                watch = context.api.watch(resource)
                watch.listen(self._reader(watch))

    def reconcile(self, namespace: str, name: str) -> None:
        quota = self._context.quotas.get(name, namespace)
        if quota is None:
            return

        def change(status: Json) -> None:
            whole = self._context.api.get(self._resource, name, namespace)
            hard = (whole.get("spec") or {}).get("hard") or {}
            status |= {"hard": hard, "used": self._context.api.quotas.used(whole)}

        self._context.set_status(self._resource, quota.metadata, change)

    def _quota_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        quota = new or old
        assert quota is not None
        if old is None or new is None or old.spec != new.spec:
            self._something_changed(quota.metadata.namespace)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if old is None or new is None or old.is_finished != new.is_finished:
            pod = new or old
            assert pod is not None
            self._something_changed(pod.metadata.namespace)

    def _reader(self, watch: Watch) -> Callable[[], None]:
        def read() -> None:
            for seen in watch.read():
                self._something_changed(seen.change.entry.namespace)

        return read

    def _something_changed(self, namespace: str) -> None:
        if len(self._context.quotas):
            for quota in self._context.quotas.in_namespace(namespace):
                self._context.enqueue(NAME, quota.metadata)
