"""Extended resources (example.com/gpu) that stand for devices of a DeviceClass."""

from __future__ import annotations

from kubesched.objects import DeviceClass
from kubesched.objects.resource_names import DEVICE_CLASS_PREFIX
from kubesched.scheduler.framework import ObjectStore


class BackingClasses:
    """The device class behind an extended resource: of several, the newest (extendedresourcecache).

    A class answers to the resource name in its spec, and to one made of its own name.
    """

    def __init__(self, classes: ObjectStore[DeviceClass]) -> None:
        self._classes = classes
        self._version = -1
        self._by_resource: dict[str, DeviceClass] = {}

    @property
    def version(self) -> int:
        """Changes whenever an answer may."""
        return self._classes.version

    def __contains__(self, resource: str) -> bool:
        return self.of(resource) is not None

    def of(self, resource: str) -> DeviceClass | None:
        if self._version != self._classes.version:
            self._version = self._classes.version
            self._by_resource = {}
            for device_class in sorted(self._classes, key=_age):
                self._by_resource[DEVICE_CLASS_PREFIX + device_class.metadata.name] = device_class
                if name := device_class.spec.extended_resource_name:
                    self._by_resource.setdefault(name, device_class)
        return self._by_resource.get(resource)


def _age(device_class: DeviceClass) -> tuple[float, str]:
    """Newest first, then by name."""
    created = device_class.metadata.creation_timestamp
    return -(created.timestamp() if created is not None else 0.0), device_class.metadata.name
