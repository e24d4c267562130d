"""Disruption budgets: how many pods may be missing right now."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.amounts import scaled
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.records import PodRecord, WorkloadRecord, controller_uid
from kubesched.objects.base import Json

NAME: Final = "disruption"
EVICTION_SECONDS: Final = 120.0  # an eviction that has not happened by then is forgotten


class DisruptionController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._resource = context.budgets.resource
        scalable = (context.replica_sets, context.stateful_sets, context.deployments)
        self._by_uid = [informer.index(lambda item: item.metadata.uid) for informer in scalable]
        context.budgets.listen(self._budget_changed)
        context.pods.listen(self._pod_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        budget = self._context.budgets.get(name, namespace)
        if budget is None:
            return
        selector = object_selector(budget.spec.get("selector"))
        pods = [pod for pod in self._context.pods.in_namespace(namespace) if selector.matches(pod.metadata.labels)]
        pods = [pod for pod in pods if not pod.is_finished]
        expected = self._expected(budget, pods)
        disrupted = self._still_disrupted(budget, pods)
        healthy = sum(pod.is_active and pod.is_ready and pod.metadata.name not in disrupted for pod in pods)
        desired = _desired(budget.spec, expected)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        now = self._context.timestamp()

        def change(status: Json) -> None:
            status |= {
                "expectedPods": expected,
                "desiredHealthy": desired,
                "currentHealthy": healthy,
                "disruptionsAllowed": allowed,
                "observedGeneration": budget.metadata.generation,
            }
            status.pop("disruptedPods", None)
            if disrupted:
                status["disruptedPods"] = disrupted
            told = {
                "type": "DisruptionAllowed",
                "status": "True" if allowed else "False",
                "reason": "SufficientPods" if allowed else "InsufficientPods",
                "message": "",
                "observedGeneration": budget.metadata.generation,
            }
            conditions.put(status, told, now)

        self._context.set_status(self._resource, budget.metadata, change)

    def _expected(self, budget: WorkloadRecord, pods: list[PodRecord]) -> int:
        """The pods that there should be: a percentage is one of what the pods' controllers ask for."""
        minimum = budget.spec.get("minAvailable")
        if isinstance(minimum, int):
            return len(pods)
        total = 0
        for uid in sorted({controller_uid(pod.metadata) for pod in pods}):
            owned = [pod for pod in pods if controller_uid(pod.metadata) == uid]
            total += self._scale(uid, len(owned))
        return total

    def _scale(self, uid: str, found: int) -> int:
        """What the topmost controller asks for; what there is, where nobody asks."""
        owner = next((item for index in self._by_uid for item in index[uid]), None)
        if owner is None:
            return found
        above = controller_uid(owner.metadata)
        wanted = int(owner.spec.get("replicas", found))
        return self._scale(above, wanted) if above else wanted

    def _still_disrupted(self, budget: WorkloadRecord, pods: list[PodRecord]) -> dict[str, str]:
        alive = {pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is None}
        kept = {}
        for name, since in (budget.status.get("disruptedPods") or {}).items():
            left = EVICTION_SECONDS - (self._context.now() - datetime.fromisoformat(since)).total_seconds()
            if name in alive and left > 0:
                kept[name] = since
                self._context.enqueue(NAME, budget.metadata, after=left)
        return kept

    def _budget_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if new is not None:
            self._context.enqueue(NAME, new.metadata)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if not len(self._context.budgets):
            return
        pod = new or old
        assert pod is not None
        for budget in self._context.budgets.in_namespace(pod.metadata.namespace):
            self._context.enqueue(NAME, budget.metadata)


def _desired(spec: Json, expected: int) -> int:
    minimum, most_away = spec.get("minAvailable"), spec.get("maxUnavailable")
    if minimum is not None:
        return scaled(minimum, expected, round_up=True)
    if most_away is not None:
        return max(0, expected - scaled(most_away, expected, round_up=True))
    return 0
