"""An experiment from beginning to end: what `kubesched sweep` does, and `kubesched.lab.sweep` for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kubesched.apps.sweep.engines.engine import Engine, ThisProcess
from kubesched.apps.sweep.engines.processes import LocalProcesses
from kubesched.apps.sweep.extra import lab
from kubesched.apps.sweep.plan import Plan, plan_of
from kubesched.apps.sweep.results import report_of
from kubesched.apps.sweep.run import Outcome, Run
from kubesched.apps.sweep.spec import Experiment, Loaded, load_experiment
from kubesched.apps.sweep.store import Store, results_table
from kubesched.apps.sweep.sweep import Hear, run_plan
from kubesched.errors import ConfigurationError
from kubesched.reports.sweep import SweepReport


def sweep(
    experiment: Experiment | str | Path,
    results: str | Path,
    *,
    jobs: int | None = None,
    on: str = "",
    retry_failed: bool = False,
    on_progress: Hear = lambda progress: None,
) -> SweepReport:
    """Do all runs of an experiment that are not finished in the folder `results`, and report on all of them.

    `jobs`: so many local processes, as many as cores by default; 0: this process. `on`: a Dask scheduler's address.
    File names in an experiment that is no file are relative to the working directory. ConfigurationError, TraceError,
    and EngineLostError, after which a second call goes on.
    """
    lab("pyarrow")  # now, not after hours
    folder = Path(results)
    if isinstance(experiment, Experiment):
        loaded = Loaded(experiment, Path.cwd())
    else:
        loaded = load_experiment(Path(experiment), Experiment, "experiment")
    plan = plan_of(loaded, folder)
    with Store(folder) as store:
        try:
            with engine_of(jobs, on) as engine:
                run_plan(plan, store, engine, retry_failed=retry_failed, on_progress=on_progress)
        finally:
            store.write_table(plan.runs)
        return report_of(results_table(finished(plan, store)), plan.name)


def finished(plan: Plan, store: Store) -> Sequence[tuple[Run, Outcome]]:
    return [(run, store.outcomes[run.key]) for run in plan.runs if run.key in store.outcomes]


def engine_of(jobs: int | None, on: str) -> Engine:
    """The engine that is asked for. ConfigurationError."""
    if on:
        from kubesched.apps.sweep.engines.dask import DaskCluster  # not at the top: it takes a second to import

        return DaskCluster(on)
    if jobs is not None and jobs < 0:
        raise ConfigurationError([f"the number of jobs must be 0 or more, not {jobs}"])
    return ThisProcess() if jobs == 0 else LocalProcesses(jobs or 0)
