"""From a simulation and a goal to a plan, or to the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import stays_with_node
from kubesched.apps.plan.defrag import greedy
from kubesched.apps.plan.defrag.goals import Cost, DrainNodes, Fit, FreeNodes, Goal, Rebalance, cost_function
from kubesched.apps.plan.defrag.greedy import Intent
from kubesched.apps.plan.defrag.problem import Problem, build
from kubesched.apps.plan.defrag.rebalance import rebalance
from kubesched.apps.plan.defrag.sequence import MoveSequence, Step, StuckError, Wish
from kubesched.apps.plan.defrag.solving import Solution, Unsolved, solve
from kubesched.apps.plan.reporting import Progress, ReportPart, counted
from kubesched.apps.plan.solver import is_installed
from kubesched.apps.plan.state import State
from kubesched.apps.plan.what_if import NO_TIE, Placed, why_waiting
from kubesched.apps.simulate.simulation import Simulation
from kubesched.clock import utc
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.objects.completion import completed

SOLVER_SECONDS: Final = 30.0
MOST_ROUNDS: Final = 5
"""Of asking the solver again for what the scheduler will accept."""
MOST_REASONS: Final = 3
GREEDY: Final = "greedy, without a solver (pip install 'kubesched[plan]'): there may be better plans"


class DefragPlan(ReportPart):
    """`is_reached`: the steps lead to the goal. If not, `why` says what is in the way, and `proof` what is certain."""

    goal: str
    is_reached: bool
    steps: tuple[Step, ...] = ()
    moves: int = 0
    cost: int = 0
    lower_bound: float = 0.0
    gap: float | None = None
    """How much cheaper the best plan might be, as a part of the cost; None: nobody knows."""
    method: str = ""
    emptied: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()
    """Where the wanted pods go in the end."""
    why: str = ""
    proof: str = ""


def defrag(
    simulation: Simulation,
    goal: Goal,
    *,
    cost: Cost = Cost.MOVES,
    seconds: float = SOLVER_SECONDS,
    with_solver: bool | None = None,
    progress: Progress | None = None,
) -> DefragPlan:
    """The cheapest moves that reach the goal. The simulation is afterwards as it was before.

    `with_solver` None: if it is installed.
    """
    with State(simulation) as now:
        now.settle(retry=True)
        planner = _Planner(now, goal, cost_function(cost, utc(simulation.clock)), seconds, progress)
        if isinstance(goal, Rebalance):
            return planner.rebalance()
        if isinstance(goal, Fit) and (placed := planner.fits()):
            return DefragPlan(goal=str(goal), is_reached=True, gap=0.0, method="it fits already", placed=placed)
        use_solver = is_installed() if with_solver is None else with_solver
        return planner.with_solver() if use_solver else planner.greedily()


class _Planner:
    def __init__(
        self, now: State, goal: Goal, price: Callable[[Pod], int], seconds: float, progress: Progress | None
    ) -> None:
        self._simulation = simulation = now.simulation
        self._goal = goal
        self._price = price
        self._seconds = seconds
        self._progress = progress
        self._wanted = list(_wanted(goal.pods)) if isinstance(goal, Fit) else []
        self._problem = build(simulation, price, self._wanted)
        self._closed: tuple[int, ...] = ()
        if isinstance(goal, DrainNodes):
            names = {node.metadata.name for node in now.nodes(goal.nodes)}
            self._closed = tuple(n for n, name in enumerate(self._problem.nodes) if name in names)
        if isinstance(goal, FreeNodes) and not 0 < goal.count < len(self._problem.nodes):
            raise ConfigurationError([f"cannot empty {goal.count} of {counted(len(self._problem.nodes), 'node')}"])

    # ---- with a solver ----------------------------------------------------------------------------------------

    def with_solver(self) -> DefragPlan:
        forbidden: set[tuple[int, int]] = set()
        bound, why = 0.0, ""
        for round_ in range(MOST_ROUNDS):
            found = self._solve(self._problem, forbidden)
            if isinstance(found, Unsolved):
                break
            if not round_:
                bound = found.bound
            intent = self._intent(found)
            for strict in (False, True):
                try:
                    plan = self._realise(intent, strict=strict)
                except StuckError as stuck:
                    why = stuck.reason
                    continue
                how = "the solver's optimum" if found.is_optimal else f"the solver's best after {self._seconds:g} s"
                return self._rated(plan, bound, how)
            refused = self._refused(found)
            if refused <= forbidden:
                break
            forbidden |= refused
        if why:
            reason = f"the scheduler does not follow any of the plans that were tried: {why}"
            return DefragPlan(goal=str(self._goal), is_reached=False, lower_bound=bound, why=reason)
        assert isinstance(found, Unsolved)
        return self._impossible(found)

    def _solve(self, problem: Problem, forbidden: set[tuple[int, int]]) -> Solution | Unsolved:
        empty = self._goal.count if isinstance(self._goal, FreeNodes) else 0
        return solve(problem, empty=empty, closed=self._closed, seconds=self._seconds, forbidden=forbidden)

    def _intent(self, found: Solution) -> Intent:
        names = self._problem.nodes
        wishes = [Wish(move.pod, names[move.target]) for move in found.moves]
        clear = sorted({names[n] for n in found.wanted_on})
        return Intent(tuple(wishes), closed=tuple(names[n] for n in found.emptied), clear=tuple(clear))

    def _refused(self, found: Solution) -> set[tuple[int, int]]:
        """The landings of a solution that the scheduler's filters do not accept now: constraints across nodes."""
        refused = set()
        type_of = {pod.key: t for t, one in enumerate(self._problem.types) for pods in one.on.values() for pod in pods}
        for move in found.moves:
            said = self._simulation.explain(move.pod, seek_remedies=False).filters.get(self._problem.nodes[move.target])
            if said is not None and not said.is_success:
                refused.add((type_of[move.pod.key], move.target))
        return refused

    def _impossible(self, found: Unsolved) -> DefragPlan:
        goal = str(self._goal)
        if not found.is_proved:
            return self._out_of_time()
        problem = self._problem
        held = f"{counted(len(problem.fixed), 'pod')} may not move ({_reasons(problem.fixed)})" if problem.fixed else ""
        proof = f"proved by the solver: no placement of the {counted(problem.movable(), 'pod')} that may move does it"
        if isinstance(self._goal, Fit) and not any(one.nodes for one in problem.types if one.wanted):
            said = self._simulation.explain(self._wanted[0], seek_remedies=False).fit_error
            return DefragPlan(goal=goal, is_reached=False, why=said, proof="no node takes it, even if it were empty")
        freely = build(self._simulation, self._price, self._wanted, within_budgets=False)
        at_all = self._solve(freely, set())
        if isinstance(at_all, Solution):
            needed = [move.pod.key for move in at_all.moves if move.pod.key in problem.fixed]
            also = f"; it would do if {', '.join(needed[:3])}{' and others' if len(needed) > 3 else ''} moved, too"
        else:
            others = f" but {counted(len(freely.fixed), 'pod')} ({_reasons(freely.fixed)})" if freely.fixed else ""
            also = f"; nor would any, if all pods{others} could move" if at_all.is_proved else ""
        return DefragPlan(goal=goal, is_reached=False, why=held or "the pods do not fit", proof=proof + also)

    def _out_of_time(self) -> DefragPlan:
        """Neither a plan nor a proof: a greedy plan, if there is one, which says so."""
        late = f"the solver found no plan in {self._seconds:g} s"
        if isinstance(self._goal, Fit) and len(self._wanted) > 1:
            return DefragPlan(goal=str(self._goal), is_reached=False, why=f"{late}; --time-limit gives it more")
        plan = self.greedily()
        return replace(plan, method=f"greedy, since {late}: there may be better plans")

    # ---- without ----------------------------------------------------------------------------------------------

    def greedily(self) -> DefragPlan:
        if isinstance(self._goal, FreeNodes):
            return self._empty_one_by_one(self._goal.count)
        why = "no pod that may move would make room"
        for intent in self._greedy_intents():
            try:
                return self._rated(self._realise(intent, strict=False), None, GREEDY)
            except StuckError as stuck:
                why = stuck.reason
        return DefragPlan(goal=str(self._goal), is_reached=False, method=GREEDY, why=why)

    def _greedy_intents(self) -> Iterator[Intent]:
        problem = self._problem
        if isinstance(self._goal, DrainNodes):
            names = tuple(problem.nodes[n] for n in self._closed)
            yield Intent(tuple(wish for n in self._closed for wish in greedy.emptied(problem, n)), closed=names)
        elif len(self._wanted) > 1:
            raise ConfigurationError(["room for several pods needs the solver: pip install 'kubesched[plan]'"])
        else:
            yield from greedy.room_on_one_node(problem, next(one for one in problem.types if one.wanted))

    def _empty_one_by_one(self, count: int) -> DefragPlan:
        """Nodes that can be emptied one after the other, the cheapest first."""
        chosen: list[str] = []
        with State(self._simulation) as state:
            sequence = MoveSequence(state)
            for node in greedy.cheapest_to_empty(self._problem):
                name = self._problem.nodes[node]
                wishes = [Wish(pod) for pod in self._simulation.pods_on(name) if not stays_with_node(pod)]
                if len(chosen) < count and self._can_be_emptied(name, wishes):
                    sequence.cordon([name])
                    sequence.move_all(wishes, strict=False, progress=self._progress)
                    chosen.append(name)
            steps = tuple(sequence.steps)
        if len(chosen) < count:
            why = f"only {counted(len(chosen), 'node')} could be emptied one after the other"
            return DefragPlan(goal=str(self._goal), is_reached=False, method=GREEDY, why=why)
        pods = {pod.key: pod for pod in self._simulation.objects(Pod)}
        moved = [pods[step.pod] for step in steps if step.action == "evict"]
        return DefragPlan(
            goal=str(self._goal),
            is_reached=True,
            steps=steps,
            moves=len(moved),
            cost=sum(map(self._price, moved)),
            method=GREEDY,
            emptied=tuple(chosen),
        )

    def _can_be_emptied(self, name: str, wishes: Sequence[Wish]) -> bool:
        with State(self._simulation) as trial:
            attempt = MoveSequence(trial)
            attempt.cordon([name])
            try:
                attempt.move_all(wishes, strict=False)
            except StuckError:
                return False
        return True

    def rebalance(self) -> DefragPlan:
        with State(self._simulation) as state:
            sequence = MoveSequence(state)
            left = rebalance(sequence, self._problem, self._progress)
            steps = tuple(sequence.steps)
        why = "; ".join(f"{pod}: {reason}" for pod, reason in list(left.items())[:3])
        return DefragPlan(
            goal=str(self._goal),
            is_reached=not left,
            steps=steps,
            moves=len(steps),
            cost=len(steps),
            method="every pod in the wrong place once, where that helps",
            why=f"{counted(len(left), 'pod')} would not be better off elsewhere: {why}" if left else "",
        )

    # ---- the steps that the above share -----------------------------------------------------------------------

    def fits(self) -> tuple[Placed, ...]:
        """Where the wanted pods would go now; empty if not all fit."""
        with State(self._simulation):
            return self._place_wanted()[0]

    def _place_wanted(self) -> tuple[tuple[Placed, ...], str]:
        self._simulation.add(*self._wanted)
        self._simulation.settle()
        now = [self._simulation.get(Pod, pod.key) or pod for pod in self._wanted]
        waiting = next((pod for pod in now if not pod.spec.node_name), None)
        if waiting is not None:
            return (), f"{waiting.key}: {why_waiting(waiting)}"
        ties = self._simulation.ties
        return tuple(
            Placed(pod=pod.key, node=pod.spec.node_name, tied=tie.nodes, tied_nodes=tie.size)
            for pod in now
            for tie in (ties.get(pod.key, NO_TIE),)
        ), ""

    def _realise(self, intent: Intent, *, strict: bool) -> DefragPlan:
        """Play the moves through. StuckError if they cannot be made, or do not lead to the goal."""
        with State(self._simulation) as state:
            sequence = MoveSequence(state)
            sequence.cordon(sorted({*intent.closed, *(intent.clear if intent.wishes else ())}))
            sequence.move_all(intent.wishes, strict=strict, progress=self._progress)
            sequence.uncordon(sorted(set(intent.clear) - set(intent.closed)))
            for name in intent.closed:
                left = [pod.key for pod in state.simulation.pods_on(name) if not stays_with_node(pod)]
                if left:
                    raise StuckError(f"{left[0]} is on {name} again")
            placed, problem = self._place_wanted() if self._wanted else ((), "")
            if problem:
                raise StuckError(problem)
        evictions = [step for step in sequence.steps if step.action == "evict"]
        prices = {wish.pod.key: self._price(wish.pod) for wish in intent.wishes}
        return DefragPlan(
            goal=str(self._goal),
            is_reached=True,
            steps=tuple(sequence.steps),
            moves=len(evictions),
            cost=sum(prices[step.pod] for step in evictions),
            emptied=intent.closed,
            placed=placed,
        )

    def _rated(self, plan: DefragPlan, bound: float | None, method: str) -> DefragPlan:
        if bound is None:
            return replace(plan, method=method)
        gap = (plan.cost - bound) / plan.cost if plan.cost else 0.0
        return replace(plan, lower_bound=bound, gap=max(0.0, round(gap, 6)), method=method)


def _wanted(pods: Sequence[Pod]) -> Iterator[Pod]:
    """The pods of a goal as they come: they preempt nobody. One that waits in the cluster already is that one."""
    seen: Counter[str] = Counter()
    for pod in map(completed, pods):
        number = seen[pod.key]
        seen[pod.key] += 1
        name = f"{pod.metadata.name}-{number}" if number else pod.metadata.name
        metadata = replace(pod.metadata, name=name, uid=f"wanted/{pod.metadata.namespace}/{name}")
        yield replace(pod, metadata=metadata, spec=replace(pod.spec, node_name="", preemption_policy="Never"))


def _reasons(fixed: Mapping[str, str]) -> str:
    """Why pods may not move, the most frequent reasons first."""
    counts = Counter(fixed.values()).most_common(MOST_REASONS)
    return "; ".join(f"{number:,}: {reason}" if len(counts) > 1 else reason for reason, number in counts)
