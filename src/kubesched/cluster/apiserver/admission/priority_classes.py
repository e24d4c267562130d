"""Priority classes: which one a pod or a group gets, and that only one is the default (`Priority` upstream)."""

from __future__ import annotations

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.resource import AdmissionContext, AdmissionPlugin, Resource
from kubesched.cluster.apiserver.storage import Bucket, Entry
from kubesched.objects.base import Json


class PriorityClasses:
    """The stored classes."""

    def __init__(self, stored: Bucket) -> None:
        self._stored = stored

    def chosen(self, resource: Resource, spec: Json, name: str) -> Json | None:
        """The class that a spec names, or else the default; refuses one that does not exist."""
        if wanted := spec.get("priorityClassName"):
            found = self._stored.get("", wanted)
            if found is None:
                raise status.forbidden(resource, name, f"no PriorityClass with name {wanted} was found")
            return found.decode()
        defaults = [entry.decode() for entry in self.defaults()]
        return min(defaults, key=lambda item: item.get("value", 0), default=None)

    def defaults(self) -> list[Entry]:
        return [entry for entry in self._stored.in_order() if b'"globalDefault":true' in entry.raw]


class PriorityClassAdmission(AdmissionPlugin):
    """Only one class is the default."""

    def __init__(self, context: AdmissionContext) -> None:
        self._resource = context.resource
        self._classes = PriorityClasses(context.stored(PRIORITY_CLASSES))

    def validate(self, value: Json, old: Json | None) -> None:
        if not value.get("globalDefault"):
            return
        name = value["metadata"].get("name", "")
        for other in self._classes.defaults():
            if other.name != name:
                message = f"PriorityClass {other.name} is already marked as default. Only one default can exist"
                raise status.forbidden(self._resource, name, message)


class PodGroupAdmission(AdmissionPlugin):
    """A group has the priority of its class; 0 if no class applies."""

    def __init__(self, context: AdmissionContext) -> None:
        self._resource = context.resource
        self._classes = PriorityClasses(context.stored(PRIORITY_CLASSES))

    def admit(self, value: Json, old: Json | None) -> None:
        if old is not None:
            return
        spec, name = value["spec"], value["metadata"].get("name", "")
        chosen = self._classes.chosen(self._resource, spec, name)
        priority = chosen.get("value", 0) if chosen is not None else 0
        if spec.get("priority", priority) != priority:
            message = (
                f"priority set in the pod group ({spec['priority']}) must match the priority computed ({priority}) "
                "based on the priority class set in the spec"
            )
            raise status.forbidden(self._resource, name, message)
        spec["priority"] = priority
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]


PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
