"""Test cases and workloads, as `performance-config.yaml` files have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubesched.errors import ConfigurationError

CONFIG_NAME = "performance-config.yaml"


@dataclass(frozen=True, slots=True)
class Operation:
    """One step. Parameters (`$name`) are resolved; paths are relative to `folder`."""

    opcode: str
    options: Mapping[str, Any]
    folder: Path

    def count(self) -> int:
        return int(self.options.get("count") or 0)

    def path(self, option: str) -> Path | None:
        value = self.options.get(option)
        return (self.folder / value).resolve() if value else None

    def nested(self, options: Mapping[str, Any]) -> Operation:
        return Operation(str(options.get("opcode", "")), options, self.folder)


@dataclass(frozen=True, slots=True)
class Workload:
    """A test case with one set of parameters."""

    case: str
    name: str
    operations: tuple[Operation, ...]
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    default_pod_template: Path | None = None

    @property
    def full_name(self) -> str:
        return f"{self.case}/{self.name}"


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
    if not path.exists():
        raise ConfigurationError([f"{path}: no such file"])
    return [path]


def _read(file: Path) -> Iterator[Workload]:
    try:
        cases = yaml.load(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        for case in cases:
            for workload in case["workloads"]:
                yield _workload(case, workload, file.parent)
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigurationError([f"{file}: {type(error).__name__}: {error}"]) from error


def _workload(case: Mapping[str, Any], workload: Mapping[str, Any], folder: Path) -> Workload:
    params = workload.get("params") or {}
    default = case.get("defaultPodTemplatePath")
    return Workload(
        case=case["name"],
        name=workload["name"],
        operations=tuple(Operation(op["opcode"], _resolved(op, params), folder) for op in case["workloadTemplate"]),
        feature_gates={**(case.get("featureGates") or {}), **(workload.get("featureGates") or {})},
        labels=frozenset((*(case.get("labels") or ()), *(workload.get("labels") or ()))),
        default_pod_template=(folder / default).resolve() if default else None,
    )


def _resolved(options: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """`countParam: $initPods` becomes `count: 5000`."""
    resolved: dict[str, Any] = {}
    for key, value in options.items():
        if key.endswith("Param") and isinstance(value, str) and value.startswith("$"):
            if value[1:] not in params:
                raise KeyError(f"parameter {value} has no value")
            resolved[key.removesuffix("Param")] = params[value[1:]]
        elif isinstance(value, Mapping):
            resolved[key] = _resolved(value, params)
        else:
            resolved[key] = value
    return resolved
