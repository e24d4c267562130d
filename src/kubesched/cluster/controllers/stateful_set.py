"""StatefulSet: pods with names and volumes of their own, made and replaced in order."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.pod_making import pod_from
from kubesched.cluster.controllers.replica_set import is_available
from kubesched.cluster.controllers.revisions import HASH_LABEL, Revisions, template_of
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import PodRecord, RevisionRecord, WorkloadRecord
from kubesched.objects.base import Json

NAME: Final = "statefulset"
KIND: Final = "StatefulSet"
POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"


class StatefulSetController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "statefulset-controller")
        self._resource = context.stateful_sets.resource
        self._pods = context.pods.resource
        context.wake(NAME, context.stateful_sets, context.pods)
        context.wake(NAME, context.stateful_sets, context.revisions)

    def reconcile(self, namespace: str, name: str) -> None:
        stateful_set = self._context.stateful_sets.get(name, namespace)
        if stateful_set is None:
            return
        revisions = Revisions(self._context, self._resource, stateful_set)
        update = revisions.current()
        if update is None:
            return
        current = revisions.find(stateful_set.status.get("currentRevision", "")) or update
        pods = self._members(stateful_set)
        if stateful_set.metadata.deletion_timestamp is None:
            self._bring_up(stateful_set, pods, current, update)
        self._report(stateful_set, current, update)
        used = {pod.metadata.labels.get(HASH_LABEL, "") for pod in pods.values()}
        revisions.forget(used | {current.metadata.name, update.metadata.name})

    def _members(self, stateful_set: WorkloadRecord) -> dict[int, PodRecord]:
        """The set's pods by ordinal."""
        found = {}
        for pod in self._context.owned_pods.of[stateful_set.metadata.uid]:
            parent, _, ordinal = pod.metadata.name.rpartition("-")
            if parent == stateful_set.metadata.name and ordinal.isdecimal():
                found[int(ordinal)] = pod
        return found

    def _bring_up(
        self, stateful_set: WorkloadRecord, pods: dict[int, PodRecord], current: RevisionRecord, update: RevisionRecord
    ) -> None:
        """One step; in order means: nothing before its predecessor is ready (`updateStatefulSet`)."""
        wanted = _ordinals(stateful_set)
        in_order = stateful_set.spec.get("podManagementPolicy") != "Parallel"
        partition = _partition(stateful_set)
        for ordinal in wanted:
            pod = pods.get(ordinal)
            if pod is None:
                self._create(stateful_set, ordinal, update if ordinal >= partition else current)
            elif pod.is_finished and pod.metadata.deletion_timestamp is None:
                self._delete(stateful_set, pod)
            if in_order and (pod is None or not self._is_well(stateful_set, pod)):
                return
        for ordinal in sorted(set(pods) - set(wanted), reverse=True):
            if pods[ordinal].metadata.deletion_timestamp is None:
                self._delete(stateful_set, pods[ordinal])
            if in_order:
                return
        if (stateful_set.spec.get("updateStrategy") or {}).get("type") == "OnDelete":
            return
        for ordinal in reversed(wanted):
            pod = pods.get(ordinal)
            if pod is None or ordinal < partition:
                return
            if pod.metadata.labels.get(HASH_LABEL) != update.metadata.name:
                if pod.metadata.deletion_timestamp is None:
                    self._delete(stateful_set, pod)
                return
            if not self._is_well(stateful_set, pod):
                return

    def _is_well(self, stateful_set: WorkloadRecord, pod: PodRecord) -> bool:
        settle = stateful_set.spec.get("minReadySeconds") or 0
        if pod.is_ready and settle and not is_available(pod, settle, self._context.now()):
            self._context.enqueue(NAME, stateful_set.metadata, after=1.0)
        return pod.is_active and is_available(pod, settle, self._context.now())

    def _create(self, stateful_set: WorkloadRecord, ordinal: int, revision: RevisionRecord) -> None:
        metadata = stateful_set.metadata
        name = f"{metadata.name}-{ordinal}"
        pod = pod_from(template_of(revision), self._resource, metadata, name=name)
        labels = {HASH_LABEL: revision.metadata.name, POD_NAME: name, POD_INDEX: str(ordinal)}
        pod["metadata"].setdefault("labels", {}).update(labels)
        pod["spec"] |= {"hostname": name, "subdomain": stateful_set.spec.get("serviceName", "")}
        volumes = pod["spec"].setdefault("volumes", [])
        for template in stateful_set.spec.get("volumeClaimTemplates") or ():
            volume = template["metadata"]["name"]
            claim = f"{volume}-{name}"
            self._ensure_claim(stateful_set, template, claim)
            volumes[:] = [item for item in volumes if item.get("name") != volume]
            volumes.append({"name": volume, "persistentVolumeClaim": {"claimName": claim}})
        self._context.api.create(self._pods, pod, metadata.namespace)
        message = f"create Pod {name} in StatefulSet {metadata.name} successful"
        self._events.normal(KIND, metadata, "SuccessfulCreate", message, api_version="apps/v1")

    def _ensure_claim(self, stateful_set: WorkloadRecord, template: Json, name: str) -> None:
        metadata = stateful_set.metadata
        claims = self._context.claims.resource
        if self._context.api.reader.bucket(claims).get(metadata.namespace, name) is not None:
            return
        labels = (stateful_set.spec.get("selector") or {}).get("matchLabels") or {}
        described = {
            "name": name,
            "labels": {**(template["metadata"].get("labels") or {}), **labels},
            "annotations": dict(template["metadata"].get("annotations") or {}),
        }
        claim = {"metadata": described, "spec": dict(template["spec"])}
        self._context.api.create(claims, claim, metadata.namespace)
        message = f"create Claim {name} Pod {name} in StatefulSet {metadata.name} success"
        self._events.normal(KIND, metadata, "SuccessfulCreate", message, api_version="apps/v1")

    def _delete(self, stateful_set: WorkloadRecord, pod: PodRecord) -> None:
        self._context.delete(self._pods, pod.metadata)
        message = f"delete Pod {pod.metadata.name} in StatefulSet {stateful_set.metadata.name} successful"
        self._events.normal(KIND, stateful_set.metadata, "SuccessfulDelete", message, api_version="apps/v1")

    def _report(self, stateful_set: WorkloadRecord, current: RevisionRecord, update: RevisionRecord) -> None:
        pods = [pod for pod in self._members(stateful_set).values() if not pod.is_finished]
        living = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        settle, now = stateful_set.spec.get("minReadySeconds") or 0, self._context.now()
        of_current = sum(pod.metadata.labels.get(HASH_LABEL) == current.metadata.name for pod in living)
        of_update = sum(pod.metadata.labels.get(HASH_LABEL) == update.metadata.name for pod in living)
        ready = sum(pod.is_ready for pod in pods)
        whole = len(_ordinals(stateful_set))
        if of_update == whole == ready and not _partition(stateful_set):
            current, of_current = update, of_update  # the rollout is over (`completeRollingUpdate`)

        def change(status: Json) -> None:
            status |= {
                "replicas": len(pods),
                "availableReplicas": sum(is_available(pod, settle, now) for pod in pods),
                "currentRevision": current.metadata.name,
                "updateRevision": update.metadata.name,
                "observedGeneration": stateful_set.metadata.generation,
                "collisionCount": status.get("collisionCount", 0),
            }
            counts = {"readyReplicas": ready, "currentReplicas": of_current, "updatedReplicas": of_update}
            for key, value in counts.items():
                if value:
                    status[key] = value
                else:
                    status.pop(key, None)

        self._context.set_status(self._resource, stateful_set.metadata, change)


def _ordinals(stateful_set: WorkloadRecord) -> range:
    first = (stateful_set.spec.get("ordinals") or {}).get("start", 0)
    return range(first, first + stateful_set.spec.get("replicas", 1))


def _partition(stateful_set: WorkloadRecord) -> int:
    """Pods below this ordinal keep the old template."""
    strategy = stateful_set.spec.get("updateStrategy") or {}
    return int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
