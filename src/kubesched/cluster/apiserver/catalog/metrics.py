"""What nodes and pods use: computed when it is read."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.tables.layout import TableLayout, columns, name_of
from kubesched.cluster.apiserver.usage_metrics import NODE_METRICS, POD_METRICS
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

_READ_VERBS: Final = ("get", "list")


def _row(value: Json, _: float) -> list[Any]:
    usages = [item["usage"] for item in value.get("containers", (value,))]
    cpu, memory = (sum((Quantity.parse(usage[name]) for usage in usages), Quantity.ZERO) for name in ("cpu", "memory"))
    return [name_of(value), cpu.text, memory.text, value["window"]]


_TABLE: Final = TableLayout(columns("Name", "Cpu", "Memory", "Window"), _row)

METRICS: Final = (
    Resource(
        group="metrics.k8s.io",
        version="v1beta1",
        kind="NodeMetrics",
        plural="nodes",
        struct_name="metrics.v1beta1.NodeMetrics",
        namespaced=False,
        verbs=_READ_VERBS,
        table=_TABLE,
        derivation=NODE_METRICS,
    ),
    Resource(
        group="metrics.k8s.io",
        version="v1beta1",
        kind="PodMetrics",
        plural="pods",
        struct_name="metrics.v1beta1.PodMetrics",
        verbs=_READ_VERBS,
        table=_TABLE,
        derivation=POD_METRICS,
    ),
)
