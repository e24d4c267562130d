"""Room that is there, but not in one place."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched.objects import Pod
from kubesched.objects.pod_resources import incoming_requests
from kubesched.scheduler.framework import NodeInfo


def suffices_in_sum(pod: Pod, nodes: Iterable[NodeInfo]) -> bool:
    """Whether all that a pod asks for is free in the cluster, though on no single node."""
    asked = {name: amount for name, amount in incoming_requests(pod).items() if amount}
    free = dict.fromkeys(asked, 0)
    for node in nodes:
        left = {name: max(0, node.free.get(name, 0)) for name in asked}
        if all(left[name] >= amount for name, amount in asked.items()):
            return False
        for name in asked:
            free[name] += left[name]
    return bool(asked) and all(free[name] >= amount for name, amount in asked.items())
