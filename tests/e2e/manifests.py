"""Nodes and pods as a user would write them."""

from __future__ import annotations

from typing import Any

from kubesched.objects.base import Json


def node(
    name: str, *, cpu: str = "4", memory: str = "16Gi", pods: int = 110, labels: Json | None = None, **spec: Any
) -> Json:
    """A node that is ready for work, though no kubelet stands behind it."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    *,
    cpu: str = "",
    memory: str = "",
    namespace: str = "default",
    labels: Json | None = None,
    container: Json | None = None,
    **spec: Any,
) -> Json:
    """A pod that nobody waits for when it is deleted. `spec` takes the fields of a PodSpec as the API names them."""
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    main = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{**main, **(container or {})}], **spec},
    }


def condition(found: Json, type_: str = "PodScheduled") -> Json:
    """A condition of an object; empty where it has none of this type."""
    conditions: list[Json] = found["status"].get("conditions", [])
    return next((entry for entry in conditions if entry["type"] == type_), {})
