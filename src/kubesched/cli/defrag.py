"""`kubesched defrag`: the fewest moves that make room, empty nodes, or mend what is in the wrong place."""

from __future__ import annotations

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from kubesched.apps.plan.defrag.execution import Execution, execute
from kubesched.apps.plan.defrag.goals import Cost, DrainNodes, Fit, FreeNodes, Goal, Rebalance
from kubesched.apps.plan.defrag.plan import SOLVER_SECONDS, DefragPlan
from kubesched.apps.plan.defrag.plan import defrag as find_plan
from kubesched.apps.plan.defrag.text import plan_shell, plan_text
from kubesched.apps.plan.solver import MISSING, is_installed
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.simulate.simulation import Simulation
from kubesched.cli.options import ConfigFile, EmulatedVersion, GateList, KubeconfigFile, Moment, ObjectFiles, Output
from kubesched.cli.planning import opened_cluster, progress_bar, show, workloads_of
from kubesched.client.http_transport import HttpTransport
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError, InvalidObjectError, KubeschedError
from kubesched.objects import decode

app = typer.Typer(add_completion=False, help="Plan moves of pods.")


class PlanOutput(StrEnum):
    TEXT = "text"
    JSON = "json"
    SHELL = "shell"


class Solver(StrEnum):
    AUTO = "auto"
    CP_SAT = "cp-sat"
    NONE = "none"


@app.command()
def defrag(
    fit: Annotated[Path | None, typer.Option(metavar="FILE", help="Make room for the pods of a manifest.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="So many of --fit.", min=1)] = 1,
    free_nodes: Annotated[int, typer.Option(metavar="N", help="Empty so many nodes, of which you choose none.")] = 0,
    drain: Annotated[str, typer.Option(metavar="NODE|SELECTOR", help="Empty these nodes.")] = "",
    rebalance: Annotated[bool, typer.Option("--rebalance", help="Move pods that violate a constraint today.")] = False,
    plan: Annotated[Path | None, typer.Option(metavar="FILE", help="A plan that -o json has written.")] = None,
    cost: Annotated[
        Cost, typer.Option(help="What is to be little. Annotation: kubesched.io/eviction-cost.")
    ] = Cost.MOVES,
    solver: Annotated[
        Solver, typer.Option(help="CP-SAT comes with kubesched[plan]; without, plans are greedy.")
    ] = Solver.AUTO,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For the solver.", min=0.1)] = SOLVER_SECONDS,
    execute_plan: Annotated[
        bool, typer.Option("--execute/--dry-run", help="Carry the plan out, step by step, with the Eviction API.")
    ] = False,
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: Annotated[
        PlanOutput, typer.Option("--output", "-o", help="For people, programs or a shell.")
    ] = PlanOutput.TEXT,
) -> None:
    """The fewest moves that reach a goal, in an order in which budgets hold, each landing made by the scheduler itself.

    Nothing is changed in the cluster without --execute. A plan that is not reached ends with code 1.
    """
    goals = [bool(fit), bool(free_nodes), bool(drain), rebalance, bool(plan)]
    if sum(goals) != 1:
        raise ConfigurationError(["one goal at a time: --fit, --free-nodes, --drain, --rebalance, or a --plan"])
    if count > 1 and fit is None:
        raise ConfigurationError(["--count says how many of --fit: there is none"])
    if execute_plan and manifests:
        raise ConfigurationError(["--execute works on a cluster, not on the objects of files (-f)"])
    if solver is Solver.CP_SAT and not is_installed():
        raise ConfigurationError([MISSING])
    if plan is not None:
        found = _read(plan)
    else:
        with opened_cluster(manifests, at, kubeconfig, config, feature_gates, emulated_version) as simulation:
            goal = _goal(fit, count, free_nodes, drain, simulation)
            with_solver = None if solver is Solver.AUTO else solver is Solver.CP_SAT
            with progress_bar("moving") as progress:
                found = find_plan(
                    simulation, goal, cost=cost, seconds=time_limit, with_solver=with_solver, progress=progress
                )
    if output is not PlanOutput.SHELL:
        show(found, Output(output.value), lambda: plan_text(found))
    elif found.is_reached:
        sys.stdout.write(f"{plan_shell(found)}\n")
    else:
        typer.echo(plan_text(found), err=True)
    if not found.is_reached:
        raise typer.Exit(1)
    if execute_plan:
        _carry_out(found, kubeconfig)


def _goal(fit: Path | None, count: int, free_nodes: int, drain: str, simulation: Simulation) -> Goal:
    if fit is not None:
        pods = [pod for workload in workloads_of([fit], simulation).workloads for pod in workload.pods()]
        if not pods:
            raise ConfigurationError([f"{fit}: there are no pods in it"])
        return Fit(pods * count)
    if free_nodes:
        return FreeNodes(free_nodes)
    return DrainNodes(drain) if drain else Rebalance()


def _read(path: Path) -> DefragPlan:
    try:
        return decode(path.read_bytes(), DefragPlan)
    except OSError as error:
        raise ConfigurationError([f"cannot read {path}: {error.strerror}"]) from error
    except InvalidObjectError as error:
        raise ConfigurationError([f"{path} is no plan: {error}"]) from error


def _carry_out(plan: DefragPlan, kubeconfig: str) -> None:
    outcome = asyncio.run(_execute(plan, kubeconfig))
    if outcome.surprise:
        left = len(plan.steps) - len(outcome.done) - len(outcome.skipped)
        raise KubeschedError(f"stopped with {left} of {len(plan.steps)} steps left: {outcome.surprise}; plan again")


async def _execute(plan: DefragPlan, kubeconfig: str) -> Execution:
    clock = SystemClock()
    transport = HttpTransport(choose_connection(kubeconfig, clock))
    try:
        rest = RestClient(transport, clock, Random(0))  # noqa: S311 - for the jitter of retries
        return await execute(plan, rest, clock, lambda line: typer.echo(line, err=True))
    finally:
        await transport.close()
