"""Pods that are placed together: what is known of a group, and where it might go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kubesched.scheduler.columns import NodeView, PodInfo
from kubesched.scheduler.framework.cycle_state import CycleState
from kubesched.scheduler.framework.status import Status


@dataclass(slots=True)
class PodGroupState:
    """The pods of a group that the scheduler knows, by uid; each is in one of the three places."""

    unscheduled: dict[str, PodInfo] = field(default_factory=dict)
    assumed: dict[str, PodInfo] = field(default_factory=dict)
    assigned: dict[str, PodInfo] = field(default_factory=dict)

    @property
    def pod_count(self) -> int:
        return len(self.unscheduled) + self.scheduled_count

    @property
    def scheduled_count(self) -> int:
        """Pods that have a node: bound, or on their way there."""
        return len(self.assumed) + len(self.assigned)

    def scheduled(self) -> Iterator[PodInfo]:
        """They are all in the cluster's pod table, which knows their nodes."""
        yield from self.assigned.values()
        yield from self.assumed.values()


class PodGroupStates(Protocol):
    def get(self, namespace: str, name: str) -> PodGroupState | None:
        """None if no pod of the group is known."""
        ...


@dataclass(frozen=True, slots=True)
class PodGroupInfo:
    """A group in its scheduling cycle, with the pods that are to be placed, in the order in which they are tried."""

    namespace: str
    name: str
    pods: Sequence[PodInfo] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PlacementProgress:
    """How far the trial of a group has come: pods that are still to be tried, and pods that have a node."""

    remaining: int
    scheduled: int


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Nodes among which a whole group could be placed. The name is for people."""

    name: str
    nodes: NodeView


@dataclass(frozen=True, slots=True, eq=False)
class PodGroupAssignments:
    """A placement in which the group fits, and the node that each of its pods would get, by uid."""

    placement: Placement
    proposed: Mapping[str, str]


Nominations = Mapping[str, str]
"""By uid: the node that a pod of a group is to wait for."""


class PodGroupDryRun(Protocol):
    """Would a group be placed if some pods were not there? All of them are there again when the dry run is over."""

    def placed(self) -> Iterator[PodInfo]:
        """All pods that count on an existing node, node by node, in the order in which nodes are looked at."""
        ...

    def remove(self, pods: Iterable[PodInfo]) -> None: ...
    def put_back(self, pods: Iterable[PodInfo]) -> None: ...
    async def run(self) -> Status:
        """Success if enough pods of the group get a node. Nobody is preempted."""
        ...

    @property
    def nodes(self) -> Mapping[str, str]:
        """The node that each pod got in the last run, by uid."""
        ...

    async def keeps_nodes(self) -> bool:
        """Whether all of them could still have these nodes, one after the other."""
        ...

    @property
    def attempts(self) -> Mapping[str, CycleState]:
        """The states of the pods' attempts before any dry run, by uid; of pods that were not tried there is none."""
        ...
