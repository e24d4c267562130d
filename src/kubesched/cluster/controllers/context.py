"""What all controllers share: the objects, the API to change them, the queue and the events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar

import msgspec

from kubesched.clock import Clock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import DeleteOptions, WriteOptions
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.controllers.pod_counts import PodCounts
from kubesched.cluster.controllers.workqueue import Key, WorkQueue
from kubesched.cluster.informer import HasMetadata, Informer
from kubesched.cluster.records import (
    ClaimRecord,
    EndpointSliceRecord,
    NodeRecord,
    PodRecord,
    RevisionRecord,
    StorageClassRecord,
    WorkloadRecord,
    controller_uid,
)
from kubesched.errors import RequestRefusedError
from kubesched.objects import PodGroup
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta

AS_CONTROLLER: Final = WriteOptions(field_manager="kube-controller-manager")

T = TypeVar("T", bound=HasMetadata)


class Owned(Generic[T]):
    """Objects that controllers make, by the uid of the one that manages them; those that nobody does, by namespace."""

    def __init__(self, informer: Informer[T]) -> None:
        self.informer = informer
        self.of = informer.index(lambda item: controller_uid(item.metadata))
        self.orphans = informer.index(lambda item: "" if controller_uid(item.metadata) else item.metadata.namespace)


class ControllerContext:
    """Reading is always up to date when a controller runs: there are no expectations to keep."""

    def __init__(self, api: Api, pods: Informer[PodRecord], nodes: Informer[NodeRecord]) -> None:
        self.api = api
        self.clock: Clock = api.clock
        self.queue = WorkQueue(self.clock)
        self.pods = pods
        self.nodes = nodes
        self.deployments = Informer(api, "deployments.apps", WorkloadRecord)
        self.replica_sets = Informer(api, "replicasets.apps", WorkloadRecord)
        self.stateful_sets = Informer(api, "statefulsets.apps", WorkloadRecord)
        self.daemon_sets = Informer(api, "daemonsets.apps", WorkloadRecord)
        self.jobs = Informer(api, "jobs.batch", WorkloadRecord)
        self.cron_jobs = Informer(api, "cronjobs.batch", WorkloadRecord)
        self.services = Informer(api, "services", WorkloadRecord)
        self.endpoints = Informer(api, "endpoints", WorkloadRecord)
        self.endpoint_slices = Informer(api, "endpointslices.discovery.k8s.io", EndpointSliceRecord)
        self.revisions = Informer(api, "controllerrevisions.apps", RevisionRecord)
        self.budgets = Informer(api, "poddisruptionbudgets.policy", WorkloadRecord)
        self.quotas = Informer(api, "resourcequotas", WorkloadRecord)
        self.claims = Informer(api, "persistentvolumeclaims", WorkloadRecord)
        self.volumes = Informer(api, "persistentvolumes", WorkloadRecord)
        self.resource_claims = Informer(api, "resourceclaims.resource.k8s.io", ClaimRecord)
        self.resource_claims_of = self.resource_claims.index(lambda claim: controller_uid(claim.metadata))
        self.claim_templates = Informer(api, "resourceclaimtemplates.resource.k8s.io", WorkloadRecord)
        self.pod_groups = Informer(api, "podgroups.scheduling.k8s.io", PodGroup)
        self.storage_classes = Informer(api, "storageclasses.storage.k8s.io", StorageClassRecord)
        self.owned_pods = Owned(pods)
        self.owned_replica_sets = Owned(self.replica_sets)
        self.owned_jobs = Owned(self.jobs)
        self.owned_revisions = Owned(self.revisions)
        self.pod_counts = PodCounts(pods)
        self.pods_on = pods.index(lambda pod: pod.spec.node_name)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.time(), UTC)

    def timestamp(self) -> str:
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def enqueue(self, controller: str, metadata: ObjectMeta, after: float = 0.0) -> None:
        key = Key(controller, metadata.namespace, metadata.name)
        if after > 0:
            self.queue.add_after(key, after)
        else:
            self.queue.add(key)

    def wake(self, controller: str, owners: Informer[WorkloadRecord], dependents: Informer[T]) -> None:
        """Enqueue an owner when its spec changes, when something of its own does, and when an orphan could be its."""
        by_uid = owners.index(lambda item: item.metadata.uid)

        def owner_changed(old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
            if new is not None and (old is None or old.spec != new.spec or _differ(old.metadata, new.metadata)):
                self.enqueue(controller, new.metadata)

        def dependent_changed(old: T | None, new: T | None) -> None:
            for uid in dict.fromkeys(controller_uid(item.metadata) for item in (old, new) if item is not None):
                for owner in by_uid[uid]:
                    self.enqueue(controller, owner.metadata)
            if new is not None and old is None and not controller_uid(new.metadata) and new.metadata.labels:
                for owner in owners.in_namespace(new.metadata.namespace):
                    self.enqueue(controller, owner.metadata)

        owners.listen(owner_changed)
        dependents.listen(dependent_changed)

    def set_status(self, resource: Resource, metadata: ObjectMeta, change: Callable[[Json], None]) -> None:
        """Change an object's status in place; nothing is written if nothing changes."""
        self._replace(resource, metadata, lambda value: change(value.setdefault("status", {})))

    def change(
        self, resource: Resource, metadata: ObjectMeta, change: Callable[[Json], None], *, subresource: str = ""
    ) -> None:
        """Change an object in place with all checks; no error if it is gone or is another one by now."""

        def changed(value: Json) -> Json:
            change(value)
            return value

        found = self.api.reader.bucket(resource).get(metadata.namespace, metadata.name)
        if found is not None and found.decode()["metadata"]["uid"] == metadata.uid:
            where = (resource, metadata.name, metadata.namespace)
            self.api.change(*where, changed, subresource=subresource, options=AS_CONTROLLER)

    def delete(self, resource: Resource, metadata: ObjectMeta, propagation: str = "") -> None:
        """Delete an object; no error if it is gone, or if another one has its name."""
        options = DeleteOptions(uid=metadata.uid, propagation=propagation)
        try:
            self.api.delete(resource, metadata.name, metadata.namespace, options)
        except RequestRefusedError as refusal:
            if refusal.code not in (404, 409):
                raise

    def _replace(self, resource: Resource, metadata: ObjectMeta, change: Callable[[Json], None]) -> None:
        found = self.api.reader.bucket(resource).get(metadata.namespace, metadata.name)
        if found is None:
            return
        old, value = found.decode(), found.decode()
        if value["metadata"]["uid"] == metadata.uid:
            change(value)
            self.api.writer.replace(resource, found, old, value)


def _differ(old: ObjectMeta, new: ObjectMeta) -> bool:
    """Whether more than the version is different: a status of our own must not wake us."""
    return msgspec.structs.replace(old, resource_version=new.resource_version) != new
