"""Configurations with other weights and arguments, as documents that Go's kube-scheduler takes, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import product
from random import Random
from typing import Any, TypeAlias

import msgspec

from kubesched.apps.sweep.spec import Policy, Range
from kubesched.config.model import API_VERSION, KIND

Document: TypeAlias = dict[str, Any]
Parameter: TypeAlias = tuple[str, str]
"""A plugin and a field of its arguments; the field of a weight is empty."""
Values: TypeAlias = dict[Parameter, Any]

EMPTY: Document = {"apiVersion": API_VERSION, "kind": KIND}


def parameter_name(parameter: Parameter) -> str:
    """As reports and result columns call it: `NodeResourcesFit.weight`, `NodeResourcesFit.scoringStrategy.type`."""
    plugin, field = parameter
    return f"{plugin}.{field or 'weight'}"


def axes_of(policy: Policy) -> tuple[Values, dict[Parameter, list[Any] | Range]]:
    """What a policy sets to one value, and what it varies."""
    fixed: Values = {}
    varied: dict[Parameter, list[Any] | Range] = {}
    settings: list[tuple[Parameter, Any]] = [((plugin, ""), value) for plugin, value in policy.weights.items()]
    settings += [((plugin, field), value) for plugin, fields in policy.args.items() for field, value in fields.items()]
    for parameter, value in settings:
        setting = _range(value)
        if isinstance(setting, list | Range):
            varied[parameter] = setting
        else:
            fixed[parameter] = setting
    return fixed, varied


def grid_of(varied: Mapping[Parameter, list[Any] | Range]) -> Iterator[Values]:
    """Every combination. All axes must be lists."""
    lists = [values for values in varied.values() if isinstance(values, list)]
    for combination in product(*lists):
        yield dict(zip(varied, combination, strict=True))


def drawn_from(varied: Mapping[Parameter, list[Any] | Range], random: Random) -> Values:
    return {parameter: _drawn(values, random) for parameter, values in varied.items()}


def with_values(document: Document, values: Values) -> Document:
    """The configuration with these weights and arguments in all its profiles."""
    changed = deepcopy({**EMPTY, **document})
    profiles = changed.setdefault("profiles", None) or [{}]
    changed["profiles"] = profiles
    for profile in profiles:
        for (plugin, field), value in values.items():
            if field:
                _set_argument(profile, plugin, field, value)
            else:
                _set_weight(profile, plugin, value)
    return changed


def _set_weight(profile: Document, plugin: str, weight: int) -> None:
    """Where the profile names the plugin at score already, there; else at multiPoint, which keeps its other points.

    Weight 0 takes it out of scoring only: kube-scheduler reads a written 0 as 1.
    """
    plugins = profile.setdefault("plugins", {})
    score = plugins.get("score") or {}
    if weight == 0:
        enabled = [entry for entry in score.get("enabled") or () if entry.get("name") != plugin]
        disabled = [*(score.get("disabled") or ()), {"name": plugin}]
        plugins["score"] = {**score, "enabled": enabled, "disabled": disabled}
        return
    point = "score" if any(entry.get("name") == plugin for entry in score.get("enabled") or ()) else "multiPoint"
    at_point = plugins.get(point) or {}
    entries = at_point.get("enabled") or []
    written = {"name": plugin, "weight": weight}
    names = [entry.get("name") for entry in entries]
    if plugin in names:
        entries = [written if name == plugin else entry for name, entry in zip(names, entries, strict=True)]
    else:
        entries = [*entries, written]
    plugins[point] = {**at_point, "enabled": entries}


def _set_argument(profile: Document, plugin: str, field: str, value: Any) -> None:
    configs = profile.setdefault("pluginConfig", [])
    entry = next((config for config in configs if config.get("name") == plugin), None)
    if entry is None:
        entry = {"name": plugin}
        configs.append(entry)
    place = entry.setdefault("args", {})
    *parents, last = field.split(".")
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = value


def _range(value: Any) -> Any:
    """A range of a YAML file is still a mapping where any value is allowed."""
    if isinstance(value, dict) and {"from", "to"} <= value.keys() <= {"from", "to", "log"}:
        return msgspec.convert(dict(value), Range)
    return value


def _drawn(values: list[Any] | Range, random: Random) -> Any:
    if isinstance(values, list):
        return values[int(random.random() * len(values))]
    low, high, share = values.low, values.high, random.random()
    is_whole = low == int(low) and high == int(high)
    if values.log:
        drawn = low * (high / low) ** share
    else:
        drawn = low + (high - low + is_whole) * share
    return min(int(drawn), int(high)) if is_whole else drawn
