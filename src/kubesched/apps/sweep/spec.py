"""What an experiment file says: `kubesched sweep experiment.yaml`, or a Python file with an `experiment`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from kubesched.config.load import read_text
from kubesched.config.spec_file import Lines, SpecStruct, read_spec
from kubesched.errors import ConfigurationError, what_and_where
from kubesched.traces.generate.chance import Text

SpecT = TypeVar("SpecT", bound=SpecStruct)
DEFAULT_POLICY = "default"
"""The name of the configuration that a scheduler without a file has."""


class Range(SpecStruct, frozen=True):
    """Of numbers, both ends included: for samples, and to search in. Whole numbers, if both ends are."""

    low: float = msgspec.field(name="from")
    high: float = msgspec.field(name="to")
    log: bool = False
    """Each power of ten is as likely as any other."""


Weight = Annotated[int, msgspec.Meta(ge=0, le=100)]


class TraceSource(SpecStruct, frozen=True):
    """A trace file, or one that is generated; changed as `kubesched replay` can change it."""

    file: str = ""
    generate: str = ""
    """A specification (docs/traces.md)."""
    per_seed: bool = False
    """Of `generate`: every seed gets a trace of its own, so that seeds repeat the demand, too, not only the ties."""
    name: str = ""
    since: Text = msgspec.field(default="", name="from")
    until: Text = msgspec.field(default="", name="to")
    speed: float = 1.0
    afresh: bool = False

    @property
    def label(self) -> str:
        return self.name or Path(self.file or self.generate).name


class Policy(SpecStruct, frozen=True):
    """A configuration, and what is varied of it. A list is an axis of the grid; a Range is for samples."""

    name: str = ""
    config: str | dict[str, Any] = ""
    """A file; in Python also a mapping. Empty: the default configuration."""
    weights: dict[str, Weight | list[Weight] | Range] = {}
    """Of score plugins. 0: the plugin does not score."""
    args: dict[str, dict[str, Any]] = {}
    """Plugin -> field (`scoringStrategy.type`) -> a value, a list of values, or a range."""


class Experiment(SpecStruct, frozen=True):
    """Every policy on every trace with every number of nodes and every seed; or a sample of that."""

    traces: list[str | TraceSource]
    policies: list[str | Policy] = msgspec.field(default_factory=lambda: [DEFAULT_POLICY])
    """Names of files, `default`, or policies. Reports compare with the first."""
    nodes: list[Annotated[int, msgspec.Meta(ge=1)]] = []
    """So many of the trace's, or copies of them. Empty: the trace's own."""
    seeds: int | list[int] = 1
    sample: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """So many combinations of what is varied, drawn at random; each is run with all seeds."""
    sample_seed: int = 0
    feature_gates: str = ""
    emulated_version: str = ""
    name: str = ""


class Objective(SpecStruct, frozen=True):
    """A formula of metrics by column, such as `pending_time_p90 + 10 * preempted`: one of the two."""

    minimise: str = ""
    maximise: str = ""


class Tuning(SpecStruct, frozen=True):
    """A search for weights and arguments that serve the objectives better than the policy does."""

    trace: str | TraceSource
    search: Policy
    """Its weights and args: lists and ranges."""
    objectives: list[Objective]
    """With several, the configurations that no other beats in all of them are found."""
    policy: str | Policy = DEFAULT_POLICY
    """The baseline, which is changed."""
    trials: Annotated[int, msgspec.Meta(ge=1)] = 40
    together: Annotated[int, msgspec.Meta(ge=1)] = 4
    """Trials that are chosen at a time: more keep more workers busy, fewer learn more from each."""
    seeds: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Of the training part; the held-out part has others."""
    held_out_seeds: Annotated[int, msgspec.Meta(ge=1)] = 8
    training: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    """The share of the trace's time that the search sees."""
    nodes: Annotated[int, msgspec.Meta(ge=1)] | None = None
    search_seed: int = 0
    feature_gates: str = ""
    emulated_version: str = ""
    name: str = ""


class Loaded(msgspec.Struct, frozen=True):
    """An experiment with the folder that its file names are relative to, and a way to say where it is wrong."""

    spec: Any
    folder: Path
    lines: Lines | None = None

    def problem(self, field: str, problem: str) -> ConfigurationError:
        return self.lines.problem(field, problem) if self.lines else ConfigurationError([f"{field}: {problem}"])


def load_experiment(path: Path, into: type[SpecT], variable: str) -> Loaded:
    """From YAML, or from a Python file that gives `variable` a value of this type. ConfigurationError."""
    if path.suffix != ".py":
        return Loaded(read_spec(path, into), path.absolute().parent, Lines(read_text(path), str(path)))
    read_text(path)  # a file that is not there is one line, too
    try:
        found = runpy.run_path(str(path)).get(variable)
    except Exception as error:
        raise ConfigurationError([f"{path}: {what_and_where(error)}"]) from error
    if not isinstance(found, into):
        raise ConfigurationError([f"{path}: expected a variable {variable} of type {into.__name__}"])
    return Loaded(found, path.absolute().parent)
