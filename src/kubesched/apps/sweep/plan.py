"""From an experiment to its runs: the grid or the sample, the traces' files, the plugins' modules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec

from kubesched.apps.run.trial import try_out
from kubesched.apps.simulate.virtual_scheduler import load_configuration
from kubesched.apps.sweep.policies import Values, axes_of, drawn_from, grid_of, parameter_name, with_values
from kubesched.apps.sweep.run import Run
from kubesched.apps.sweep.shipping import Modules, modules_for
from kubesched.apps.sweep.spec import DEFAULT_POLICY, Experiment, Loaded, Policy, Range, TraceSource
from kubesched.apps.sweep.worker import TraceFile
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.config.document import parse_document
from kubesched.config.load import read_text
from kubesched.errors import ConfigurationError
from kubesched.scheduler.plugin_loading import plugin_references
from kubesched.traces import open_trace
from kubesched.traces.generate import generate, load_trace_spec

T = TypeVar("T")


class Plan(msgspec.Struct):
    """The runs of an experiment in the order of their traces, with all that they need."""

    name: str
    runs: list[Run]
    traces: dict[str, TraceFile]
    """By hash."""
    modules: dict[str, Modules]
    """By hash."""


class Case(msgspec.Struct, frozen=True):
    """A policy with its configuration, before anything is varied."""

    policy: Policy
    name: str
    document: dict[str, Any] | None
    modules: Modules


class TraceOf(msgspec.Struct, frozen=True):
    """A trace source, and its file for a seed."""

    source: TraceSource
    files: dict[int, TraceFile]
    """By seed; with one file for all seeds, that of -1."""

    def file(self, seed: int) -> TraceFile:
        return self.files[seed if self.source.per_seed else -1]


def plan_of(loaded: Loaded, folder: Path) -> Plan:
    """All runs of an experiment. Traces that are generated are kept in `folder`. ConfigurationError, TraceError.

    Policies are built once, so that a mistake shows before the first run.
    """
    spec: Experiment = loaded.spec
    seeds = seeds_of(spec.seeds)
    for field in ("traces", "policies"):
        if not getattr(spec, field):
            raise loaded.problem(field, "there is none")
    if not seeds:
        raise loaded.problem("seeds", "there is none")
    gates = FeatureGates.parse(spec.feature_gates, emulated_version=spec.emulated_version)
    cases = [case_of(loaded, f"policies[{index}]", policy, gates) for index, policy in enumerate(spec.policies)]
    _refuse_twice(loaded, "policies", [case.name for case in cases])
    traces = [trace_of(loaded, f"traces[{index}]", source, seeds, folder) for index, source in enumerate(spec.traces)]
    _refuse_twice(loaded, "traces", [trace.source.label for trace in traces])
    runs = [
        run_of(spec, trace, case, values, nodes, seed)
        for trace, case, values, nodes in _combinations(loaded, traces, cases)
        for seed in seeds
    ]
    runs.sort(key=lambda run: (run.trace, run.trace_hash, run.nodes))  # stable: a worker reads a trace once
    return Plan(
        name=spec.name or "sweep",
        runs=list({run.key: run for run in runs}.values()),
        traces={file.hash: file for trace in traces for file in trace.files.values()},
        modules={case.modules.hash: case.modules for case in cases},
    )


def seeds_of(seeds: int | list[int]) -> list[int]:
    return list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))


def _combinations(
    loaded: Loaded, traces: Sequence[TraceOf], cases: Sequence[Case]
) -> Iterator[tuple[TraceOf, Case, Values, str]]:
    spec: Experiment = loaded.spec
    node_counts = [str(count) for count in spec.nodes] or [""]
    if spec.sample is not None:
        random = Random(spec.sample_seed)  # noqa: S311 - chance that can be repeated is the point
        for _ in range(spec.sample):
            trace, case = _one_of(traces, random), _one_of(cases, random)
            yield trace, case, drawn_from(axes_of(case.policy)[1], random), _one_of(node_counts, random)
        return
    for index, case in enumerate(cases):
        _, varied = axes_of(case.policy)
        for parameter, values in varied.items():
            if isinstance(values, Range):
                field = "args" if parameter[1] else "weights"
                raise loaded.problem(
                    f"policies[{index}].{field}", f"{parameter_name(parameter)} is a range: only a sample draws from it"
                )
        for trace in traces:
            for nodes in node_counts:
                yield from ((trace, case, values, nodes) for values in grid_of(varied))


def _one_of(choices: Sequence[T], random: Random) -> T:
    return choices[int(random.random() * len(choices))]


def run_of(
    spec: Any, trace: TraceOf, case: Case, values: Values, nodes: str, seed: int, part: tuple[str, str] | None = None
) -> Run:
    """`spec` has feature gates and a version; `part` of the trace, if not what its source says."""
    source, file = trace.source, trace.file(seed)
    fixed, _ = axes_of(case.policy)
    is_default = case.document is None and not fixed and not values
    since, until = part or (str(source.since), str(source.until))
    return Run(
        trace=source.label,
        trace_hash=file.hash,
        policy=case.name,
        parameters={parameter_name(parameter): value for parameter, value in values.items()},
        config=None if is_default else with_values(case.document or {}, {**fixed, **values}),
        modules=case.modules.hash,
        seed=seed,
        nodes=nodes,
        since=since,
        until=until,
        speed=source.speed,
        afresh=source.afresh,
        feature_gates=spec.feature_gates,
        emulated_version=spec.emulated_version,
    )


def case_of(loaded: Loaded, field: str, written: str | Policy, gates: FeatureGates) -> Case:
    """A policy of the file, built once to see that it works."""
    policy = written if isinstance(written, Policy) else _named(loaded, field, written)
    folder, document = loaded.folder, None
    if isinstance(policy.config, dict):
        document = dict(policy.config)
    elif policy.config:
        path = loaded.folder / policy.config
        if not path.is_file():
            raise loaded.problem(f"{field}.config", f"there is no file {policy.config}")
        document, folder = dict(parse_document(read_text(path))), path.parent
    name = policy.name or (Path(policy.config).stem if isinstance(policy.config, str) and policy.config else "")
    fixed, varied = axes_of(policy)
    first = {parameter: values[0] for parameter, values in varied.items() if isinstance(values, list) and values}
    try:
        config = load_configuration(with_values(document or {}, {**fixed, **first}), gates)
        modules = modules_for(plugin_references(config), folder)
        try_out(config, gates, folder)
        _refuse_unused(policy, config)
    except ConfigurationError as error:
        raise loaded.problem(field, f"policy {name or DEFAULT_POLICY}: {error}") from error
    return Case(policy, name or DEFAULT_POLICY, document, modules)


def _refuse_unused(policy: Policy, config: KubeSchedulerConfiguration) -> None:
    """Arguments of a plugin that does not run change nothing, which nobody means."""
    running = {name for profile in config.profiles for name in profile.plugins.enabled_names()}
    for plugin in policy.args:
        if plugin not in running:
            raise ConfigurationError([f"arguments for {plugin}, which is not among its plugins"])


def _named(loaded: Loaded, field: str, name: str) -> Policy:
    """`default`, or the name of a file, with or without its ending."""
    if name == DEFAULT_POLICY:
        return Policy(name=name)
    for candidate in (name, f"{name}.yaml"):
        if (loaded.folder / candidate).is_file():
            return Policy(name=Path(name).stem, config=candidate)
    raise loaded.problem(field, f"unknown policy {name!r}: neither {DEFAULT_POLICY} nor a configuration file")


def trace_of(loaded: Loaded, field: str, written: str | TraceSource, seeds: Sequence[int], folder: Path) -> TraceOf:
    """A trace of the file, generated if it has to be, once for every seed if it says so."""
    source = written if isinstance(written, TraceSource) else TraceSource(file=written)
    if bool(source.file) == bool(source.generate):
        raise loaded.problem(field, "expected either file or generate")
    if source.per_seed and not source.generate:
        raise loaded.problem(f"{field}.perSeed", "only a trace that is generated can differ by seed")
    if source.file:
        path = loaded.folder / source.file
        if not path.exists():
            raise loaded.problem(field, f"there is no file {source.file}")
        if not path.is_file():
            raise loaded.problem(field, f"{source.file} is no file")
        open_trace(path)  # it is one
        return TraceOf(source, {-1: TraceFile(_hash(path), str(path))})
    spec = load_trace_spec(loaded.folder / source.generate)
    files = {}
    for seed in seeds if source.per_seed else (-1,):
        chosen = seed if source.per_seed else spec.seed
        content = hashlib.sha256(msgspec.json.encode((spec, chosen), order="sorted")).hexdigest()[:16]
        path = folder / "traces" / f"{Path(source.generate).stem}-{content}.jsonl.zst"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{path.name}")
            unfinished.unlink(missing_ok=True)
            generate(spec, seed=chosen, name=source.generate).save(unfinished)
            unfinished.rename(path)
        files[seed] = TraceFile(_hash(path), str(path))
    return TraceOf(source, files)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:20]


def _refuse_twice(loaded: Loaded, field: str, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise loaded.problem(f"{field}[{index}]", f"{name!r} is there twice: give one a name")
