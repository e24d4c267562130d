"""Limit ranges: defaults and bounds of what a namespace's pods may ask for (`LimitRanger` upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.resource import AdmissionContext
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

LIMIT_RANGER_ANNOTATION: Final = "kubernetes.io/limit-ranger"


class LimitRanges:
    def __init__(self, context: AdmissionContext) -> None:
        self._pods = context.resource
        self._stored = context.stored("limitranges")

    def admit(self, pod: Json) -> None:
        """Fill in what the pod leaves to the ranges of its namespace, in place; refuse what is out of bounds."""
        for entry in self._stored.in_order(pod["metadata"].get("namespace", "")):
            limits = (entry.decode().get("spec") or {}).get("limits") or ()
            changes = [
                text for item in limits if item.get("type") == "Container" for text in _default_limits(pod, item)
            ]
            if changes:
                annotations = pod["metadata"].setdefault("annotations", {})
                annotations[LIMIT_RANGER_ANNOTATION] = "LimitRanger plugin set: " + "; ".join(changes)
            problems = [text for item in limits for text in _limit_problems(pod, item)]
            if problems:
                listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
                raise status.forbidden(self._pods, pod["metadata"].get("name", ""), listed)


def _default_limits(pod: Json, item: Json) -> list[str]:
    """Fill in a limit range's defaults; returns what was set, in the words of the annotation."""
    changes = []
    spec = pod["spec"]
    for kind, label in (("containers", "container"), ("initContainers", "init container")):
        for container in spec.get(kind) or ():
            resources = container.setdefault("resources", {})
            for source, target, word in (("defaultRequest", "requests", "request"), ("default", "limits", "limit")):
                added = [name for name in item.get(source) or {} if name not in (resources.get(target) or {})]
                for name in added:
                    resources.setdefault(target, {})[name] = item[source][name]
                if added:
                    changes.append(f"{', '.join(sorted(added))} {word} for {label} {container.get('name', '')}")
    return changes


def _limit_problems(pod: Json, item: Json) -> list[str]:
    spec, kind = pod["spec"], item.get("type")
    if kind == "Container":
        subjects = [container.get("resources") or {} for container in spec.get("containers") or ()]
    elif kind == "Pod":
        subjects = [_summed(spec)]
    else:
        return []
    problems = []
    for resources in subjects:
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name, least in (item.get("min") or {}).items():
            if name not in requests:
                problems.append(f"minimum {name} usage per {kind} is {least}.  No request is specified")
            elif Quantity.parse(requests[name]) < Quantity.parse(least):
                problems.append(f"minimum {name} usage per {kind} is {least}, but request is {requests[name]}")
        for name, most in (item.get("max") or {}).items():
            if name not in limits:
                problems.append(f"maximum {name} usage per {kind} is {most}.  No limit is specified")
            elif Quantity.parse(limits[name]) > Quantity.parse(most):
                problems.append(f"maximum {name} usage per {kind} is {most}, but limit is {limits[name]}")
    return problems


def _summed(spec: Json) -> Json:
    total: dict[str, dict[str, Quantity]] = {"requests": {}, "limits": {}}
    for container in spec.get("containers") or ():
        for kind, sums in total.items():
            for name, amount in ((container.get("resources") or {}).get(kind) or {}).items():
                sums[name] = sums.get(name, Quantity.ZERO) + Quantity.parse(amount)
    return {kind: {name: str(amount) for name, amount in sums.items()} for kind, sums in total.items()}
