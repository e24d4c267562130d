"""Evict a pod, if its disruption budget allows (`EvictionREST` upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import DeleteOptions
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform
from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.apiserver.tables.layout import condition_status
from kubesched.cluster.apiserver.verbs.deletion import Deleter
from kubesched.cluster.apiserver.verbs.reading import Reader
from kubesched.cluster.apiserver.verbs.writing import Writer
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

CAUSE: Final = "DisruptionBudget"
MOST_DISRUPTED: Final = 2000
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Evictor:
    def __init__(self, reader: Reader, writer: Writer, deleter: Deleter, pods: Resource, budgets: Resource) -> None:
        self._reader = reader
        self._writer = writer
        self._deleter = deleter
        self._pods = pods
        self._budgets = budgets

    def evict(self, eviction: Json, name: str, namespace: str, *, dry_run: bool = False) -> None:
        if wrong := conform("policy.v1.Eviction", eviction).wrong:
            raise status.bad_request(f'Eviction in version "v1" cannot be handled as a Eviction: {wrong}')
        if (eviction.get("metadata") or {}).get("name", name) != name:
            raise status.bad_request("name in URL does not match name in Eviction object")
        asked = eviction.get("deleteOptions") or {}
        dry_run = dry_run or bool(asked.get("dryRun"))
        pod = self._reader.get(self._pods, name, namespace).decode()
        if not _unguarded(pod):
            self._spend_budget(pod, namespace, dry_run=dry_run)
        if not dry_run:
            self._mark_disrupted(name, namespace)
        preconditions = asked.get("preconditions") or {}
        options = DeleteOptions(
            grace_period=asked.get("gracePeriodSeconds"),
            propagation=asked.get("propagationPolicy") or "",
            uid=preconditions.get("uid") or "",
            dry_run=dry_run,
        )
        self._deleter.delete(self._pods, name, namespace, options)

    def _spend_budget(self, pod: Json, namespace: str, *, dry_run: bool) -> None:
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            budget
            for entry in self._reader.bucket(self._budgets).in_order(namespace)
            if object_selector(((budget := entry.decode()).get("spec") or {}).get("selector")).matches(labels)
        ]
        if len(budgets) > 1:
            raise RequestRefusedError(500, "", _SEVERAL)
        if not budgets or _healthy_without(pod, budgets[0]):
            return
        _check(budgets[0])
        if not dry_run:
            self._decrement(budgets[0], pod["metadata"]["name"])

    def _decrement(self, budget: Json, pod_name: str) -> None:
        budget["status"]["disruptionsAllowed"] -= 1
        budget["status"].setdefault("disruptedPods", {})[pod_name] = self._writer.now()
        metadata = budget["metadata"]
        self._writer.update(
            self._budgets, metadata["name"], metadata["namespace"], lambda _: budget, subresource="status"
        )

    def _mark_disrupted(self, name: str, namespace: str) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": self._writer.now(),
        }

        def mark(pod: Json) -> Json:
            conditions = pod.setdefault("status", {}).setdefault("conditions", [])
            conditions[:] = [item for item in conditions if item.get("type") != "DisruptionTarget"] + [condition]
            return pod

        self._writer.update(self._pods, name, namespace, mark, subresource="status")


def _unguarded(pod: Json) -> bool:
    """Pods that cause no disruption by going (`canIgnorePDB`)."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _healthy_without(pod: Json, budget: Json) -> bool:
    """An unready pod may go when the budget says so, or when the others suffice."""
    if condition_status(pod, "Ready") == "True":
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    counts = budget.get("status") or {}
    desired = counts.get("desiredHealthy", 0)
    return bool(counts.get("currentHealthy", 0) >= desired > 0)


def _check(budget: Json) -> None:
    name, counts = budget["metadata"]["name"], budget.get("status") or {}
    if counts.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        message = f"The disruption budget {name} is still being processed by the server."
        raise status.too_many_requests(_VIOLATED, retry_after=10, causes=[{"reason": CAUSE, "message": message}])
    if len(counts.get("disruptedPods") or ()) > MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise status.forbidden(_BudgetNamed(), name, why)
    allowed = counts.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise status.forbidden(_BudgetNamed(), name, "pdb disruptions allowed is negative")
    if allowed == 0:
        desired, current = counts.get("desiredHealthy", 0), counts.get("currentHealthy", 0)
        message = f"The disruption budget {name} does not allow evicting pods currently"
        if current <= desired:
            message = f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        raise status.too_many_requests(_VIOLATED, causes=[{"reason": CAUSE, "message": message}])


class _BudgetNamed:
    group, kind, plural = "policy", "PodDisruptionBudget", "poddisruptionbudget"
