"""The scale subresource: replicas of a workload as an `autoscaling/v1` Scale."""

from __future__ import annotations

from collections.abc import Callable

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import WriteOptions
from kubesched.cluster.apiserver.problems import invalid
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform
from kubesched.cluster.apiserver.storage import Entry
from kubesched.cluster.apiserver.tables.layout import labels_text, selector_text
from kubesched.cluster.apiserver.verbs.reading import Reader
from kubesched.cluster.apiserver.verbs.writing import Writer
from kubesched.objects.base import Json

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Scaler:
    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    def read(self, resource: Resource, name: str, namespace: str) -> Json:
        return _scale_of(self._reader.get(resource, name, namespace))

    def write(
        self, resource: Resource, name: str, namespace: str, change: Callable[[Json], Json], options: WriteOptions
    ) -> Json:
        """Set the replicas to what `change` makes of the current Scale."""
        current = self.read(resource, name, namespace)
        wanted = change(self.read(resource, name, namespace))
        if found := conform("autoscaling.v1.Scale", wanted).wrong:
            raise status.bad_request(f'Scale in version "v1" cannot be handled as a Scale: {found}')
        metadata = wanted.get("metadata") or {}
        if metadata.get("name", name) != name:
            raise status.bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            )
        version = metadata.get("resourceVersion")
        if version and version != current["metadata"]["resourceVersion"]:
            raise status.modified(resource, name)
        replicas = (wanted.get("spec") or {}).get("replicas", 0)
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise status.invalid(_ScaleKind(), name, [problem])

        def set_replicas(value: Json) -> Json:
            value["spec"]["replicas"] = replicas
            return value

        entry, _ = self._writer.update(resource, name, namespace, set_replicas, options=options)
        return _scale_of(entry)


class _ScaleKind:
    group, kind, plural = "autoscaling", "Scale", "scales"


def _scale_of(entry: Entry) -> Json:
    value = entry.decode()
    spec, selector = value["spec"], value["spec"].get("selector") or {}
    is_object = "matchLabels" in selector or "matchExpressions" in selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: value["metadata"][key] for key in _KEPT if key in value["metadata"]},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {
            "replicas": (value.get("status") or {}).get("replicas", 0),
            "selector": selector_text(selector) if is_object else labels_text(selector),
        },
    }
