"""Test cases and workloads, as `performance-config.yaml` files have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from kubesched.apps.bench.opcodes import Operation
from kubesched.apps.bench.templates import YAML_LOADER
from kubesched.config.load import read_text
from kubesched.errors import ConfigurationError
from kubesched.objects.yaml_text import load_yaml, yaml_problem

CONFIG_NAME: Final = "performance-config.yaml"
DECLARED_FEATURES: Final = "numNodeDeclaredFeatures"
"""A parameter that no operation names: every node declares so many features (upstream's test reads it in Go)."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A test case with one set of parameters. Paths in its operations are relative to `folder`."""

    case: str
    name: str
    folder: Path
    operations: tuple[Operation, ...]
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    default_pod_template: str = ""
    scheduler_config: Path | None = None
    threshold: float = 0.0
    """The pods per second that must be reached on the average; 0: any."""
    declared_features: int = 0

    @property
    def full_name(self) -> str:
        return f"{self.case}/{self.name}"


class _Strict(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Fields in camelCase, and no others."""


class _WorkloadEntry(_Strict):
    name: str
    params: dict[str, Any] = {}
    labels: list[str] = []
    threshold: float | dict[str, float] = 0.0
    feature_gates: dict[str, bool] = {}


class _Case(_Strict):
    name: str
    workload_template: list[dict[str, Any]]
    workloads: list[_WorkloadEntry]
    feature_gates: dict[str, bool] = {}
    labels: list[str] = []
    default_pod_template_path: str = ""
    scheduler_config_path: str = ""


def load_workloads(paths: Sequence[Path], *, pattern: str = "", labels: Sequence[str] = ()) -> list[Workload]:
    """All workloads of files (or of every such file below folders) that match. ConfigurationError for a broken file."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ConfigurationError([f"--workload: not a regular expression: {error}"]) from error
    found = [workload for path in paths for file in _files(path) for workload in _read(file)]
    return [w for w in found if wanted.search(w.full_name) and w.labels.issuperset(labels)]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.rglob(CONFIG_NAME))
    return [path]


def _read(file: Path) -> Iterator[Workload]:
    try:
        data = load_yaml(read_text(file), YAML_LOADER)
        cases = msgspec.convert(data or [], list[_Case])
    except yaml.YAMLError as error:
        raise ConfigurationError([f"{file}: {yaml_problem(error)}"]) from error
    except msgspec.ValidationError as error:
        raise ConfigurationError([f"{file}: {error}"]) from error
    for case in cases:
        for entry in case.workloads:
            try:
                yield _workload(case, entry, file.parent.resolve())
            except ValueError as error:
                raise ConfigurationError([f"{file}: {case.name}/{entry.name}: {error}"]) from error


def _workload(case: _Case, entry: _WorkloadEntry, folder: Path) -> Workload:
    params = _Params(entry.params)
    declared = int(params.take(DECLARED_FEATURES)) if DECLARED_FEATURES in entry.params else 0
    operations = tuple(msgspec.convert(params.fill(options), Operation) for options in case.workload_template)
    if params.unused:
        raise ValueError(f"no operation uses the parameters {', '.join(sorted(params.unused))}")
    threshold = entry.threshold
    return Workload(
        case=case.name,
        name=entry.name,
        folder=folder,
        operations=operations,
        feature_gates={**case.feature_gates, **entry.feature_gates},
        labels=frozenset((*case.labels, *entry.labels)),
        default_pod_template=case.default_pod_template_path,
        scheduler_config=folder / case.scheduler_config_path if case.scheduler_config_path else None,
        threshold=max(threshold.values(), default=0.0) if isinstance(threshold, dict) else threshold,
        declared_features=declared,
    )


class _Params:
    """A workload's parameters, and which of them nobody used."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.unused = set(values)

    def take(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(f"parameter ${name} has no value")
        self.unused.discard(name)
        return self._values[name]

    def fill(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """`countParam: $initPods` becomes `count: 5000`, at any depth."""
        filled: dict[str, Any] = {}
        for key, value in options.items():
            if key.endswith("Param") and isinstance(value, str) and value.startswith("$"):
                filled[key.removesuffix("Param")] = self.take(value[1:])
            else:
                filled[key] = self.fill(value) if isinstance(value, Mapping) else value
        return filled
