"""Disruption budgets as the Eviction API applies them, kept up to date while a plan is played through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod, PodDisruptionBudget
from kubesched.objects.selectors import Selector, compile_label_selector

VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def is_healthy(pod: Pod) -> bool:
    """Whether a budget counts the pod as healthy: on a node, not leaving, and not reported as unready."""
    return bool(
        pod.spec.node_name
        and not pod.is_terminating
        and not any(condition.type == "Ready" and condition.status != "True" for condition in pod.status.conditions)
    )


@dataclass(slots=True)
class _Count:
    budget: PodDisruptionBudget
    selector: Selector
    expected: int = 0
    healthy: int = 0
    healthy_at_first: int = 0

    @property
    def desired(self) -> int:
        """How many pods must stay healthy (getExpectedPodCount)."""
        spec, status = self.budget.spec, self.budget.status
        if spec.min_available is not None:
            return _scaled(spec.min_available, self.expected)
        if spec.max_unavailable is not None:
            return max(0, self.expected - _scaled(spec.max_unavailable, self.expected))
        return self.healthy_at_first - status.disruptions_allowed

    @property
    def allowed(self) -> int:
        return self.healthy - self.desired if self.expected else 0


class Budgets:
    """Counts what each budget allows. `recount` after pods have changed; `spend` in between.

    A budget whose rule is known is computed from it; of one that is not, the disruptions that its status allows are
    taken as those of the first count.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[_Count]] = {}
        self._has_counted = False
        for budget in budgets:
            try:
                selector = compile_label_selector(budget.spec.selector)
            except InvalidObjectError:
                continue  # the API server could not apply it either
            self._by_namespace.setdefault(budget.metadata.namespace, []).append(_Count(budget, selector))

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    def recount(self, pods: Iterable[Pod], healthy: Callable[[Pod], bool] = is_healthy) -> None:
        """The pods that there are now; all of them at the first time."""
        for counts in self._by_namespace.values():
            for count in counts:
                count.expected = count.healthy = 0
        if self._by_namespace:
            for pod in pods:
                for count in self._of(pod):
                    count.expected += _is_expected(pod)
                    count.healthy += healthy(pod)
        if not self._has_counted:
            self._has_counted = True
            for counts in self._by_namespace.values():
                for count in counts:
                    count.healthy_at_first = count.healthy

    def obstacle(self, pod: Pod, healthy: Callable[[Pod], bool] = is_healthy) -> str:
        """Why the API server would refuse to evict the pod now; empty if it would not (EvictionREST)."""
        if not pod.spec.node_name or pod.is_terminal or pod.is_terminating:
            return ""
        budgets = self._of(pod)
        if not budgets:
            return ""
        if len(budgets) > 1:
            return SEVERAL
        count = budgets[0]
        if not healthy(pod):
            always = count.budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
            if always or count.healthy >= count.desired > 0:
                return ""
        if count.allowed > 0:
            return ""
        name = count.budget.metadata.name
        if count.healthy <= count.desired:
            needs = f"needs {count.desired} healthy pods and has {count.healthy} currently"
        else:
            needs = "does not allow evicting pods currently"
        return f"{VIOLATED} The disruption budget {name} {needs}"

    def spend(self, pod: Pod, healthy: Callable[[Pod], bool] = is_healthy) -> None:
        """The pod is evicted, and its successor is not there yet."""
        for count in self._of(pod):
            count.healthy -= healthy(pod)

    def forbids_forever(self, pod: Pod) -> str:
        """Why the pod could not be evicted even if all the others were healthy; empty if it could."""
        budgets = self._of(pod)
        if len(budgets) > 1:
            return SEVERAL
        if budgets and budgets[0].expected - budgets[0].desired <= 0:
            name, count = budgets[0].budget.metadata.name, budgets[0]
            return f"The disruption budget {name} needs {count.desired} healthy pods of {count.expected}"
        return ""

    def _of(self, pod: Pod) -> list[_Count]:
        labels = pod.metadata.labels
        counts = self._by_namespace.get(pod.metadata.namespace, ())
        return [count for count in counts if count.selector.matches(labels)]


def _is_expected(pod: Pod) -> bool:
    """Whether the pod stands for one that its controller asks for. One that leaves has a successor already, but for
    those of a StatefulSet, which come when their names are free.
    """
    owner = pod.metadata.controller_of
    return not pod.is_terminating or (owner is not None and owner.kind == "StatefulSet")


def _scaled(amount: int | str, total: int) -> int:
    """A number, or a percentage of `total`, rounded up."""
    if isinstance(amount, int):
        return amount
    try:
        return math.ceil(int(amount.removesuffix("%")) * total / 100) if amount.endswith("%") else int(amount)
    except ValueError:
        return total  # a rule that makes no sense allows nothing
