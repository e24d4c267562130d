"""Extended resources that stand for devices of a DeviceClass (dynamic resource allocation)."""

from __future__ import annotations

from kubesched.framework import ObjectStore
from kubesched.objects import DeviceClass
from kubesched.objects.resource_names import DEVICE_CLASS_PREFIX


class DeviceBackedResources:
    """Which resource names a DeviceClass answers to: the one in its spec, and one made of its own name."""

    def __init__(self, classes: ObjectStore[DeviceClass]) -> None:
        self._classes = classes
        self._version = -1
        self._names: frozenset[str] = frozenset()

    @property
    def version(self) -> int:
        """Changes whenever an answer may."""
        return self._classes.version

    def __contains__(self, resource: str) -> bool:
        if self._version != self._classes.version:
            explicit = {name for device in self._classes if (name := device.spec.extended_resource_name)}
            implicit = {DEVICE_CLASS_PREFIX + device.metadata.name for device in self._classes}
            self._names = frozenset(explicit | implicit)
            self._version = self._classes.version
        return resource in self._names
