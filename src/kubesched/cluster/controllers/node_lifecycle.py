"""Node lifecycle: a node's conditions and its cordon become taints, and pods of a failed node are not ready."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import NodeRecord
from kubesched.objects.base import Json

NAME: Final = "node-lifecycle"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
PRESSURES: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
OURS: Final = {NOT_READY, UNREACHABLE, UNSCHEDULABLE, *PRESSURES.values()}


class NodeLifecycleController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "node-controller")
        context.nodes.listen(self._changed)

    def reconcile(self, namespace: str, name: str) -> None:
        node = self._context.nodes.get(name)
        if node is None:
            return
        wanted = wanted_taints(node)
        current = [(taint.key, taint.effect) for taint in node.spec.taints if taint.key in OURS]
        if sorted(wanted) != sorted(current):
            now = self._context.timestamp()
            self._context.change(
                self._context.nodes.resource, node.metadata, lambda value: _retaint(value, wanted, now)
            )
        if node.ready in ("False", "Unknown"):
            self._mark_pods(node)

    def _mark_pods(self, node: NodeRecord) -> None:
        """Nobody can say that these pods answer (`MarkPodsNotReady`)."""
        now = self._context.timestamp()
        for pod in self._context.pods_on[node.metadata.name]:
            if not pod.is_ready:
                continue

            def unready(status: Json) -> None:
                ready = conditions.find(status, "Ready")
                if ready is not None:
                    conditions.put(status, {**ready, "status": "False"}, now)

            self._context.set_status(self._context.pods.resource, pod.metadata, unready)
            self._events.warning("Pod", pod.metadata, "NodeNotReady", "Node is not ready")

    def _changed(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        if new is not None and (old is None or old.spec != new.spec or old.status != new.status):
            self._context.enqueue(NAME, new.metadata)


def wanted_taints(node: NodeRecord) -> list[tuple[str, str]]:
    """What a node's state asks for: (key, effect)."""
    wanted = []
    failed = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(node.ready)
    if failed is not None:
        wanted += [(failed, "NoSchedule"), (failed, "NoExecute")]
    for condition in node.status.conditions:
        if condition.type in PRESSURES and condition.status == "True":
            wanted.append((PRESSURES[condition.type], "NoSchedule"))
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    return wanted


def _retaint(node: Json, wanted: list[tuple[str, str]], now: str) -> None:
    spec = node.setdefault("spec", {})
    taints = spec.get("taints") or []
    kept = [item for item in taints if item["key"] not in OURS or (item["key"], item["effect"]) in wanted]
    known = {(item["key"], item["effect"]) for item in kept}
    added = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in wanted if (key, effect) not in known]
    spec["taints"] = kept + added
    if not spec["taints"]:
        del spec["taints"]
