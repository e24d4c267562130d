"""What a defragmentation is to reach, and what a move costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from kubesched.objects import Pod
from kubesched.objects.pod_resources import incoming_requests

COST_ANNOTATION = "kubesched.io/eviction-cost"


class Fit(msgspec.Struct, frozen=True):
    """Room for these pods, all at once."""

    pods: Sequence[Pod]

    def __str__(self) -> str:
        return f"room for {self.pods[0].key}" + (f" and {len(self.pods) - 1} more" if len(self.pods) > 1 else "")


class FreeNodes(msgspec.Struct, frozen=True):
    """So many nodes without pods, those of DaemonSets aside; nodes that are empty already count."""

    count: int

    def __str__(self) -> str:
        return f"{self.count} empty node{'s' if self.count != 1 else ''}"


class DrainNodes(msgspec.Struct, frozen=True):
    """These nodes without pods: a name or a label selector."""

    nodes: str

    def __str__(self) -> str:
        return f"{self.nodes} drained"


class Rebalance(msgspec.Struct, frozen=True):
    """No pod where the scheduler's filters would not let it go today; with soft spreads taken as hard ones."""

    def __str__(self) -> str:
        return "no violated constraints"


Goal = Fit | FreeNodes | DrainNodes | Rebalance


class Cost(StrEnum):
    """What is to be little; the annotation kubesched.io/eviction-cost of a pod overrides it."""

    MOVES = "moves"
    PRIORITY = "priority"
    RESTARTS = "restarts"
    GPU_HOURS = "gpu-hours"


def cost_function(cost: Cost, now: datetime) -> Callable[[Pod], int]:
    """The price of moving a pod: at least 1."""

    def price(pod: Pod) -> int:
        try:
            return max(1, int(pod.metadata.annotations[COST_ANNOTATION]))
        except (KeyError, ValueError):
            pass
        match cost:
            case Cost.PRIORITY:
                return 1 + max(0, pod.priority)
            case Cost.RESTARTS:
                return max(1, len(pod.spec.containers) + len(pod.spec.init_containers))
            case Cost.GPU_HOURS:
                started = pod.status.start_time
                hours = (now - started).total_seconds() / 3600 if started is not None else 0.0
                gpus = sum(number for name, number in incoming_requests(pod).items() if name.endswith("/gpu"))
                return 1 + int(gpus * max(0.0, hours))
        return 1

    return price
