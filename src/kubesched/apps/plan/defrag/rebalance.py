"""Pods that are where the scheduler would not let them go today: moved one by one, where that helps."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched.apps.plan.defrag.problem import Problem
from kubesched.apps.plan.defrag.sequence import MoveSequence, StuckError, Wish
from kubesched.apps.plan.reporting import Progress
from kubesched.apps.plan.state import State
from kubesched.apps.simulate.simulation import Simulation
from kubesched.objects import Pod


def rebalance(sequence: MoveSequence, problem: Problem, progress: Progress | None = None) -> dict[str, str]:
    """Add a move for every pod that it helps. Returns the pods that stay in the wrong place, with the reason."""
    simulation = sequence.state.simulation
    pods = sorted((pod for one in problem.types for pods in one.on.values() for pod in pods), key=lambda pod: pod.key)
    left: dict[str, str] = {}
    for done, pod in enumerate(pods):
        if progress is not None:
            progress(done + 1, len(pods))
        broken = violation(simulation, pod)
        if not broken:
            continue
        with State(simulation) as trial:
            attempt = MoveSequence(trial)
            try:
                attempt.move_all([Wish(pod)], strict=False)
            except StuckError as stuck:
                left[pod.key] = stuck.reason
                continue
            moved = simulation.get(Pod, pod.key)
            helps = moved is not None and not violation(simulation, moved)
        if helps:
            sequence.move_all([Wish(pod)], strict=False)
        else:
            left[pod.key] = broken
    return left


def violation(simulation: Simulation, pod: Pod) -> str:
    """What the scheduler would say if the pod wanted to go where it is; empty if nothing."""
    hard = tuple(replace(one, when_unsatisfiable="DoNotSchedule") for one in pod.spec.topology_spread_constraints)
    asked = replace(pod, spec=replace(pod.spec, topology_spread_constraints=hard))
    status = simulation.explain(asked, seek_remedies=False).filters.get(pod.spec.node_name)
    return "" if status is None or status.is_success else status.message
