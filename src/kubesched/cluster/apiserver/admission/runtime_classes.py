"""What a pod gets from its runtime class: overhead, node selector, tolerations (admission's RuntimeClass upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.resource import AdmissionContext
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

ANY_VALUE: Final = "*"  # no value of a toleration: it is no label value


class RuntimeClasses:
    def __init__(self, context: AdmissionContext) -> None:
        self._pods = context.resource
        self._classes = context.stored("runtimeclasses.node.k8s.io")

    def admit(self, pod: Json) -> None:
        """Changes the pod in place, or refuses it."""
        spec, name = pod["spec"], pod["metadata"].get("name", "")
        chosen = self._chosen(spec, name)
        overhead = (chosen.get("overhead") or {}).get("podFixed") or {}
        if overhead:
            if spec.get("overhead") and _amounts(spec["overhead"]) != _amounts(overhead):
                raise self._rejected(name, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            spec["overhead"] = overhead
        elif "overhead" in spec:
            raise self._rejected(name, "Pod Overhead set without corresponding RuntimeClass defined Overhead")
        if "scheduling" in chosen:
            self._apply_scheduling(spec, name, chosen["scheduling"])

    def _chosen(self, spec: Json, pod: str) -> Json:
        if "runtimeClassName" not in spec:
            return {}
        found = self._classes.get("", spec["runtimeClassName"])
        if found is None:
            raise self._rejected(pod, f'RuntimeClass "{spec["runtimeClassName"]}" not found')
        return found.decode()

    def _apply_scheduling(self, spec: Json, pod: str, scheduling: Json) -> None:
        selector = spec.get("nodeSelector") or {}
        for key, value in (scheduling.get("nodeSelector") or {}).items():
            if selector.get(key, value) != value:
                ours, theirs = f"runtimeClass.scheduling.nodeSelector[{key}]", f"pod.spec.nodeSelector[{key}]"
                problem = f"conflict: {ours} = {value}; {theirs} = {selector[key]}"
                raise status.forbidden(self._pods, pod, problem)
            selector[key] = value
        if selector:
            spec["nodeSelector"] = selector
        spec["tolerations"] = merged((spec.get("tolerations") or []) + (scheduling.get("tolerations") or []))

    def _rejected(self, pod: str, why: str) -> Exception:
        return status.forbidden(self._pods, pod, f"pod rejected: {why}")


def merged(tolerations: list[Json]) -> list[Json]:
    """Without those that another one covers; of equal ones, the first stays (`MergeTolerations`)."""
    groups: dict[tuple[str, str], list[tuple[int, Json]]] = {}  # by key and value; Exists has no value
    for position, item in enumerate(tolerations):
        groups.setdefault(_group(item), []).append((position, item))
    dropped: set[int] = set()
    for position, item in enumerate(tolerations):
        key = item.get("key", "")
        for group in dict.fromkeys((_group(item), (key, ANY_VALUE), ("", ANY_VALUE))):
            if any(
                other_position not in dropped and (other_position < position or other != item) and _covers(other, item)
                for other_position, other in groups.get(group, ())
                if other_position != position
            ):
                dropped.add(position)
                break
    return [item for position, item in enumerate(tolerations) if position not in dropped]


def _group(toleration: Json) -> tuple[str, str]:
    """What covers a toleration has its key or none, and its value or any."""
    exists = toleration.get("operator") == "Exists"
    return toleration.get("key", ""), ANY_VALUE if exists else toleration.get("value", "")


def _covers(one: Json, other: Json) -> bool:
    """`isSuperset` upstream."""
    if one == other:
        return True
    operator, limit = one.get("operator", "Equal"), one.get("tolerationSeconds")
    if one.get("key", "") != other.get("key", "") and (one.get("key") or operator != "Exists"):
        return False
    if one.get("effect", "") not in ("", other.get("effect", "")):
        return False
    if one.get("effect") == "NoExecute" and limit is not None:
        seconds = other.get("tolerationSeconds")
        if seconds is None or seconds > limit:
            return False
    if operator == "Exists":
        return True
    return other.get("operator") == "Equal" and other.get("value", "") == one.get("value", "")


def _amounts(resources: Json) -> dict[str, Quantity]:
    return {name: Quantity.parse(amount) for name, amount in resources.items()}
