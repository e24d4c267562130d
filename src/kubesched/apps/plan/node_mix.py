"""Which nodes to add so that so many pods fit: how many of one kind, or the cheapest mix of several.

The mix is an integer programme. A *pattern* is what one new node can hold: so many pods of each workload. The programme
chooses how often to buy each pattern. It knows requests and where each pod may run at all, but not how pods keep away
from each other: its optimum is a lower bound of the cost, and the scheduler says what is needed beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import new_node
from kubesched.apps.plan.capacity import CapacityReport, MixPart, capacity, shortfall
from kubesched.apps.plan.hypotheses import AddNodes
from kubesched.apps.plan.reporting import Progress, ReportPart
from kubesched.apps.plan.solver import cp_model, is_installed
from kubesched.apps.plan.state import State
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import ConfigurationError
from kubesched.objects import Node
from kubesched.objects.pod_resources import in_scheduler_units, incoming_requests

PRICE: Final = "kubesched.io/price"
MOST_NODES: Final = 10_000
MOST_PATTERNS: Final = 20_000
SOLVER_SECONDS: Final = 10.0
CENTS: Final = 10_000
"""Prices are whole numbers of these parts to the solver."""


class NodesNeeded(ReportPart):
    """So many more nodes let all sets fit; one fewer does not (`one_fewer` says how many sets fit then)."""

    sets: int
    like: str
    nodes: int
    one_fewer: int = 0


class ShapeCount(ReportPart):
    shape: str
    nodes: int
    price: float


class CheapestMix(ReportPart):
    """Nodes to buy, checked by the scheduler.

    What does not fit now cannot be had for less than `lower_bound`; `method` says how that is known.
    """

    sets: int
    nodes: tuple[ShapeCount, ...]
    cost: float
    lower_bound: float
    gap: float
    method: str


def nodes_needed(
    simulation: Simulation,
    mix: Sequence[MixPart],
    others: Sequence[Any],
    sets: int,
    like: str | Node,
    progress: Progress | None = None,
) -> NodesNeeded:
    """The least number of nodes like this one with which so many sets fit. ConfigurationError if none would do."""

    def fitting(nodes: int) -> CapacityReport:
        supposing = [AddNodes(nodes, like)] if nodes else []
        report = capacity(simulation, mix, others, supposing=supposing, most=sets)
        if progress is not None:
            progress(report.sets, sets)
        return report

    found = fitting(0)
    low, low_sets, high = 0, found.sets, 0
    while found.sets < sets:
        low, low_sets, low_pods = high, found.sets, found.pods
        high += max(1, high)
        if high > MOST_NODES:
            raise ConfigurationError([f"more than {MOST_NODES:,} nodes would be needed"])
        found = fitting(high)
        if found.pods <= low_pods:
            raise ConfigurationError([f"{high} more nodes do not help: {found.stopped_by}: {found.why}"])
    while high - low > 1:
        middle = (low + high) // 2
        found = fitting(middle)
        if found.sets < sets:
            low, low_sets = middle, found.sets
        else:
            high = middle
    name = like if isinstance(like, str) else like.metadata.name
    return NodesNeeded(sets=sets, like=name, nodes=high, one_fewer=low_sets if high else sets)


def cheapest_mix(
    simulation: Simulation,
    mix: Sequence[MixPart],
    others: Sequence[Any],
    sets: int,
    shapes: Sequence[Node],
    progress: Progress | None = None,
) -> CheapestMix:
    """The cheapest nodes of these shapes with which so many sets fit, besides what fits already."""
    prices = {shape.metadata.name: price_of(shape) for shape in shapes}
    short = shortfall(simulation, mix, others, sets)
    patterns = {shape.metadata.name: list(_patterns(simulation, shape, mix, short)) for shape in shapes}
    counts, bound, method = _buy(patterns, prices, [short[part.workload.name] for part in mix])
    if counts is None:
        raise ConfigurationError(["no number of such nodes lets all of these pods fit"])
    while True:
        bought = {name: number for name, number in counts.items() if number}
        supposing = [AddNodes(bought[shape.metadata.name], shape) for shape in shapes if shape.metadata.name in bought]
        report = capacity(simulation, mix, others, supposing=supposing, most=sets)
        if progress is not None:
            progress(report.sets, sets)
        if report.sets >= sets:
            break
        if sum(counts.values()) >= MOST_NODES:
            raise ConfigurationError([f"even {MOST_NODES:,} nodes do not help: {report.stopped_by}: {report.why}"])
        helpful = [name for name in counts if any(_holds(pattern, report, mix) for pattern in patterns[name])]
        counts[min(helpful or list(counts), key=lambda name: (prices[name], name))] += 1
    cost = sum(prices[name] * number for name, number in bought.items())
    return CheapestMix(
        sets=sets,
        nodes=tuple(ShapeCount(shape=name, nodes=number, price=prices[name]) for name, number in bought.items()),
        cost=cost,
        lower_bound=bound,
        gap=(cost - bound) / cost if cost else 0.0,
        method=method,
    )


def price_of(shape: Node) -> float:
    """ConfigurationError if it has none."""
    text = {**shape.metadata.labels, **shape.metadata.annotations}.get(PRICE, "")
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 < price < 1e9:
        raise ConfigurationError([f"node {shape.metadata.name} has no price: annotate it with {PRICE}"])
    return price


def _holds(pattern: Sequence[int], report: CapacityReport, mix: Sequence[MixPart]) -> bool:
    return any(number and part.workload.name == report.stopped_by for number, part in zip(pattern, mix, strict=True))


def _patterns(
    simulation: Simulation, shape: Node, mix: Sequence[MixPart], short: Mapping[str, int]
) -> Iterator[tuple[int, ...]]:
    """The fullest loads of one new node; none is contained in another of the same shape."""
    room = in_scheduler_units(shape.status.allocatable or shape.status.capacity)
    may_run = _who_may_run(simulation, shape, mix)
    asks = [incoming_requests(part.workload.template) for part in mix]
    room.setdefault("pods", 110)
    most = [short[part.workload.name] if part.workload.name in may_run else 0 for part in mix]

    def fill(index: int, left: Mapping[str, int], load: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        ask = {**asks[index], "pods": 1}
        most_here = min([most[index], *(left.get(name, 0) // number for name, number in ask.items() if number)])
        last = index == len(asks) - 1
        for number in (most_here,) if last else range(most_here, -1, -1):
            after = {name: units - number * ask.get(name, 0) for name, units in left.items()}
            if last:
                yield (*load, number)
            else:
                yield from fill(index + 1, after, (*load, number))

    loads: list[tuple[int, ...]] = []
    for load in fill(0, room, ()):
        if any(load) and not any(all(a <= b for a, b in zip(load, other, strict=True)) for other in loads[-50:]):
            loads.append(load)
        if len(loads) > MOST_PATTERNS:
            raise ConfigurationError(
                [f"a node like {shape.metadata.name} can be filled in too many ways: mix fewer pods"]
            )
    yield from loads


def _who_may_run(simulation: Simulation, shape: Node, mix: Sequence[MixPart]) -> set[str]:
    """The workloads whose pods an empty node of this shape takes."""
    node = new_node(shape, "capacity-probe")
    with State(simulation, notes_ties=False) as state:
        state.simulation.add(node)
        may_run = set()
        for part in mix:
            probe = replace(
                part.workload.template, metadata=replace(part.workload.template.metadata, name="probe", uid="probe")
            )
            said = simulation.explain(probe, seek_remedies=False)
            status = said.filters.get("capacity-probe")
            if status is not None and status.is_success:
                may_run.add(part.workload.name)
        return may_run


def _buy(
    patterns: Mapping[str, Sequence[tuple[int, ...]]], prices: Mapping[str, float], wanted: Sequence[int]
) -> tuple[dict[str, int] | None, float, str]:
    """How many nodes of each shape, and what all of it costs at least; None if nothing would do."""
    held = [max((p[i] for loads in patterns.values() for p in loads), default=0) for i in range(len(wanted))]
    if any(number and not most for number, most in zip(wanted, held, strict=True)):
        return None, 0.0, ""
    if not is_installed():
        return _buy_greedily(patterns, prices, wanted)
    cp = cp_model()
    model = cp.CpModel()
    most = sum(wanted)
    bought = {
        (name, index): model.new_int_var(0, most, f"{name}/{index}")
        for name, loads in patterns.items()
        for index in range(len(loads))
    }
    for i, number in enumerate(wanted):
        model.add(sum(patterns[name][index][i] * count for (name, index), count in bought.items()) >= number)
    model.minimize(sum(round(prices[name] * CENTS) * count for (name, _), count in bought.items()))
    solver = cp.CpSolver()
    solver.parameters.max_time_in_seconds = SOLVER_SECONDS
    solver.parameters.num_workers = 1  # several would make equal optima a matter of chance
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return _buy_greedily(patterns, prices, wanted)
    counts = dict.fromkeys(patterns, 0)
    for (name, _), count in bought.items():
        counts[name] += solver.value(count)
    proved = (
        "an integer programme, solved to its optimum" if status == cp.OPTIMAL else "an integer programme, out of time"
    )
    return counts, solver.best_objective_bound / CENTS, proved


def _buy_greedily(
    patterns: Mapping[str, Sequence[tuple[int, ...]]], prices: Mapping[str, float], wanted: Sequence[int]
) -> tuple[dict[str, int], float, str]:
    """The load that is cheapest by pod, again and again. The bound looks at each workload as if it were alone."""
    counts, left = dict.fromkeys(patterns, 0), list(wanted)
    bound = max(
        (
            number * min(prices[name] / load[i] for name, loads in patterns.items() for load in loads if load[i])
            for i, number in enumerate(wanted)
            if number
        ),
        default=0.0,
    )
    while any(number > 0 for number in left):
        useful = [
            (prices[name] / sum(min(a, max(0, b)) for a, b in zip(load, left, strict=True)), name, load)
            for name, loads in patterns.items()
            for load in loads
            if any(min(a, b) > 0 for a, b in zip(load, left, strict=True))
        ]
        _, name, load = min(useful)
        counts[name] += 1
        left = [b - a for a, b in zip(load, left, strict=True)]
    return counts, bound, "greedy, without a solver (pip install kubesched[plan])"
