"""ReplicaSet: as many pods of a template as asked for."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.controller_refs import ControllerRefs
from kubesched.cluster.controllers.pod_making import pod_from
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import PodRecord, WorkloadRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

NAME: Final = "replicaset"
KIND: Final = "ReplicaSet"
BURST: Final = 50  # pods made or removed in one go: others wait meanwhile
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


class ReplicaSetController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "replicaset-controller")
        self._resource = context.replica_sets.resource
        self._pods = context.pods.resource
        self._controller_refs = ControllerRefs(context, self._resource, context.owned_pods)
        context.wake(NAME, context.replica_sets, context.pods)

    def reconcile(self, namespace: str, name: str) -> None:
        replica_set = self._context.replica_sets.get(name, namespace)
        if replica_set is None:
            return
        self._controller_refs.settle(replica_set)
        failure: RequestRefusedError | None = None
        if replica_set.metadata.deletion_timestamp is None:
            try:
                self._fill(replica_set)
            except RequestRefusedError as refusal:
                failure = refusal
        self._report(replica_set, failure)
        if failure is not None:
            raise failure

    def _fill(self, replica_set: WorkloadRecord) -> None:
        missing = replica_set.spec.get("replicas", 1) - self._context.pod_counts.active(replica_set.metadata.uid)
        for _ in range(min(missing, BURST)):
            self._create(replica_set)
        if missing < 0:
            self._remove(replica_set, min(-missing, BURST))
        if abs(missing) > BURST:
            self._context.enqueue(NAME, replica_set.metadata)

    def _remove(self, replica_set: WorkloadRecord, count: int) -> None:
        crowd = self._active(replica_set)
        per_node = Counter(pod.spec.node_name for pod in crowd)
        for pod in heapq.nsmallest(count, crowd, key=lambda pod: removal_rank(pod, per_node)):
            self._context.delete(self._pods, pod.metadata)
            message = f"Deleted pod: {pod.metadata.name}"
            self._events.normal(KIND, replica_set.metadata, "SuccessfulDelete", message, api_version="apps/v1")

    def _active(self, replica_set: WorkloadRecord) -> list[PodRecord]:
        return [pod for pod in self._context.owned_pods.of[replica_set.metadata.uid] if pod.is_active]

    def _create(self, replica_set: WorkloadRecord) -> None:
        metadata = replica_set.metadata
        pod = pod_from(replica_set.spec["template"], self._resource, metadata)
        try:
            created = self._context.api.create(self._pods, pod, metadata.namespace)
        except RequestRefusedError as refusal:
            message = f"Error creating: {refusal.message}"
            self._events.warning(KIND, metadata, "FailedCreate", message, api_version="apps/v1")
            raise
        self._events.normal(KIND, metadata, "SuccessfulCreate", f"Created pod: {created.name}", api_version="apps/v1")

    def _report(self, replica_set: WorkloadRecord, failure: RequestRefusedError | None) -> None:
        uid = replica_set.metadata.uid
        active, ready = self._context.pod_counts.active(uid), self._context.pod_counts.ready(uid)
        available = self._available(replica_set, ready)

        def change(status: Json) -> None:
            # An adopted pod may lack labels of the template; it counts as labelled: it serves the same selector.
            counts = {"fullyLabeledReplicas": active, "readyReplicas": ready, "availableReplicas": available}
            status["replicas"] = active
            for key, value in counts.items():
                if value:
                    status[key] = value
                else:
                    status.pop(key, None)
            status["observedGeneration"] = replica_set.metadata.generation
            if failure is None:
                conditions.drop(status, "ReplicaFailure")
            else:
                failed = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
                conditions.put(status, failed | {"message": failure.message}, self._context.timestamp())

        self._context.set_status(self._resource, replica_set.metadata, change)

    def _available(self, replica_set: WorkloadRecord, ready: int) -> int:
        settle = replica_set.spec.get("minReadySeconds") or 0
        if not settle:
            return ready
        now = self._context.now()
        available = sum(is_available(pod, settle, now) for pod in self._active(replica_set))
        if available < ready:
            self._context.enqueue(NAME, replica_set.metadata, after=1.0)
        return available


def is_available(pod: PodRecord, settle_seconds: int, now: datetime) -> bool:
    """Ready for long enough (`IsPodAvailable`)."""
    since = pod.ready_since
    return since is not None and (not settle_seconds or (now - since).total_seconds() >= settle_seconds)


def removal_rank(pod: PodRecord, crowd: Mapping[str, int]) -> tuple[object, ...]:
    """Who goes first (`ActivePodsWithRanks`): pods that do least, on the node with the largest crowd, the youngest."""
    since, created = pod.ready_since, pod.metadata.creation_timestamp
    cost = pod.metadata.annotations.get(DELETION_COST, "0")
    return (
        bool(pod.spec.node_name),
        ("Pending", "Unknown", "Running").index(pod.status.phase) if pod.status.phase else 0,
        since is not None,
        int(cost) if cost.lstrip("-").isdecimal() else 0,
        -crowd.get(pod.spec.node_name, 0),
        -since.timestamp() if since is not None else 0.0,
        -created.timestamp() if created is not None else 0.0,
        pod.metadata.name,
    )
