"""May a pod preempt others at all?"""

from __future__ import annotations

from typing import Final

from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import Code, NodeStatuses

NEVER: Final = "Never"
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"

POLICY_NEVER: Final = "not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."


def obstacle(pod: Pod, statuses: NodeStatuses, cluster: ClusterTables) -> str:
    """Why the pod must not preempt anybody now; empty if it may.

    A pod that has made room before waits until its victims are gone, unless its node can no longer take it anyway.
    """
    if pod.spec.preemption_policy == NEVER:
        return POLICY_NEVER
    nominated = pod.status.nominated_node_name
    if not nominated or statuses.get(nominated, statuses.absent).code is Code.UNRESOLVABLE:
        return ""
    row = cluster.nodes.row_of.get(nominated)
    if row is None or cluster.nodes.nodes[row] is None:
        return ""
    victims = (other for other in cluster.pods.on_node(row) if other.priority < pod.priority)
    return VICTIM_TERMINATING if any(is_terminating_by_preemption(other.pod) for other in victims) else ""


def is_terminating_by_preemption(pod: Pod) -> bool:
    """Whether the pod is on its way out because a scheduler evicted it."""
    if not pod.is_terminating:
        return False
    disruption = next((c for c in pod.status.conditions if c.type == DISRUPTION_TARGET), None)
    return disruption is not None and (disruption.status, disruption.reason) == ("True", PREEMPTION_BY_SCHEDULER)
