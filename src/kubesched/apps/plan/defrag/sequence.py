"""Moves one after the other, each decided by the scheduler itself, within budgets at every moment.

A move is an eviction; where the pod's successor goes is for the scheduler to say. If it goes where it may (`free`), the
plan needs no help. If that spoils the plan, moves are made to land on the solver's targets (`strict`): nodes that the
scheduler would prefer are cordoned for the moment of the move, and the step says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kubesched.apps.plan.budgets import Budgets
from kubesched.apps.plan.reporting import Progress, ReportPart
from kubesched.apps.plan.state import State
from kubesched.apps.plan.what_if import NO_TIE, why_waiting
from kubesched.errors import KubeschedError
from kubesched.objects import Node, Pod, PodDisruptionBudget


class Step(ReportPart):
    """One thing to do: `cordon` or `uncordon` nodes, or `evict` a pod, which then is to start on `lands_on`.

    `meanwhile_cordoned` are nodes to cordon before the eviction and to uncordon after the landing. `tied` as in
    `Placed`: the landing is left to chance among these; any of them will do. After such a step, a landing that needs no
    help may be another one (`after_tie`).
    """

    action: str
    nodes: tuple[str, ...] = ()
    pod: str = ""
    uid: str = ""
    owner: str = ""
    on: str = ""
    lands_on: str = ""
    tied: tuple[str, ...] = ()
    tied_nodes: int = 0
    after_tie: bool = False
    meanwhile_cordoned: tuple[str, ...] = ()


class StuckError(KubeschedError):
    """The moves cannot all be made in this way; `reason` says what is in the way of the next one."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Wish:
    """A pod that is to leave its node, and where it had best go; empty: anywhere."""

    pod: Pod
    target: str = ""


@dataclass
class MoveSequence:
    """The steps so far, in a state that has taken them."""

    state: State
    steps: list[Step] = field(default_factory=list)

    def cordon(self, names: Sequence[str]) -> None:
        """Nodes that are to take nobody from now on."""
        nodes = [node for node in self._nodes(names) if not node.spec.unschedulable]
        if nodes:
            self.state.cordon(nodes)
            self.steps.append(Step(action="cordon", nodes=tuple(node.metadata.name for node in nodes)))

    def uncordon(self, names: Sequence[str]) -> None:
        nodes = [node for node in self._nodes(names) if node.spec.unschedulable]
        if nodes:
            self._set_unschedulable(nodes, False)
            self.state.settle()
            self.steps.append(Step(action="uncordon", nodes=tuple(node.metadata.name for node in nodes)))

    def move_all(self, wishes: Sequence[Wish], *, strict: bool, progress: Progress | None = None) -> None:
        """Make every move, in an order in which each is possible. StuckError if there is none."""
        waiting = list(wishes)
        while waiting:
            budgets = Budgets(self.state.simulation.objects(PodDisruptionBudget))
            budgets.recount(self.state.simulation.objects(Pod) if budgets else ())
            left, obstacle = [], ""
            for wish in waiting:
                if self._is_gone(wish.pod):
                    continue
                problem = budgets.obstacle(wish.pod) or self._move(wish, strict)
                if problem:
                    left.append(wish)
                    obstacle = obstacle or f"{wish.pod.key} on {wish.pod.spec.node_name}: {problem}"
                elif budgets:
                    budgets.recount(self.state.simulation.objects(Pod))
                if progress is not None:
                    progress(sum(step.action == "evict" for step in self.steps), len(wishes))
            if len(left) == len(waiting):
                raise StuckError(obstacle)
            waiting = left

    def _move(self, wish: Wish, strict: bool) -> str:
        """Evict one pod and let its successor start; what is wrong if it cannot, and then nothing has happened."""
        help_needed: tuple[str, ...] = ()
        with State(self.state.simulation) as trial:
            problem, step = self._try(trial, wish, help_needed)
            if not problem and strict and wish.target and step.lands_on != wish.target:
                problem = "it would start elsewhere"
        if strict and wish.target and (problem or wish.target not in (step.tied or (wish.target,)) or step.tied):
            help_needed = self._rivals(wish)
            with State(self.state.simulation) as trial:
                problem, step = self._try(trial, wish, help_needed)
                if not problem and step.lands_on != wish.target:
                    problem = f"it would start on {step.lands_on}, not on {wish.target}"
        if problem:
            return problem
        self._set_unschedulable(self._nodes(help_needed), True)
        _, step = self._try(self.state, wish, help_needed)
        self._set_unschedulable(self._nodes(help_needed), False)
        self.state.settle()
        self.steps.append(step)
        return ""

    def _try(self, state: State, wish: Wish, cordoned: tuple[str, ...]) -> tuple[str, Step]:
        """Evict the pod in a state. A landing is no good if somebody is preempted for it, or waits after it."""
        simulation, pod = state.simulation, wish.pod
        if state is not self.state and cordoned:
            self._set_unschedulable(self._nodes(cordoned), True)
        preempted = len(state.preemptions)
        state.let_go([pod], "evicted")
        state.settle()
        now = simulation.get(Pod, pod.metadata.name, pod.metadata.namespace)
        owner = pod.metadata.controller_of
        tie = simulation.ties.get(pod.key, NO_TIE)
        step = Step(
            action="evict",
            pod=pod.key,
            uid=pod.metadata.uid,
            owner=owner.uid if owner is not None else "",
            on=pod.spec.node_name,
            lands_on=now.spec.node_name if now is not None else "",
            tied=tie.nodes,
            tied_nodes=tie.size,
            after_tie=any(step.tied for step in self.steps),
            meanwhile_cordoned=cordoned,
        )
        if len(state.preemptions) > preempted:
            return f"it would preempt {state.preemptions[-1].victim.key}", step
        if now is None or not now.spec.node_name:
            return why_waiting(now) if now is not None else "nothing recreates it", step
        return "", step

    def _rivals(self, wish: Wish) -> tuple[str, ...]:
        """The nodes that the scheduler would take rather than, or as well as, the target, were the pod gone."""
        with State(self.state.simulation) as trial:
            simulation = trial.simulation
            simulation.remove(wish.pod)
            bare = replace(wish.pod, spec=replace(wish.pod.spec, node_name=""), status=type(wish.pod.status)())
            scores = {name: score.total for name, score in simulation.explain(bare, seek_remedies=False).scores.items()}
        if wish.target not in scores:
            return ()
        best = scores[wish.target]
        return tuple(sorted(name for name, total in scores.items() if total >= best and name != wish.target))

    def _is_gone(self, pod: Pod) -> bool:
        now = self.state.simulation.get(Pod, pod.metadata.name, pod.metadata.namespace)
        return now is None or now.metadata.uid != pod.metadata.uid

    def _nodes(self, names: Sequence[str]) -> list[Node]:
        found = (self.state.simulation.get(Node, name) for name in names)
        return [node for node in found if node is not None]

    def _set_unschedulable(self, nodes: Sequence[Node], value: bool) -> None:
        changed = (replace(node, spec=replace(node.spec, unschedulable=value)) for node in nodes)
        self.state.simulation.add(*changed)
