"""Services with a selector: EndpointSlices and an Endpoints object say which pods are behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubesched.cluster.controllers import service_pods
from kubesched.cluster.controllers.context import AS_CONTROLLER, ControllerContext
from kubesched.cluster.controllers.endpoint_slices import (
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    DesiredSlice,
    endpoint_of,
    plan_slices,
    slice_labels,
)
from kubesched.cluster.controllers.endpoint_subsets import OVER_CAPACITY, endpoints_labels, make_subsets, truncate
from kubesched.cluster.controllers.workqueue import Key
from kubesched.cluster.records import EndpointSliceRecord, PodRecord, WorkloadRecord, owner_reference
from kubesched.objects.base import Json

NAME: Final = "endpoints"
ZONE: Final = "topology.kubernetes.io/zone"
RETRY_SECONDS: Final = 5.0  # a pod whose node is unknown: one of both appears or vanishes soon


class EndpointsController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._services, self._slices, self._endpoints = context.services, context.endpoint_slices, context.endpoints
        self._in_namespace = self._services.index(lambda service: service.metadata.namespace)
        self._slices_of = self._slices.index(_service_key)
        self._services.listen(self._service_changed)
        self._slices.listen(self._slice_changed)
        self._endpoints.listen(self._endpoints_changed)
        context.pods.listen(self._pod_changed)
        for leftover in self._endpoints:  # of a service that was deleted just before the cluster stopped
            context.enqueue(NAME, leftover.metadata)

    def reconcile(self, namespace: str, name: str) -> None:
        service = self._services.get(name, namespace)
        if service is None:
            endpoints = self._endpoints.get(name, namespace)
            if endpoints is not None:  # the slices are left to the garbage collector
                self._context.delete(self._endpoints.resource, endpoints.metadata)
            return
        if not service_pods.has_selector(service):
            return
        pods = [
            pod
            for pod in self._context.pods.in_namespace(namespace)
            if service_pods.selects(service, pod.metadata.labels) and not pod.is_finished and pod.status.pod_ips
        ]
        self._settle_slices(service, pods)
        self._settle_endpoints(service, pods)

    def _settle_slices(self, service: WorkloadRecord, pods: list[PodRecord]) -> None:
        labels, families = slice_labels(service), service_pods.families(service)
        usable = []
        for item in self._slices_of[f"{service.metadata.namespace}/{service.metadata.name}"]:
            if item.metadata.deletion_timestamp is not None:
                continue
            if item.address_type in families and _is_owned(item, service):
                usable.append(item)
            else:  # of a service with the same name that was here before
                self._context.delete(self._slices.resource, item.metadata)
        for family in families:
            existing = [item for item in usable if item.address_type == family]
            plan = plan_slices(self._wanted(service, pods, family), existing, labels)
            metadata = {item.metadata.name: item.metadata for item in existing}
            for desired in plan.written:
                if desired.name:
                    self._context.change(self._slices.resource, metadata[desired.name], _becomes(desired, labels))
                elif service.metadata.deletion_timestamp is None:
                    self._create_slice(service, family, desired, labels)
            for name in plan.deleted:
                self._context.delete(self._slices.resource, metadata[name])

    def _wanted(self, service: WorkloadRecord, pods: list[PodRecord], family: str) -> list[tuple[list[Json], Json]]:
        """The endpoints, each with its ports. A pod whose node is gone is no longer one."""
        found = []
        for pod in pods:
            node = self._context.nodes.get(pod.spec.node_name)
            if node is None and not service_pods.publishes_unready(service):
                self._context.enqueue(NAME, service.metadata, after=RETRY_SECONDS)
                continue
            zone = node.metadata.labels.get(ZONE, "") if node is not None else ""
            endpoint = endpoint_of(service, pod, family, zone)
            if endpoint["addresses"]:
                found.append((service_pods.ports_in(service, pod), endpoint))
        return found

    def _create_slice(
        self, service: WorkloadRecord, family: str, desired: DesiredSlice, labels: dict[str, str]
    ) -> None:
        metadata = {
            "generateName": f"{service.metadata.name}-",
            "labels": labels,
            "ownerReferences": [owner_reference("v1", "Service", service.metadata)],
        }
        value = {"metadata": metadata, "addressType": family, "ports": desired.ports, "endpoints": desired.endpoints}
        self._context.api.create(self._slices.resource, value, service.metadata.namespace, AS_CONTROLLER)

    def _settle_endpoints(self, service: WorkloadRecord, pods: list[PodRecord]) -> None:
        subsets, labels = make_subsets(service, pods), endpoints_labels(service)
        over = truncate(subsets)

        def change(value: Json) -> None:
            value["metadata"]["labels"] = labels
            value.pop("subsets", None)
            if subsets:
                value["subsets"] = subsets
            annotations = value["metadata"].setdefault("annotations", {})
            annotations.pop(OVER_CAPACITY, None)
            if over:
                annotations[OVER_CAPACITY] = "truncated"
            if not annotations:
                del value["metadata"]["annotations"]

        resource, existing = (
            self._endpoints.resource,
            self._endpoints.get(service.metadata.name, service.metadata.namespace),
        )
        if existing is not None:
            self._context.change(resource, existing.metadata, change)
        elif service.metadata.deletion_timestamp is None:
            value: Json = {"metadata": {"name": service.metadata.name}}
            change(value)
            self._context.api.create(resource, value, service.metadata.namespace, AS_CONTROLLER)

    def _service_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        service = new or old
        assert service is not None
        if old is None or new is None or old.spec != new.spec or old.metadata.labels != new.metadata.labels:
            self._context.enqueue(NAME, service.metadata)

    def _slice_changed(self, old: EndpointSliceRecord | None, new: EndpointSliceRecord | None) -> None:
        """Somebody else may have changed or deleted it; after our own writes, nothing is left to do."""
        for key in dict.fromkeys(_service_key(item) for item in (old, new) if item is not None):
            if key:
                self._context.queue.add(Key(NAME, *key.split("/")))

    def _endpoints_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if new is None and old is not None:
            self._context.enqueue(NAME, old.metadata)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if old is not None and new is not None and service_pods.looks_the_same(old, new):
            return
        for pod in (old, new):
            for service in self._in_namespace[pod.metadata.namespace] if pod is not None else ():
                if pod is not None and service_pods.selects(service, pod.metadata.labels):
                    self._context.enqueue(NAME, service.metadata)


def _service_key(item: EndpointSliceRecord) -> str:
    """Namespace and name of the service that we made the slice for; empty for a slice of somebody else."""
    labels = item.metadata.labels
    if labels.get(MANAGED_BY) != MANAGER or not labels.get(SERVICE_NAME):
        return ""
    return f"{item.metadata.namespace}/{labels[SERVICE_NAME]}"


def _is_owned(item: EndpointSliceRecord, service: WorkloadRecord) -> bool:
    return any(owner.uid == service.metadata.uid for owner in item.metadata.owner_references)


def _becomes(desired: DesiredSlice, labels: dict[str, str]) -> Callable[[Json], None]:
    def change(value: Json) -> None:
        value["metadata"]["labels"] = labels
        value["ports"], value["endpoints"] = desired.ports, desired.endpoints

    return change
