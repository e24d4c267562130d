"""Every single loss at once: each node, zone or value of a label is taken away in turn, and ranked by the damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched.apps.plan.reporting import Progress, ReportPart
from kubesched.apps.plan.state import State
from kubesched.apps.plan.what_if import ZONE, Waiting, why_waiting
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import ConfigurationError
from kubesched.objects import Node


class Loss(ReportPart):
    """What the loss of these nodes does. `gone` are pods that nothing recreates."""

    what: str
    nodes: int
    waiting: tuple[Waiting, ...] = ()
    gone: tuple[str, ...] = ()
    preempted: tuple[str, ...] = ()
    moved: int = 0

    @property
    def damage(self) -> tuple[int, int, int, int]:
        """Worse is higher: pods without a node, then pods that are gone, preempted, restarted elsewhere."""
        return len(self.waiting), len(self.gone), len(self.preempted), self.moved


class EachReport(ReportPart):
    """The worst first; those that do the same damage by name."""

    each: str
    losses: tuple[Loss, ...] = ()


def each_loss(simulation: Simulation, by: str, progress: Progress | None = None) -> EachReport:
    """Lose every single node (`by` is `node`), zone (`zone`) or set of nodes with one value of the label `by`."""
    with State(simulation) as now:
        now.settle(retry=True)
        groups = _groups(simulation.objects(Node), by)
        losses = []
        for done, (name, nodes) in enumerate(groups):
            losses.append(_lose(simulation, name, nodes))
            if progress is not None:
                progress(done + 1, len(groups))
    losses.sort(key=lambda loss: ([-part for part in loss.damage], loss.what))
    return EachReport(each=by, losses=tuple(losses))


def _groups(nodes: Sequence[Node], by: str) -> list[tuple[str, list[Node]]]:
    nodes = sorted(nodes, key=lambda node: node.metadata.name)
    if not nodes:
        raise ConfigurationError(["there are no nodes"])
    if by == "node":
        return [(node.metadata.name, [node]) for node in nodes]
    label = ZONE if by == "zone" else by
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        if label in node.metadata.labels:
            groups.setdefault(node.metadata.labels[label], []).append(node)
    if not groups:
        raise ConfigurationError([f"no node has the label {label}"])
    return sorted(groups.items())


def _lose(simulation: Simulation, name: str, nodes: Sequence[Node]) -> Loss:
    with State(simulation) as state:
        state.lose(nodes, "lost with its node")
        state.settle()
        return Loss(
            what=name,
            nodes=len(nodes),
            waiting=tuple(_waiting(state)),
            gone=tuple(sorted(key for key, why in state.gone.items() if why.endswith("recreates it"))),
            preempted=tuple(sorted({one.victim.key for one in state.preemptions})),
            moved=sum(
                before is not None
                and now is not None
                and bool(now.spec.node_name and before.spec.node_name)
                and before.metadata.uid != now.metadata.uid
                for before, now in state.changed_pods().values()
            ),
        )


def _waiting(state: State) -> Iterator[Waiting]:
    for key, (before, now) in state.changed_pods().items():
        if now is not None and not now.spec.node_name and before is not None and before.spec.node_name:
            yield Waiting(pod=key, before=before.spec.node_name, why=why_waiting(now), is_new=True)
