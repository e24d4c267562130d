"""What a new pod gets from other objects: account, limits, priority, tolerations, runtime class."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.admission.limit_ranges import LimitRanges
from kubesched.cluster.apiserver.admission.priority_classes import PRIORITY_CLASSES, PriorityClasses
from kubesched.cluster.apiserver.admission.runtime_classes import RuntimeClasses
from kubesched.cluster.apiserver.resource import AdmissionContext, AdmissionPlugin
from kubesched.objects.base import Json

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS: Final = 300


class PodAdmission(AdmissionPlugin):
    def __init__(self, context: AdmissionContext) -> None:
        self._resource = context.resource
        self._limit_ranges = LimitRanges(context)
        self._priority_classes = PriorityClasses(context.stored(PRIORITY_CLASSES))
        self._runtime_classes = RuntimeClasses(context)

    def admit(self, value: Json, old: Json | None) -> None:
        if old is not None:
            return
        _default_account(value["spec"])
        self._limit_ranges.admit(value)
        self._apply_priority(value)
        _tolerate_node_failures(value["spec"])
        self._runtime_classes.admit(value)

    def _apply_priority(self, pod: Json) -> None:
        spec, name = pod["spec"], pod["metadata"].get("name", "")
        chosen = self._priority_classes.chosen(self._resource, spec, name)
        value, policy = 0, "PreemptLowerPriority"
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
            value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy", policy)
        if spec.get("priority", value) != value:
            message = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
            raise status.forbidden(self._resource, name, message)
        if spec.get("preemptionPolicy", policy) != policy:
            message = (
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
            raise status.forbidden(self._resource, name, message)
        spec["priority"], spec["preemptionPolicy"] = value, policy


def _default_account(spec: Json) -> None:
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = "default"


def _tolerate_node_failures(spec: Json) -> None:
    """`DefaultTolerationSeconds` upstream: five minutes on a failed node, unless the pod says otherwise."""
    tolerations = spec.setdefault("tolerations", [])
    for key in (NOT_READY, UNREACHABLE):
        said = any(
            item.get("key") in (key, None, "") and item.get("effect") in ("NoExecute", None, "") for item in tolerations
        )
        if not said:
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append(toleration | {"tolerationSeconds": TOLERATION_SECONDS})
