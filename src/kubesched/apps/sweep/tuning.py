"""`kubesched tune`: searches weights and arguments that serve an objective better, and says whether they really do.

    baseline and trials on the training part ► the best, or those that no other beats ► once more on the held-out part

The training part is the first share of the trace's time, the held-out part the rest; seeds of the two differ. A trial
is a configuration with all training seeds. The search is seeded, and asks for as many trials at a time whatever does
the runs: the same file gives the same result anywhere, and one that was stopped goes on from its journal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kubesched.apps.replay.workload import workload_of
from kubesched.apps.sweep.engines.engine import Engine
from kubesched.apps.sweep.experiment import engine_of
from kubesched.apps.sweep.extra import lab
from kubesched.apps.sweep.plan import Case, Plan, TraceOf, case_of, run_of, trace_of
from kubesched.apps.sweep.policies import Parameter, Values, axes_of, parameter_name, with_values
from kubesched.apps.sweep.run import Run
from kubesched.apps.sweep.spec import Loaded, Objective, Policy, Range, Tuning, load_experiment
from kubesched.apps.sweep.store import Store, column
from kubesched.apps.sweep.sweep import Hear, Progress, run_plan
from kubesched.config import FeatureGates, load_config
from kubesched.errors import ConfigurationError
from kubesched.reports.formula import Formula
from kubesched.reports.statistics import paired_difference
from kubesched.reports.tuning import Candidate, Improvement, TuningReport
from kubesched.scheduler.plugin_loading import plugin_references
from kubesched.traces import Trace
from kubesched.traces.slicing import parse_moment


def tune(
    tuning: Tuning | str | Path,
    results: str | Path,
    *,
    jobs: int | None = None,
    on: str = "",
    on_progress: Hear = lambda progress: None,
) -> TuningReport:
    """Search, check on the held-out part, and write the configurations that were found into the folder `results`.

    `jobs` and `on` as for `sweep`. ConfigurationError, TraceError, EngineLostError.
    """
    lab("pyarrow")
    lab("optuna")
    loaded = (
        Loaded(tuning, Path.cwd()) if isinstance(tuning, Tuning) else load_experiment(Path(tuning), Tuning, "tuning")
    )
    folder = Path(results)
    search = _Search(loaded, folder, on_progress)
    with Store(folder) as store:
        try:
            with engine_of(jobs, on) as engine:
                return search.run(store, engine)
        finally:
            store.write_table(search.runs)


class _Search:
    def __init__(self, loaded: Loaded, folder: Path, on_progress: Hear) -> None:
        spec: Tuning = loaded.spec
        self._loaded, self._spec, self._folder = loaded, spec, folder
        self._gates = FeatureGates.parse(spec.feature_gates, emulated_version=spec.emulated_version)
        self._objectives = [_objective(loaded, index, given) for index, given in enumerate(spec.objectives)]
        if not self._objectives:
            raise loaded.problem("objectives", "there is none")
        self._case = case_of(loaded, "policy", spec.policy, self._gates)
        self._axes = _axes(loaded, self._case, self._gates)
        self._training = list(range(spec.seeds))
        self._held_out = list(range(spec.seeds, spec.seeds + spec.held_out_seeds))
        self._trace = trace_of(loaded, "trace", spec.trace, [*self._training, *self._held_out], folder)
        self._parts = _parts(self._trace, spec.training)
        self._hear = on_progress
        self.runs: list[Run] = []
        """All that were asked for so far."""

    def run(self, store: Store, engine: Engine) -> TuningReport:
        self._store, self._engine = store, engine
        baseline = self._do([{}], self._training, self._parts[0])[0]
        self._check_names(baseline)
        trials = self._search()
        candidates = [
            self._candidate(number, values, baseline, scores) for number, (values, scores) in enumerate(trials, start=1)
        ]
        return TuningReport(
            name=self._spec.name or self._trace.source.label,
            baseline=self._case.name,
            objectives=[
                ("minimise " if sign > 0 else "maximise ") + formula.text for formula, sign in self._objectives
            ],
            trials=self._spec.trials,
            repeats_demand=self._trace.source.per_seed,
            candidates=candidates,
        )

    # The search.

    def _search(self) -> list[tuple[Values, list[list[float]]]]:
        """The best trial, or those that no other beats in every objective: what was varied, and scores by objective."""
        optuna = lab("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental, but seeded and tested here
            sampler = optuna.samplers.TPESampler(seed=self._spec.search_seed, multivariate=True, constant_liar=True)
        directions = ["minimize" if sign > 0 else "maximize" for _, sign in self._objectives]
        study = optuna.create_study(directions=directions, sampler=sampler)
        space = {parameter_name(parameter): _distribution(values) for parameter, values in self._axes.items()}
        asked: dict[int, tuple[Values, list[list[float]]]] = {}
        while len(asked) < self._spec.trials:
            trials = [study.ask(space) for _ in range(min(self._spec.together, self._spec.trials - len(asked)))]
            chosen = [self._values(trial.params) for trial in trials]
            for trial, values, outcomes in zip(
                trials, chosen, self._do(chosen, self._training, self._parts[0]), strict=True
            ):
                scores = self._scores(outcomes)
                asked[trial.number] = (values, scores)
                means = [sum(found) / len(found) if found else math.nan for found in scores]
                if all(math.isfinite(mean) for mean in means):
                    study.tell(trial, means)
                else:
                    study.tell(trial, state=optuna.trial.TrialState.FAIL)
        best = {tuple(sorted(trial.params.items())): trial.number for trial in reversed(study.best_trials)}
        if not best:
            raise ConfigurationError(["no trial gave a value of the objective; the errors are in the results"])
        numbers = sorted(best.values())
        return [asked[number] for number in (numbers[:1] if len(self._objectives) == 1 else numbers)]

    def _values(self, params: dict[str, Any]) -> Values:
        values: Values = {}
        for parameter, axis in self._axes.items():
            drawn = params[parameter_name(parameter)]
            values[parameter] = axis[drawn] if isinstance(axis, list) else drawn
        return values

    # Runs.

    def _do(
        self, variants: Sequence[Values], seeds: Sequence[int], part: tuple[str, str]
    ) -> list[list[dict[str, float]]]:
        """Each variant with all seeds: metrics by column, per seed; empty for a run that failed."""
        runs = [
            [run_of(self._spec, self._trace, self._case, values, self._nodes(), seed, part) for seed in seeds]
            for values in variants
        ]
        every = list({run.key: run for group in runs for run in group}.values())
        known = {run.key for run in self.runs}
        self.runs += [run for run in every if run.key not in known]
        plan = Plan(
            name=self._spec.name,
            runs=every,
            traces={file.hash: file for file in self._trace.files.values()},
            modules={self._case.modules.hash: self._case.modules},
        )
        run_plan(plan, self._store, self._engine, on_progress=self._overall)
        outcomes = [[self._store.outcomes[run.key] for run in group] for group in runs]
        return [
            [{column(name): metric.value for name, metric in found.metrics.items()} for found in group]
            for group in outcomes
        ]

    def _overall(self, progress: Progress) -> None:
        """Of the whole search, as far as it can be foreseen."""
        spec = self._spec
        total = spec.seeds * (spec.trials + 1) + 2 * spec.held_out_seeds
        finished = len(self.runs) - progress.total + progress.finished
        self._hear(Progress(total=max(total, finished), finished=finished, failed=progress.failed, before=0))

    def _nodes(self) -> str:
        return str(self._spec.nodes) if self._spec.nodes else ""

    def _scores(self, outcomes: list[dict[str, float]]) -> list[list[float]]:
        """By objective and seed; empty if a run failed."""
        if not all(outcomes):
            return [[] for _ in self._objectives]
        return [[formula.value(metrics) for metrics in outcomes] for formula, _ in self._objectives]

    # The verdict.

    def _candidate(
        self, number: int, values: Values, baseline: list[dict[str, float]], trained: list[list[float]]
    ) -> Candidate:
        before, after = self._do([{}, values], self._held_out, self._parts[1])
        held_before, held_after = self._scores(before), self._scores(after)
        improvements = []
        for index, (formula, sign) in enumerate(self._objectives):
            first = [formula.value(metrics) for metrics in baseline]
            improvements.append(
                Improvement(
                    objective=formula.text,
                    sign=sign,
                    training=(sum(first) / len(first), sum(trained[index]) / len(trained[index])),
                    held_out=paired_difference(list(zip(held_before[index], held_after[index], strict=True))),
                    before=sum(held_before[index]) / len(held_before[index]) if held_before[index] else math.nan,
                )
            )
        file = self._folder / (f"tuned-{number}.yaml" if len(self._objectives) > 1 else "tuned.yaml")
        python_only = self._write(file, values)
        parameters = {parameter_name(parameter): value for parameter, value in values.items()}
        return Candidate(parameters=parameters, file=str(file), improvements=improvements, python_only=python_only)

    def _write(self, file: Path, values: Values) -> list[str]:
        """The configuration, checked by our loader. Returns the plugins in it that Go's kube-scheduler lacks."""
        fixed, _ = axes_of(self._case.policy)
        text = yaml.safe_dump(msgspec.to_builtins(with_values(self._case.document or {}, {**fixed, **values})))
        config = load_config(text, self._gates)
        file.write_text(f"# Found by kubesched tune on {self._trace.source.label}.\n{text}", encoding="utf-8")
        return plugin_references(config)

    def _check_names(self, baseline: list[dict[str, float]]) -> None:
        """Which metrics there are, a run shows."""
        failed = [self._store.outcomes[run.key].error for run in self.runs if self._store.outcomes[run.key].error]
        if failed:
            raise ConfigurationError([f"the baseline fails: {failed[0]}"])
        for index, (formula, _) in enumerate(self._objectives):
            for name in sorted(formula.names - baseline[0].keys()):
                known = ", ".join(baseline[0])
                raise self._loaded.problem(f"objectives[{index}]", f"unknown metric {name!r}: there are {known}")


