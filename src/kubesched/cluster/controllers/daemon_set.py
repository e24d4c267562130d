"""DaemonSet: one pod on every node that it may run on."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.controllers.amounts import scaled
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.daemon_placement import Placement, daemon_pod_spec, target_node
from kubesched.cluster.controllers.pod_making import pod_from
from kubesched.cluster.controllers.replica_set import BURST, is_available
from kubesched.cluster.controllers.revisions import HASH_LABEL, Revisions, hash_of
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import NodeRecord, PodRecord, WorkloadRecord
from kubesched.objects.base import Json

NAME: Final = "daemonset"
KIND: Final = "DaemonSet"


class DaemonSetController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "daemonset-controller")
        self._resource = context.daemon_sets.resource
        self._pods = context.pods.resource
        context.wake(NAME, context.daemon_sets, context.pods)
        context.wake(NAME, context.daemon_sets, context.revisions)
        context.nodes.listen(self._node_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        daemon_set = self._context.daemon_sets.get(name, namespace)
        if daemon_set is None:
            return
        if daemon_set.metadata.deletion_timestamp is not None:
            return
        revisions = Revisions(self._context, self._resource, daemon_set)
        revision = revisions.current()
        if revision is None:
            return
        selector = object_selector(daemon_set.spec.get("selector"))
        owned = self._context.owned_pods.of[daemon_set.metadata.uid]
        on_node: dict[str, list[PodRecord]] = {}
        for pod in owned:
            if selector.matches(pod.metadata.labels):
                on_node.setdefault(target_node(self._context.api, pod), []).append(pod)
        placement = Placement(daemon_set.spec["template"])
        wanted = {node.metadata.name for node in self._context.nodes if placement.starts_on(node)}
        kept = {node.metadata.name for node in self._context.nodes if placement.stays_on(node)}
        self._place(daemon_set, on_node, wanted, kept, hash_of(revision))
        self._update(daemon_set, on_node, wanted, hash_of(revision))
        self._report(daemon_set, on_node, wanted, hash_of(revision))
        used = {pod.metadata.labels.get(HASH_LABEL, "") for pod in owned} | {hash_of(revision)}
        revisions.forget({item.metadata.name for item in revisions.all if hash_of(item) in used})

    def _place(
        self,
        daemon_set: WorkloadRecord,
        on_node: dict[str, list[PodRecord]],
        wanted: set[str],
        kept: set[str],
        revision: str,
    ) -> None:
        for node, pods in on_node.items():
            living = [pod for pod in pods if pod.is_active]
            surplus = living if node not in kept else sorted(living, key=_age)[1:]
            for pod in [*surplus, *(pod for pod in pods if pod.is_finished)]:
                self._delete(daemon_set, pod)
        # A node whose pod is on its way out gets the next one when that is gone.
        missing = sorted(wanted - {node for node, pods in on_node.items() if pods})
        for node in missing[:BURST]:
            self._create(daemon_set, node, revision)

    def _create(self, daemon_set: WorkloadRecord, node: str, revision: str) -> None:
        metadata = daemon_set.metadata
        pod = pod_from(daemon_set.spec["template"], self._resource, metadata)
        pod["metadata"].setdefault("labels", {})[HASH_LABEL] = revision
        daemon_pod_spec(pod["spec"], node)
        made = self._context.api.create(self._pods, pod, metadata.namespace)
        self._events.normal(KIND, metadata, "SuccessfulCreate", f"Created pod: {made.name}", api_version="apps/v1")

    def _delete(self, daemon_set: WorkloadRecord, pod: PodRecord) -> None:
        if pod.metadata.deletion_timestamp is None:
            self._context.delete(self._pods, pod.metadata)
            message = f"Deleted pod: {pod.metadata.name}"
            self._events.normal(KIND, daemon_set.metadata, "SuccessfulDelete", message, api_version="apps/v1")

    def _update(
        self, daemon_set: WorkloadRecord, on_node: dict[str, list[PodRecord]], wanted: set[str], revision: str
    ) -> None:
        """Replace pods of older templates, as many at a time as may be away (`rollingUpdate`)."""
        strategy = daemon_set.spec.get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        most = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
        settle, now = daemon_set.spec.get("minReadySeconds") or 0, self._context.now()
        away = 0
        outdated: list[tuple[bool, PodRecord]] = []
        for node in sorted(wanted):
            living = [pod for pod in on_node.get(node, ()) if pod.is_active]
            available = any(is_available(pod, settle, now) for pod in living)
            away += not available
            outdated += [(available, pod) for pod in living if pod.metadata.labels.get(HASH_LABEL) != revision]
        budget = max(1, scaled(most, len(wanted), round_up=True)) - away
        for available, pod in sorted(outdated, key=lambda item: (item[0], item[1].metadata.name)):
            if available:
                if budget <= 0:
                    break
                budget -= 1
            self._delete(daemon_set, pod)

    def _report(
        self, daemon_set: WorkloadRecord, on_node: dict[str, list[PodRecord]], wanted: set[str], revision: str
    ) -> None:
        settle, now = daemon_set.spec.get("minReadySeconds") or 0, self._context.now()
        current = updated = ready = available = misplaced = 0
        for node, pods in on_node.items():
            living = sorted((pod for pod in pods if pod.is_active), key=_age)
            if node not in wanted:
                misplaced += bool(living)
            elif living:
                first = living[0]
                current += 1
                updated += first.metadata.labels.get(HASH_LABEL) == revision
                ready += first.is_ready
                available += is_available(first, settle, now)
        if settle and available < ready:
            self._context.enqueue(NAME, daemon_set.metadata, after=1.0)

        def change(status: Json) -> None:
            status |= {
                "currentNumberScheduled": current,
                "numberMisscheduled": misplaced,
                "desiredNumberScheduled": len(wanted),
                "numberReady": ready,
                "observedGeneration": daemon_set.metadata.generation,
            }
            counts = {
                "updatedNumberScheduled": updated,
                "numberAvailable": available,
                "numberUnavailable": len(wanted) - available,
            }
            for key, value in counts.items():
                if value:
                    status[key] = value
                else:
                    status.pop(key, None)

        self._context.set_status(self._resource, daemon_set.metadata, change)

    def _node_changed(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        if old is None or new is None or old.spec != new.spec or old.metadata.labels != new.metadata.labels:
            for daemon_set in self._context.daemon_sets:
                self._context.enqueue(NAME, daemon_set.metadata)


def _age(pod: PodRecord) -> tuple[bool, float, str]:
    """Pods on a node before those on their way, then the oldest."""
    created = pod.metadata.creation_timestamp
    return (not pod.spec.node_name, created.timestamp() if created else 0.0, pod.metadata.name)
