"""Taint eviction: pods leave a node whose NoExecute taints they do not tolerate, or not for long."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.objects.affinity import Taint
from kubesched.objects.tolerations import tolerates_taint

NAME: Final = "taint-eviction"
NO_EXECUTE: Final = "NoExecute"


class TaintEvictionController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "taint-eviction-controller")
        self._first_seen: dict[str, float] = {}  # pods by uid that have to leave, sooner or later
        context.nodes.listen(self._node_changed)
        context.pods.listen(self._pod_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        pod = self._context.pods.get(name, namespace)
        if pod is None or pod.metadata.deletion_timestamp is not None or pod.is_finished:
            return
        node = self._context.nodes.get(pod.spec.node_name)
        taints = _no_execute(node) if node is not None else []
        left = seconds_left(pod, taints)
        if left is None:
            self._first_seen.pop(pod.metadata.uid, None)
            return
        now = self._context.clock.monotonic()
        due = self._first_seen.setdefault(pod.metadata.uid, now) + left - now
        if due > 0:
            self._context.enqueue(NAME, pod.metadata, after=due)
        else:
            self._evict(pod)

    def _evict(self, pod: PodRecord) -> None:
        metadata = pod.metadata
        message = f"Marking for deletion Pod {metadata.namespace}/{metadata.name}"
        self._events.normal("Pod", metadata, "TaintManagerEviction", message)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        }
        now = self._context.timestamp()
        resource = self._context.pods.resource
        self._context.set_status(resource, metadata, lambda status: conditions.put(status, condition, now))
        self._context.delete(resource, metadata)

    def _node_changed(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        if new is not None and (_no_execute(new) if old is None else _no_execute(old) != _no_execute(new)):
            for pod in self._context.pods_on[new.metadata.name]:
                self._context.enqueue(NAME, pod.metadata)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if new is None:
            assert old is not None
            self._first_seen.pop(old.metadata.uid, None)
        elif new.spec.node_name and (old is None or old.spec != new.spec):
            node = self._context.nodes.get(new.spec.node_name)
            if node is not None and _no_execute(node):
                self._context.enqueue(NAME, new.metadata)


def seconds_left(pod: PodRecord, taints: list[Taint]) -> float | None:
    """How long the pod may stay; None: for ever (`getMinTolerationTime`)."""
    limits: list[int] = []
    for taint in taints:
        using = [item for item in pod.spec.tolerations if tolerates_taint(item, taint)]
        if not using:
            return 0.0
        limits += [item.toleration_seconds for item in using if item.toleration_seconds is not None]
    return max(0.0, float(min(limits))) if limits else None


def _no_execute(node: NodeRecord) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]
