"""Pods on nodes that are gone: nobody else would ever end them (`podgc`)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.options import DeleteOptions
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

NAME: Final = "pod-cleanup"
QUARANTINE: Final = 5.0  # a node may come back under its name


class PodCleanupController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        context.nodes.listen(self._node_changed)
        context.pods.listen(self._pod_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        pod = self._context.pods.get(name, namespace)
        if pod is None or not pod.spec.node_name or self._context.nodes.get(pod.spec.node_name) is not None:
            return
        resource = self._context.pods.resource
        if not pod.is_finished:
            self._context.set_status(resource, pod.metadata, _fail)
        try:
            self._context.api.delete(resource, name, namespace, DeleteOptions(grace_period=0, uid=pod.metadata.uid))
        except RequestRefusedError as refusal:
            if refusal.code not in (404, 409):
                raise

    def _node_changed(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        if old is not None and new is None:
            for pod in self._context.pods_on[old.metadata.name]:
                self._context.enqueue(NAME, pod.metadata, after=QUARANTINE)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        is_new_there = new is not None and new.spec.node_name and (old is None or not old.spec.node_name)
        if new is not None and is_new_there and self._context.nodes.get(new.spec.node_name) is None:
            self._context.enqueue(NAME, new.metadata, after=QUARANTINE)


def _fail(status: Json) -> None:
    status["phase"] = "Failed"
