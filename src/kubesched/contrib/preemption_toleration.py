"""PreemptionToleration: preemption that spares pods whose priority class tolerates it, for a while or for good.

    kind: PriorityClass
    metadata:
      annotations:
        preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority: "10000"
        preemption-toleration.scheduling.x-k8s.io/toleration-seconds: "3600"

Pods of this class are evicted for pods of priority 10000 or more at once, and for others (of a higher priority than
their own) when they have run for an hour; with a negative number of seconds, never.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np

from kubesched.framework import (
    Booleans,
    Code,
    CycleState,
    DefaultPreemptionArgs,
    Diagnosis,
    Handle,
    NodeView,
    PluginArgs,
    PluginFailedError,
    Pod,
    PodInfo,
    Positions,
    Preemption,
    PriorityClass,
)

NAME: Final = "PreemptionToleration"
PREFIX: Final = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM_PRIORITY: Final = PREFIX + "minimum-preemptable-priority"
TOLERATION_SECONDS: Final = PREFIX + "toleration-seconds"
POLICY_NEVER: Final = "not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


class PreemptionTolerationArgs(PluginArgs, frozen=True):
    """How many candidate nodes are tried, as for DefaultPreemption."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class Policy(NamedTuple):
    """What a priority class tolerates: pods of `minimum_priority` preempt it at once, others after `seconds`."""

    minimum_priority: int
    seconds: int


NO_TOLERATION: Final = Policy(-(1 << 31), 0)


class PreemptionToleration(Preemption):
    """DefaultPreemption, except for pods that tolerate the preemption of this pod now."""

    name = NAME

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = PreemptionTolerationArgs.of(args)
        limits = DefaultPreemptionArgs(
            min_candidate_nodes_percentage=chosen.min_candidate_nodes_percentage,
            min_candidate_nodes_absolute=chosen.min_candidate_nodes_absolute,
        )
        super().__init__(limits, handle)
        self._classes = handle.informer(PriorityClass)

    def may_evict(self, state: CycleState, pod: PodInfo, placed: Positions) -> Booleans:
        may = super().may_evict(state, pod, placed)
        infos, now = self.handle.cluster.pods.infos, self.handle.clock.time()
        policies: dict[str, Policy] = {}
        for position in np.flatnonzero(may).tolist():
            info = infos[placed[position]]
            if info is None or not (name := info.pod.spec.priority_class_name):
                continue
            policy = policies.get(name)
            if policy is None:
                policy = policies[name] = self._policy(name)
            may[position] = not _tolerates(policy, info.pod, pod.priority, now)
        return may

    def obstacle(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        """A pod that has made room before waits while anybody of lower priority is leaving its node."""
        if pod.spec.preemption_policy == "Never":
            return POLICY_NEVER
        statuses, nodes = diagnosis.statuses, self.handle.cluster.nodes
        nominated = pod.status.nominated_node_name
        row = nodes.row_of.get(nominated) if nominated else None
        if row is None or statuses.get(nominated, statuses.absent).code is Code.UNRESOLVABLE:
            return ""
        others = self.handle.cluster.pods.on_node(row)
        leaving = any(other.pod.is_terminating and other.priority < pod.priority for other in others)
        return VICTIM_TERMINATING if leaving else ""

    def no_victims(self, pod: Pod, nodes: NodeView) -> Counter[str]:
        names = (nodes.name(position) for position in range(len(nodes)))
        return Counter(f"No victims found on node {name} for preemptor pod {pod.metadata.name}" for name in names)

    def _policy(self, name: str) -> Policy:
        found = self._classes.get(name)
        if found is None:
            raise PluginFailedError(NAME, "PostFilter", f'priorityclass.scheduling.k8s.io "{name}" not found')
        return policy_of(found)


def policy_of(priority_class: PriorityClass) -> Policy:
    """Annotations that make no sense mean no toleration at all; one that is absent has its default."""
    annotations = priority_class.metadata.annotations
    minimum = _integer(annotations.get(MINIMUM_PRIORITY, str(priority_class.value + 1)), bits=32)
    seconds = _integer(annotations.get(TOLERATION_SECONDS, "0"), bits=64)
    return NO_TOLERATION if minimum is None or seconds is None else Policy(minimum, seconds)


def _integer(text: str, *, bits: int) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def _tolerates(policy: Policy, victim: Pod, priority: int, now: float) -> bool:
    """Whether a pod is exempt from preemption by one of this priority (ExemptedFromPreemption)."""
    if priority >= policy.minimum_priority:
        return False
    if policy.seconds < 0:
        return True
    scheduled = next((condition for condition in victim.status.conditions if condition.type == "PodScheduled"), None)
    if scheduled is None or scheduled.status != "True":
        return True
    since = scheduled.last_transition_time
    return since is None or since.timestamp() + policy.seconds > now
