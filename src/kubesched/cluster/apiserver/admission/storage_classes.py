"""The default storage class of claims that name none (`DefaultStorageClass` upstream)."""

from __future__ import annotations

from kubesched.cluster.apiserver.resource import AdmissionContext, AdmissionPlugin
from kubesched.cluster.apiserver.tables.volumes import CLASS_ANNOTATION, DEFAULT_CLASS
from kubesched.objects.base import Json


class ClaimAdmission(AdmissionPlugin):
    def __init__(self, context: AdmissionContext) -> None:
        self._classes = context.stored("storageclasses.storage.k8s.io")

    def admit(self, value: Json, old: Json | None) -> None:
        spec, annotations = value["spec"], value["metadata"].get("annotations") or {}
        if old is not None or "storageClassName" in spec or CLASS_ANNOTATION in annotations:
            return
        classes = [entry.decode()["metadata"] for entry in self._classes.in_order()]
        marked = [
            item for item in classes if any((item.get("annotations") or {}).get(k) == "true" for k in DEFAULT_CLASS)
        ]
        if marked:
            newest = max(marked, key=lambda item: (item["creationTimestamp"], item["name"]))
            spec["storageClassName"] = newest["name"]
