"""What decides between things that are equally good: chance, which can be repeated, or their names."""

from __future__ import annotations

from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kubesched.objects import Pod
from kubesched.scheduler.columns import NodeTable
from kubesched.scheduler.engine import Ranking

MOST_NAMES: Final = 8
"""Of a tie. There may be thousands."""


class Tie(NamedTuple):
    """How many nodes were equally good (`size`), and the first of them by name."""

    size: int
    nodes: tuple[str, ...]


class Chance(Random):
    """The random numbers of a simulation, and its choice among a pod's best nodes.

    While `by_name`, no number is drawn: the first by name is taken, so that the outcome does not depend on what
    happened before, and `ties` and `preemption_ties` tell where another outcome would have been as good.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.by_name = False
        self.notes_ties = True
        """If not, ties between nodes go to the first in the table instead, which is faster."""
        self.nodes: NodeTable
        """Set once there is one: a scheduler is built with its random numbers."""
        self.ties: dict[str, Tie] = {}
        """By pod: the nodes among which its last decision had to choose."""
        self.preemption_ties: dict[str, Tie] = {}
        """By the node that was chosen: the nodes on which preemption would have cost as much."""
        self._ranks: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._ranked_at = -1

    def choose(self, pod: Pod, ranking: Ranking) -> str:
        """A `NodeChoice`."""
        if not self.by_name:
            return ranking.best()
        if not self.notes_ties:
            return ranking.first_best()
        rows, names = ranking.best_rows(), self.nodes.names
        if len(rows) == 1:
            self.ties.pop(pod.key, None)
            return names[int(rows[0])]
        ranks = self._name_ranks()[rows]
        if len(rows) > MOST_NAMES:
            first = np.argpartition(ranks, MOST_NAMES)[:MOST_NAMES]
            first = first[np.argsort(ranks[first])]
        else:
            first = np.argsort(ranks)
        self.ties[pod.key] = tie = Tie(len(rows), tuple([names[row] for row in rows[first].tolist()]))
        return tie.nodes[0]

    def choice(self, seq: Any) -> Any:
        if not self.by_name:
            return super().choice(seq)
        if not isinstance(seq[0], str):
            return seq[0]
        names = sorted(seq)
        self.preemption_ties.pop(names[0], None)
        if len(names) > 1:
            self.preemption_ties[names[0]] = Tie(len(names), tuple(names[:MOST_NAMES]))
        return names[0]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        if not self.by_name:
            return super().randrange(start, stop, step)
        return 0 if stop is None else start

    def _name_ranks(self) -> npt.NDArray[np.intp]:
        """By row: the place of its name among all names."""
        nodes = self.nodes
        if self._ranked_at != nodes.node_changes.position:
            self._ranked_at = nodes.node_changes.position
            self._ranks = np.empty(len(nodes.names), dtype=np.intp)
            self._ranks[sorted(range(len(nodes.names)), key=nodes.names.__getitem__)] = np.arange(len(nodes.names))
        return self._ranks
