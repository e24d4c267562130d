"""What decides between things that are equally good: chance, which can be repeated, or their names."""

from __future__ import annotations

from random import Random
from typing import Any

from kubesched.objects import Pod
from kubesched.scheduler.engine import Ranking


class Chance(Random):
    """The random numbers of a simulation, and its choice among a pod's best nodes.

    While `by_name`, no number is drawn: the first by name is taken, so that the outcome does not depend on what
    happened before, and `ties` and `preemption_ties` tell where another outcome would have been as good.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.by_name = False
        self.ties: dict[str, tuple[str, ...]] = {}
        """By pod: the nodes among which its last decision had to choose."""
        self.preemption_ties: dict[str, tuple[str, ...]] = {}
        """By the node that was chosen: all nodes on which preemption would have cost as much."""

    def choose(self, pod: Pod, ranking: Ranking) -> str:
        """A `NodeChoice`."""
        if not self.by_name:
            return ranking.best()
        tied = ranking.tied()
        if len(tied) > 1:
            self.ties[pod.key] = tuple(tied)
        else:
            self.ties.pop(pod.key, None)
        return tied[0]

    def choice(self, seq: Any) -> Any:
        if not self.by_name:
            return super().choice(seq)
        if not isinstance(seq[0], str):
            return seq[0]
        chosen = min(seq)
        self.preemption_ties.pop(chosen, None)
        if len(seq) > 1:
            self.preemption_ties[chosen] = tuple(sorted(seq))
        return chosen

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        if not self.by_name:
            return super().randrange(start, stop, step)
        return 0 if stop is None else start
