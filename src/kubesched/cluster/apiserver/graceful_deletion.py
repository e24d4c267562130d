"""How pods, namespaces and priority classes go: grace periods, phases, and what every cluster keeps."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.resource import DeletionRules
from kubesched.cluster.apiserver.validation.cluster import SYSTEM_CLASSES
from kubesched.objects.base import Json


def _pod_grace_period(pod: Json, asked: int | None) -> int:
    """Only a pod on a node has something to finish (`podStrategy.CheckGracefulDelete`)."""
    spec = pod.get("spec") or {}
    finished = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    if not spec.get("nodeName") or finished:
        return 0
    period = asked if asked is not None else spec.get("terminationGracePeriodSeconds", 0)
    return 1 if period < 0 else int(period)


def _terminate_namespace(namespace: Json) -> None:
    namespace.setdefault("status", {})["phase"] = "Terminating"
    del namespace["metadata"]["deletionGracePeriodSeconds"]


PODS: Final = DeletionRules(grace_period=_pod_grace_period)
NAMESPACES: Final = DeletionRules(
    mark=_terminate_namespace,
    forbidden=dict.fromkeys(("default", "kube-public", "kube-system"), "this namespace may not be deleted"),
)
PRIORITY_CLASSES: Final = DeletionRules(
    forbidden=dict.fromkeys(SYSTEM_CLASSES, "this is a system priority class and cannot be deleted")
)