def _objective(loaded: Loaded, index: int, given: Objective) -> tuple[Formula, int]:
    """A formula, and 1 if less is better, -1 if more is."""
    if bool(given.minimise) == bool(given.maximise):
        raise loaded.problem(f"objectives[{index}]", "expected either minimise or maximise")
    try:
        return Formula(given.minimise or given.maximise), 1 if given.minimise else -1
    except ValueError as error:
        raise loaded.problem(f"objectives[{index}]", str(error)) from error


def _axes(loaded: Loaded, case: Case, gates: FeatureGates) -> dict[Parameter, list[Any] | Range]:
    """What is searched. One value of each is tried out, so that a misspelt plugin shows now."""
    search: Policy = loaded.spec.search
    if axes_of(case.policy)[1]:
        raise loaded.problem("policy", "lists and ranges belong to search: the baseline is one configuration")
    fixed, axes = axes_of(search)
    for parameter in fixed:
        raise loaded.problem("search", f"{parameter_name(parameter)} has one value only: set it in the policy")
    if not axes:
        raise loaded.problem("search", "there is nothing to search")
    for parameter, values in axes.items():
        if isinstance(values, Range) and (values.low >= values.high or (values.log and values.low <= 0)):
            raise loaded.problem("search", f"{parameter_name(parameter)}: from must be below to, and above 0 if log")
    first = {parameter: values[0] if isinstance(values, list) else values.high for parameter, values in axes.items()}
    whole = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in first.items()
    }
    document = with_values(case.document or {}, {**axes_of(case.policy)[0], **whole})
    case_of(
        loaded, "search", Policy(name=case.name, config=document, args={plugin: {} for plugin in search.args}), gates
    )
    return axes


def _distribution(axis: list[Any] | Range) -> Any:
    optuna = lab("optuna").distributions
    if isinstance(axis, list):
        return optuna.CategoricalDistribution(range(len(axis)))
    if axis.low.is_integer() and axis.high.is_integer():
        return optuna.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return optuna.FloatDistribution(axis.low, axis.high, log=axis.log)


def _parts(trace: TraceOf, share: float) -> tuple[tuple[str, str], tuple[str, str]]:
    """The training and the held-out part, as moments after the start of the trace."""
    source, file = trace.source, next(iter(trace.files.values()))
    opened = Trace.open(Path(file.path))
    workload, header = workload_of(opened), opened.header
    since = parse_moment(str(source.since), header) if source.since else None
    until = parse_moment(str(source.until), header) if source.until else None
    first = (since or workload.started) - workload.started
    last = (until or workload.ended) - workload.started
    middle = f"{first + share * (last - first):.3f}s"
    return (str(source.since), middle), (middle, str(source.until))
