"""Which pods belong together with a pod, by the services and the controller that select it."""

from __future__ import annotations

from kubesched.errors import InvalidObjectError
from kubesched.objects import ReplicaSet, ReplicationController, Service, StatefulSet
from kubesched.objects.meta import LabelSelector
from kubesched.objects.selectors import Selector, compile_label_selector, selector_from_labels
from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import ObjectStores
from kubesched.scheduler.plugins.support.per_template import PerVersion


class DefaultSelectors:
    """The selectors of a pod's services and of its controller, merged (helper.DefaultSelector)."""

    def __init__(self, objects: ObjectStores) -> None:
        self._services = objects.of(Service)
        self._replication_controllers = objects.of(ReplicationController)
        self._replica_sets = objects.of(ReplicaSet)
        self._stateful_sets = objects.of(StatefulSet)
        self._selectors = PerVersion(self._look)
        self._merged = PerVersion(self._merge)
        self._service_labels = PerVersion(self._labels_of_services)
        self._changes = 0
        self._has_services = False
        for store in (self._services, self._replication_controllers, self._replica_sets, self._stateful_sets):
            store.subscribe(self._changed)

    def of(self, pod: PodTemplate) -> Selector | None:
        """None if neither a service nor a controller selects the pod, or if what they say selects every pod.

        Cheap while neither the services nor the pod's controller have changed.
        """
        if not pod.exemplar.metadata.owner_references and not self._has_services:
            return None
        return self._selectors.of(pod, self._changes)

    def _changed(self, old: object, new: object) -> None:
        self._changes += 1
        self._has_services = len(self._services) > 0

    def _look(self, pod: PodTemplate) -> Selector | None:
        """Merging compiles, so it is done only if something has changed that concerns this pod."""
        labels, controller = self._service_labels.of(pod, self._services.version), self._controller_selector(pod)
        if not labels and controller is None:
            return None
        selector = self._merged.of(pod, (self._services.version, controller))
        return None if selector.selects_everything else selector

    def _merge(self, pod: PodTemplate) -> Selector:
        return _merged(self._service_labels.of(pod, self._services.version), self._controller_selector(pod))

    def _labels_of_services(self, pod: PodTemplate) -> dict[str, str]:
        found: dict[str, str] = {}
        for service in self._services.in_namespace(pod.namespace):
            selector = service.spec.selector
            if selector.items() <= pod.labels.items():
                found |= selector
        return found

    def _controller_selector(self, pod: PodTemplate) -> LabelSelector | dict[str, str] | None:
        owner = pod.exemplar.metadata.controller_of
        if owner is None:
            return None
        match (owner.api_version, owner.kind):
            case ("v1", "ReplicationController"):
                controller = self._replication_controllers.get(owner.name, pod.namespace)
                return controller.spec.selector if controller else None
            case ("apps/v1", "ReplicaSet"):
                replica_set = self._replica_sets.get(owner.name, pod.namespace)
                return replica_set.spec.selector if replica_set else None
            case ("apps/v1", "StatefulSet"):
                stateful_set = self._stateful_sets.get(owner.name, pod.namespace)
                return stateful_set.spec.selector if stateful_set else None
            case _:
                return None


def _merged(labels: dict[str, str], controller: LabelSelector | dict[str, str] | None) -> Selector:
    if isinstance(controller, dict):
        return selector_from_labels(labels | controller)
    of_services = selector_from_labels(labels)
    try:
        of_controller = compile_label_selector(controller)
    except InvalidObjectError:
        return of_services
    return Selector.of((*of_services.requirements, *of_controller.requirements))
