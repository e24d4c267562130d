"""What is on: feature gates and behaviours, after `--feature-gates` and `--emulated-version`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from kubesched.config.behaviours import Behaviour
from kubesched.config.gate_table import DEPENDENCIES, GATES, NOT_FOLLOWED
from kubesched.config.versions import CURRENT_VERSION, OLDEST_EMULATED_VERSION, Version
from kubesched.errors import ConfigurationError

ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"
_SPECIAL: Final = {ALL_ALPHA: "Alpha", ALL_BETA: "Beta"}

# The spellings of Go's strconv.ParseBool.
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class GateStage:
    """A stage at some version: `Alpha`, `Beta`, `GA`, `Deprecated`, `PreAlpha` before it existed, or `removed`."""

    stage: str
    default: bool
    locked: bool
    folded_into: str = ""
    """The gate that decides in place of a removed one."""

    @property
    def is_known(self) -> bool:
        """Whether the gate exists at that version."""
        return self.stage not in ("PreAlpha", "removed")


_NOT_YET: Final = GateStage(stage="PreAlpha", default=False, locked=False)


@cache
def stage_at(gate: str, version: Version) -> GateStage:
    """The stage of a known gate at a version between the oldest emulated and the current one."""
    if gate in _SPECIAL:
        return GateStage(stage=_SPECIAL[gate], default=False, locked=False)
    for entry in reversed(GATES[gate].split("; ")):
        since, stage, default, *locked = entry.split()
        if Version.parse(since) <= version:
            folded_into = default if default in GATES else ""
            return GateStage(stage=stage, default=default == "on", locked=bool(locked), folded_into=folded_into)
    return _NOT_YET


class FeatureGates:
    """The state of every gate, and of every behaviour, of a version. Immutable; made by `FeatureGates()` or `parse`."""

    def __init__(self, values: Mapping[str, bool] | None = None, *, version: Version = CURRENT_VERSION) -> None:
        """Set the given gates on top of the defaults of a version; ConfigurationError with every objection."""
        wanted = dict(values or {})
        problems = _objections(wanted, version)
        if problems:
            raise ConfigurationError(problems)
        self._version = version
        self._flipped: frozenset[Behaviour] = frozenset()
        self._enabled = _resolve(wanted, version)
        problems = list(_broken_dependencies(self._enabled, version))
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
        """Whether a gate is on; of one that was removed, whether what it stood for is. An unknown name is a mistake in
        the caller: KeyError.
        """
        return self._enabled[gate]

    def follows(self, behaviour: Behaviour) -> bool:
        """Whether the version behaves so."""
        return (behaviour.since <= self._version) != (behaviour in self._flipped)

    def not_followed(self) -> list[str]:
        """What is missing here of the gates that are on: a sentence each, for a warning."""
        if self._version < Version(1, 37):
            return []
        return [f"{gate}: {what}" for gate, what in NOT_FOLLOWED.items() if self._enabled[gate]]

    def altered(self, gates: Mapping[str, bool], behaviours: Iterable[Behaviour] = ()) -> FeatureGates:
        """A copy with other values for some gates, locked ones included, and with these behaviours the other way round.

        For comparing versions line by line; no such version need exist.
        """
        copy = FeatureGates(version=self._version)
        copy._enabled = {**self._enabled, **gates}
        copy._flipped = self._flipped.symmetric_difference(behaviours)
        return copy

    def __iter__(self) -> Iterator[tuple[str, str, bool]]:
        """Every gate that exists at this version, as (name, stage, enabled), sorted by name."""
        for gate in sorted(self._enabled):
            stage = stage_at(gate, self._version)
            if stage.is_known:
                yield gate, stage.stage, self._enabled[gate]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGates) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash(self._state())

    def _state(self) -> tuple[object, ...]:
        return self._version, frozenset(self._enabled.items()), self._flipped


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
    """Read the value of `--emulated-version`: the current minor version, or one of the three before it."""
    version = Version.parse(text.removeprefix("kube="))
    if not OLDEST_EMULATED_VERSION <= version <= CURRENT_VERSION:
        raise ConfigurationError(
            [f"emulation version {version} is not between [{OLDEST_EMULATED_VERSION}, {CURRENT_VERSION}.0]"]
        )
    return version


def _objections(wanted: Mapping[str, bool], version: Version) -> list[str]:
    problems = []
    for gate, value in sorted(wanted.items()):
        stage = stage_at(gate, version) if gate in GATES or gate in _SPECIAL else None
        if stage is None or stage.stage == "removed":
            problems.append(f"unrecognized feature gate: {gate}")
            continue
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
    for gate in GATES:
        if into := stage_at(gate, version).folded_into:
            enabled[gate] = enabled[into]
    return enabled


def _broken_dependencies(enabled: Mapping[str, bool], version: Version) -> Iterator[str]:
    for gate, needed in DEPENDENCIES.items():
        missing = [name for name in needed if not enabled[name] and stage_at(name, version).stage != "removed"]
        if enabled[gate] and missing and stage_at(gate, version).stage != "removed":
            yield f"{gate} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"


def _go_bool(value: bool) -> str:
    return "true" if value else "false"
