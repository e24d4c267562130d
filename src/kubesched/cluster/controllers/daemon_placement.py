"""Which nodes a DaemonSet wants to be on, and how its pods get there."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.objects import convert
from kubesched.objects.affinity import NodeSelector, Toleration
from kubesched.objects.base import Json
from kubesched.objects.node_selectors import compile_node_selector
from kubesched.objects.tolerations import tolerates_taint

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
ALWAYS_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
TOLERATED_ON_HOST_NETWORK: Final = (("node.kubernetes.io/network-unavailable", "NoSchedule"),)


class Placement:
    """A template's say about nodes (`NodeShouldRunDaemonPod`)."""

    def __init__(self, template: Json) -> None:
        spec = template["spec"]
        self._labels: dict[str, str] = spec.get("nodeSelector") or {}
        required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
        self._affinity = compile_node_selector(convert(required, NodeSelector)) if required else None
        self._tolerations = [convert(item, Toleration) for item in _tolerations(spec)]

    def starts_on(self, node: NodeRecord) -> bool:
        return self._matches(node) and self._tolerates(node, ("NoSchedule", "NoExecute"))

    def stays_on(self, node: NodeRecord) -> bool:
        return self._matches(node) and self._tolerates(node, ("NoExecute",))

    def _matches(self, node: NodeRecord) -> bool:
        labels = node.metadata.labels
        if not self._labels.items() <= labels.items():
            return False
        return self._affinity is None or self._affinity.matches(labels, node.metadata.name)

    def _tolerates(self, node: NodeRecord, effects: tuple[str, ...]) -> bool:
        return all(
            any(tolerates_taint(toleration, taint) for toleration in self._tolerations)
            for taint in node.spec.taints
            if taint.effect in effects
        )


def daemon_pod_spec(spec: Json, node: str) -> None:
    """Bind the pod's choice to one node: the scheduler places it, and nowhere else."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity[_REQUIRED] = {"nodeSelectorTerms": [{"matchFields": fields}]}
    spec["tolerations"] = _tolerations(spec)


def target_node(api: Api, pod: PodRecord) -> str:
    """The node that a daemon's pod is on, or is meant for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    found = api.reader.bucket(api.catalog.named("pods")).get(pod.metadata.namespace, pod.metadata.name)
    if found is None:
        return ""
    affinity = (found.decode()["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def _tolerations(spec: Json) -> list[Json]:
    added = ALWAYS_TOLERATED + (TOLERATED_ON_HOST_NETWORK if spec.get("hostNetwork") else ())
    own = list(spec.get("tolerations") or ())
    return own + [{"key": key, "operator": "Exists", "effect": effect} for key, effect in added]
