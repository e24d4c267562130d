"""Feature gates: which are on, after `--feature-gates` and `--emulated-version`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from kubesched.config.gate_table import DEPENDENCIES, GATES
from kubesched.errors import ConfigurationError

ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"
_SPECIAL: Final = {ALL_ALPHA: "Alpha", ALL_BETA: "Beta"}

# The spellings of Go's strconv.ParseBool.
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


class Version(NamedTuple):
    """A Kubernetes minor version."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read `1.36` or `v1.36`; ConfigurationError otherwise."""
        major, dot, minor = text.removeprefix("v").partition(".")
        if not (dot and major.isdecimal() and minor.isdecimal()):
            raise ConfigurationError([f'could not parse "{text}" as version'])
        return cls(int(major), int(minor))


CURRENT_VERSION: Final = Version(1, 36)
OLDEST_EMULATED_VERSION: Final = Version(1, 33)


@dataclass(frozen=True, kw_only=True, slots=True)
class GateStage:
    """A gate's stage at some version: `Alpha`, `Beta`, `GA`, `Deprecated`, or `PreAlpha` before it existed."""

    stage: str
    default: bool
    locked: bool


_NOT_YET: Final = GateStage(stage="PreAlpha", default=False, locked=False)


@cache
def stage_at(gate: str, version: Version) -> GateStage:
    """The stage of a known gate at a version between the oldest emulated and the current one."""
    if gate in _SPECIAL:
        return GateStage(stage=_SPECIAL[gate], default=False, locked=False)
    for entry in reversed(GATES[gate].split("; ")):
        since, stage, default, *locked = entry.split()
        if Version.parse(since) <= version:
            return GateStage(stage=stage, default=default == "on", locked=bool(locked))
    return _NOT_YET


class FeatureGates:
    """The state of every known gate. Immutable; made by `FeatureGates()`, `parse` or `from_mapping`."""

    def __init__(self, values: Mapping[str, bool] | None = None, *, version: Version = CURRENT_VERSION) -> None:
        """Set the given gates on top of the defaults of a version; ConfigurationError with every objection."""
        wanted = dict(values or {})
        problems = _objections(wanted, version)
        if problems:
            raise ConfigurationError(problems)
        self._version = version
        self._enabled = _resolve(wanted, version)
        problems = list(_broken_dependencies(self._enabled))
        if problems:
            raise ConfigurationError(problems)

    @classmethod
    def parse(cls, text: str, *, emulated_version: str = "") -> FeatureGates:
        """Read `--feature-gates` (`A=true,kube:B=false`) and `--emulated-version` (`1.35` or `kube=1.35`)."""
        version = parse_emulated_version(emulated_version) if emulated_version else CURRENT_VERSION
        return cls(parse_gate_list(text), version=version)

    @property
    def version(self) -> Version:
        """The version whose defaults hold."""
        return self._version

    def enabled(self, gate: str) -> bool:
        """Whether a gate is on. An unknown name is a mistake in the caller: KeyError."""
        return self._enabled[gate]

    def __iter__(self) -> Iterator[tuple[str, str, bool]]:
        """Every gate that exists at this version, as (name, stage, enabled), sorted by name."""
        for gate in sorted(self._enabled):
            stage = stage_at(gate, self._version).stage
            if stage != _NOT_YET.stage:
                yield gate, stage, self._enabled[gate]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGates) and (self._version, self._enabled) == (other._version, other._enabled)

    def __hash__(self) -> int:
        return hash((self._version, frozenset(self._enabled.items())))


def parse_gate_list(text: str) -> dict[str, bool]:
    """Read `A=true,kube:B=false`; the later of two values for one gate wins. ConfigurationError with every problem."""
    values: dict[str, bool] = {}
    problems: list[str] = []
    for item in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in item.partition("="))
        name = name.removeprefix("kube:")
        if not equals:
            problems.append(f"missing bool value for {name}")
        elif value not in _BOOLEANS:
            problems.append(
                f'invalid value of {name}={value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        else:
            values[name] = _BOOLEANS[value]
    if problems:
        raise ConfigurationError(problems)
    return values


def parse_emulated_version(text: str) -> Version:
    """Read the value of `--emulated-version`; only the last three minor versions can be emulated."""
    version = Version.parse(text.removeprefix("kube="))
    if not OLDEST_EMULATED_VERSION <= version <= CURRENT_VERSION:
        raise ConfigurationError(
            [f"emulation version {version} is not between [{OLDEST_EMULATED_VERSION}, {CURRENT_VERSION}.0]"]
        )
    return version


def _objections(wanted: Mapping[str, bool], version: Version) -> list[str]:
    problems = []
    for gate, value in sorted(wanted.items()):
        if gate not in GATES and gate not in _SPECIAL:
            problems.append(f"unrecognized feature gate: {gate}")
            continue
        stage = stage_at(gate, version)
        setting = f"cannot set feature gate {gate} to {_go_bool(value)}"
        if stage.locked and stage.default != value:
            problems.append(f"{setting}, feature is locked to {_go_bool(stage.default)}")
        elif stage is _NOT_YET:
            problems.append(f"{setting}, feature is PreAlpha at emulated version {version}")
    return problems


def _resolve(wanted: Mapping[str, bool], version: Version) -> dict[str, bool]:
    """All gates' values: what is set by name, else AllAlpha or AllBeta, else the default."""
    by_stage = {stage: wanted[special] for special, stage in _SPECIAL.items() if special in wanted}
    enabled = {special: wanted.get(special, False) for special in _SPECIAL}
    for gate in GATES:
        stage = stage_at(gate, version)
        enabled[gate] = wanted.get(gate, by_stage.get(stage.stage, stage.default))
    return enabled


def _broken_dependencies(enabled: Mapping[str, bool]) -> Iterator[str]:
    for gate, needed in DEPENDENCIES.items():
        missing = [name for name in needed if not enabled[name]]
        if enabled[gate] and missing:
            yield f"{gate} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"


def _go_bool(value: bool) -> str:
    return "true" if value else "false"
