"""A run from a state with hypotheses: what happens to every pod that is not left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched.apps.plan.hypotheses import Hypothesis
from kubesched.apps.plan.reporting import ReportPart
from kubesched.apps.plan.state import PodPair, State, Timing
from kubesched.apps.plan.workloads import Workload, workload_of
from kubesched.apps.simulate.chance import Tie
from kubesched.apps.simulate.simulation import Preemption, Simulation
from kubesched.objects import Node, Pod

ZONE = "topology.kubernetes.io/zone"
NO_TIE = Tie(0, ())
UNKNOWN_REASON = "it has not been tried"


class Placed(ReportPart):
    """A pod that has a node now. `before` is where it was; empty if it was nowhere.

    `tied`: the first of the `tied_nodes` that were equally good; this one stands for any of them. A pod that was
    placed after such a one (`after_tie`) may go elsewhere if chance decides otherwise.
    """

    pod: str
    node: str
    before: str = ""
    tied: tuple[str, ...] = ()
    tied_nodes: int = 0
    after_tie: bool = False
    by_timing: bool = False
    """Several pods went at once, and where those of its workload go depends on which successor comes first."""


class Waiting(ReportPart):
    """A pod that has no node now, with the scheduler's words for it. `before` is where it was."""

    pod: str
    why: str
    before: str = ""
    is_new: bool = False
    """It did not wait before."""


class Gone(ReportPart):
    pod: str
    before: str
    why: str


class Blocked(ReportPart):
    """A pod that could not be evicted, with the API server's words."""

    pod: str
    node: str
    why: str


class Preempted(ReportPart):
    pod: str
    node: str
    by: str
    tied: tuple[str, ...] = ()
    tied_nodes: int = 0


class Spread(ReportPart):
    """The pods of a workload by zone, or by node where there are no zones."""

    workload: str
    over: str
    before: dict[str, int]
    after: dict[str, int]


