"""ReplicaSet: as many pods of a template as asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.claiming import claim
from kubesched.cluster.controllers.pod_making import pod_from
from kubesched.cluster.controllers.world import World
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.views import PodView, WorkloadView
from kubesched.errors import RequestRefusedError

Json = dict[str, Any]

NAME: Final = "replicaset"
KIND: Final = "ReplicaSet"
BURST: Final = 100  # pods made or removed in one go: others wait meanwhile
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


class ReplicaSetController:
    def __init__(self, world: World) -> None:
        self._world = world
        self._events = EventWriter(world.api, "replicaset-controller")
        self._resource = world.replica_sets.resource
        self._pods = world.pods.resource
        world.wake(NAME, world.replica_sets, world.pods)

    def reconcile(self, namespace: str, name: str) -> None:
        replica_set = self._world.replica_sets.get(name, namespace)
        if replica_set is None:
            return
        pods = claim(self._world, self._resource, replica_set, self._world.owned_pods)
        active = [pod for pod in pods if pod.is_active]
        failure: RequestRefusedError | None = None
        if replica_set.metadata.deletion_timestamp is None:
            try:
                self._fill(replica_set, active)
            except RequestRefusedError as refusal:
                failure = refusal
        self._report(replica_set, active, failure)
        if failure is not None:
            raise failure

    def _fill(self, replica_set: WorkloadView, active: list[PodView]) -> None:
        missing = replica_set.spec.get("replicas", 1) - len(active)
        for _ in range(min(missing, BURST)):
            self._create(replica_set)
        if missing < 0:
            surplus = sorted(active, key=lambda pod: removal_rank(pod, self._crowd(active)))
            for pod in surplus[: min(-missing, BURST)]:
                self._world.delete(self._pods, pod.metadata)
                message = f"Deleted pod: {pod.metadata.name}"
                self._events.normal(KIND, replica_set.metadata, "SuccessfulDelete", message, api_version="apps/v1")
        if abs(missing) > BURST:
            self._world.enqueue(NAME, replica_set.metadata)

    def _create(self, replica_set: WorkloadView) -> None:
        metadata = replica_set.metadata
        pod = pod_from(replica_set.spec["template"], self._resource, metadata)
        try:
            created = self._world.api.create(self._pods, pod, metadata.namespace)
        except RequestRefusedError as refusal:
            message = f"Error creating: {refusal.message}"
            self._events.warning(KIND, metadata, "FailedCreate", message, api_version="apps/v1")
            raise
        self._events.normal(KIND, metadata, "SuccessfulCreate", f"Created pod: {created.name}", api_version="apps/v1")

    def _crowd(self, active: list[PodView]) -> dict[str, int]:
        """How many of these pods each node has: the fuller node gives up a pod first."""
        counts: dict[str, int] = {}
        for pod in active:
            counts[pod.spec.node_name] = counts.get(pod.spec.node_name, 0) + 1
        return counts

    def _report(self, replica_set: WorkloadView, active: list[PodView], failure: RequestRefusedError | None) -> None:
        template_labels = ((replica_set.spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        ready = [pod for pod in active if pod.is_ready]
        settle = replica_set.spec.get("minReadySeconds") or 0
        now = self._world.now()
        available = [pod for pod in ready if is_available(pod, settle, now)]
        if settle and len(available) < len(ready):
            self._world.enqueue(NAME, replica_set.metadata, after=1.0)
        labelled = sum(template_labels.items() <= pod.metadata.labels.items() for pod in active)

        def change(status: Json) -> None:
            counts = {
                "fullyLabeledReplicas": labelled,
                "readyReplicas": len(ready),
                "availableReplicas": len(available),
            }
            status["replicas"] = len(active)
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
                conditions.put(status, failed | {"message": failure.message}, self._world.timestamp())

        self._world.set_status(self._resource, replica_set.metadata, change)


def is_available(pod: PodView, settle_seconds: int, now: datetime) -> bool:
    """Ready for long enough (`IsPodAvailable`)."""
    since = pod.ready_since
    return since is not None and (not settle_seconds or (now - since).total_seconds() >= settle_seconds)


def removal_rank(pod: PodView, crowd: dict[str, int]) -> tuple[object, ...]:
    """Who goes first (`ActivePodsWithRanks`): pods that do least, on the fullest node, the youngest."""
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
