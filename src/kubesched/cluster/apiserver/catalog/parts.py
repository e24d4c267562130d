"""Parts that many resources share."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.resource import SelectableField, Subresource

REVIEW_VERBS: Final = ("create",)
SCALE: Final = Subresource(name="scale", kind="Scale", group="autoscaling", version="v1")
EVENT_FIELDS: Final = {
    **{
        f"involvedObject.{key}": SelectableField("involvedObject", key)
        for key in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reason": SelectableField("reason"),
    "reportingComponent": SelectableField("reportingComponent"),
    "source": SelectableField("source", "component"),
    "type": SelectableField("type"),
}


def status_of(kind: str) -> Subresource:
    return Subresource(name="status", kind=kind)