class WhatIfReport(ReportPart):
    """Pods in the order of their names; those that nothing happened to are left out."""

    hypotheses: tuple[str, ...]
    moved: tuple[Placed, ...] = ()
    started: tuple[Placed, ...] = ()
    """They waited before, or are new."""
    waiting: tuple[Waiting, ...] = ()
    gone: tuple[Gone, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    preempted: tuple[Preempted, ...] = ()
    spread: tuple[Spread, ...] = ()

    @property
    def newly_waiting(self) -> tuple[Waiting, ...]:
        return tuple(one for one in self.waiting if one.is_new)


Look = Callable[[Simulation], None]


def what_if(
    simulation: Simulation, hypotheses: Sequence[Hypothesis], look: Look = lambda simulation: None
) -> WhatIfReport:
    """Try these hypotheses one after the other. The simulation is afterwards as it was before.

    What the scheduler would do anyway (pods that wait and fit) is done first, and is no part of the report. `look` is
    called twice, before the hypotheses and after them.
    """
    with State(simulation) as now:
        now.settle(retry=True)
        look(simulation)
        found = _try(simulation, hypotheses, Timing.TOGETHER, look)
        if len(found.moved) < 2:
            return found
        others = [_try(simulation, hypotheses, timing) for timing in (Timing.REVERSED, Timing.ONE_BY_ONE)]
        landings = [_landings(report, simulation) for report in (found, *others)]
        return replace(found, moved=tuple(_with_timing(found.moved, landings, simulation)))


def _try(
    simulation: Simulation,
    hypotheses: Sequence[Hypothesis],
    timing: Timing,
    look: Look = lambda simulation: None,
) -> WhatIfReport:
    with State(simulation, timing=timing) as then:
        for hypothesis in hypotheses:
            hypothesis.apply(then)
            then.settle()
        look(then.simulation)
        return report(then, hypotheses)


_Landings = dict[Workload | None, Counter[str]]


def _landings(report: WhatIfReport, simulation: Simulation) -> _Landings:
    """By workload: how many of its moved pods go to which node."""
    landings: _Landings = {}
    for one in report.moved:
        landings.setdefault(_workload(one.pod, simulation), Counter())[one.node] += 1
    return landings


def _with_timing(moved: Sequence[Placed], variants: Sequence[_Landings], simulation: Simulation) -> Iterator[Placed]:
    for one in moved:
        workload = _workload(one.pod, simulation)
        differs = any(variant.get(workload) != variants[0][workload] for variant in variants)
        yield replace(one, by_timing=True) if differs else one


def _workload(key: str, simulation: Simulation) -> Workload | None:
    pod = simulation.get(Pod, key)
    return workload_of(pod, simulation) if pod is not None else None


def report(state: State, hypotheses: Sequence[Hypothesis]) -> WhatIfReport:
    """What has happened to a state since it was entered."""
    changed = state.changed_pods()
    unsettled = _after_ties(state.simulation)
    moved: list[Placed] = []
    started: list[Placed] = []
    waiting: list[Waiting] = []
    gone: list[Gone] = []
    for key, (before, now) in changed.items():
        was = before.spec.node_name if before is not None else ""
        if now is None:
            if was:
                gone.append(Gone(pod=key, before=was, why=state.gone.get(key, "deleted")))
        elif not now.spec.node_name:
            is_new, why = before is None or bool(was), why_waiting(now)
            if is_new or (before is not None and why != why_waiting(before)):
                waiting.append(Waiting(pod=key, before=was, why=why, is_new=is_new))
        elif before is None or before.metadata.uid != now.metadata.uid or not was:
            tie = state.simulation.ties.get(key, NO_TIE)
            placed = Placed(
                pod=key,
                node=now.spec.node_name,
                before=was,
                tied=tie.nodes,
                tied_nodes=tie.size,
                after_tie=not tie.size and key in unsettled,
            )
            (moved if was else started).append(placed)
    return WhatIfReport(
        hypotheses=tuple(map(str, hypotheses)),
        moved=tuple(moved),
        started=tuple(started),
        waiting=tuple(waiting),
        gone=tuple(gone),
        blocked=tuple(_blocked(state)),
        preempted=tuple(map(_preempted, state.preemptions)),
        spread=tuple(_spread(state, changed)),
    )


def why_waiting(pod: Pod) -> str:
    """The scheduler's words, as they stand in the pod's status."""
    reasons = [one.message for one in pod.status.conditions if one.type == "PodScheduled" and one.message]
    if reasons:
        return reasons[-1]
    if pod.spec.scheduling_gates:
        return f"it has scheduling gates: {', '.join(gate.name for gate in pod.spec.scheduling_gates)}"
    return UNKNOWN_REASON


def _after_ties(simulation: Simulation) -> set[str]:
    """The pods that were placed after one whose node was a matter of chance."""
    order = [pod for pod, reason, _ in simulation.events_of_branch() if reason == "Scheduled"]
    first = next((position for position, pod in enumerate(order) if pod in simulation.ties), len(order))
    return set(order[first + 1 :])


def _preempted(one: Preemption) -> Preempted:
    tie = one.tie or NO_TIE
    node = one.victim.spec.node_name
    return Preempted(pod=one.victim.key, node=node, by=one.preemptor, tied=tie.nodes, tied_nodes=tie.size)


def _blocked(state: State) -> Iterator[Blocked]:
    for key, why in sorted(state.blocked.items()):
        pod = state.simulation.get(Pod, key)
        if pod is not None:
            yield Blocked(pod=key, node=pod.spec.node_name, why=why)


def _spread(state: State, changed: Mapping[str, PodPair]) -> Iterator[Spread]:
    """Of the workloads whose pods have changed, and that have several."""
    simulation = state.simulation
    concerned: dict[Workload, list[PodPair]] = {}
    for pair in changed.values():
        pod = pair[0] or pair[1]
        if pod is not None and (workload := workload_of(pod, simulation)) is not None:
            concerned.setdefault(workload, []).append(pair)
    if not concerned:
        return
    after: dict[Workload, Counter[str]] = {workload: Counter() for workload in concerned}
    for pod in simulation.objects(Pod):
        workload = workload_of(pod, simulation)
        if workload in after and pod.spec.node_name:
            after[workload][pod.spec.node_name] += 1
    nodes = (*state.lost, *simulation.objects(Node))
    zone_of = {node.metadata.name: node.metadata.labels.get(ZONE, "") for node in nodes}
    for workload, pairs in sorted(concerned.items(), key=lambda item: str(item[0])):
        before = Counter(after[workload])
        before.subtract(now.spec.node_name for _, now in pairs if now is not None and now.spec.node_name)
        before.update(was.spec.node_name for was, _ in pairs if was is not None and was.spec.node_name)
        before = +before
        over, was, now = "node", dict(sorted(before.items())), dict(sorted(after[workload].items()))
        if all(zone_of.get(node) for node in (*was, *now)):
            over, was, now = "zone", _sums(was, zone_of), _sums(now, zone_of)
        if before.total() > 1 and was != now:
            yield Spread(workload=str(workload), over=over, before=was, after=now)


def _sums(by_node: Mapping[str, int], zone_of: Mapping[str, str]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for node, number in by_node.items():
        sums[zone_of[node]] += number
    return dict(sorted(sums.items()))
