"""Which plugins really run at each extension point of a profile, in which order and with which weight.

Three layers decide, the more specific one first: a point's own set, multiPoint, the defaults (already merged into
both by `kubesched.config.default_plugins`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kubesched.config.model import ALL_PLUGINS, ExtensionPoint, KubeSchedulerProfile, Plugin, PluginSet
from kubesched.errors import ConfigurationError

MAX_NODE_SCORE: Final = 100
MAX_TOTAL_SCORE: Final = 2**63 - 1
WEIGHTED_POINTS: Final = {
    ExtensionPoint.SCORE: "score plugins",
    ExtensionPoint.PLACEMENT_SCORE: "placement score plugins",
}

PointsOf = Callable[[str], Collection[ExtensionPoint] | None]
"""The extension points that a plugin implements; None for a plugin that does not exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpandedPlugins:
    """The plugins of one profile: `at[point]` in running order, `weights[point]` by name at the two score points."""

    at: Mapping[ExtensionPoint, tuple[str, ...]]
    weights: Mapping[ExtensionPoint, Mapping[str, int]]

    def names(self) -> tuple[str, ...]:
        """Every plugin that runs anywhere, sorted, each once."""
        return tuple(sorted({name for names in self.at.values() for name in names}))


def expand_plugins(profile: KubeSchedulerProfile, points_of: PointsOf) -> ExpandedPlugins:
    """Expand a complete profile; ConfigurationError with every reason why no framework can be built from it."""
    problems: list[str] = []
    at: dict[ExtensionPoint, tuple[str, ...]] = {}
    for point in ExtensionPoint:
        specific = profile.plugins.at(point)
        problems.extend(_objections_to_specific(point, specific, points_of))
        candidates = [
            plugin.name for plugin in profile.plugins.multi_point.enabled if point in (points_of(plugin.name) or ())
        ]
        at[point] = tuple(_order(point, specific, candidates, problems))
    problems.extend(_unknown_multi_point(profile, points_of))
    if not problems:
        problems.extend(_wrong_counts(profile.scheduler_name, at))
    weights = {point: _weights(point, profile, points_of, problems) for point in WEIGHTED_POINTS}
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    return ExpandedPlugins(at=at, weights=weights)


def _order(
    point: ExtensionPoint, specific: PluginSet, from_multi_point: Iterable[str], problems: list[str]
) -> Iterator[str]:
    """Specific ones that override multiPoint, then multiPoint, then other specific ones (expandMultiPointPlugins)."""
    own = list(dict.fromkeys(plugin.name for plugin in specific.enabled))
    disabled = {plugin.name for plugin in specific.disabled}
    if ALL_PLUGINS in disabled:
        yield from own
        return
    inherited = [name for name in from_multi_point if name not in disabled]
    overriding = [name for name in own if name in inherited]
    added = [name for name in inherited if name not in own]
    problems.extend(f'plugin "{name}" already registered as "{point.interface_name}"' for name in _repeated(added))
    yield from overriding
    yield from dict.fromkeys(added)
    yield from (name for name in own if name not in overriding)


def _objections_to_specific(point: ExtensionPoint, specific: PluginSet, points_of: PointsOf) -> Iterator[str]:
    names = [plugin.name for plugin in specific.enabled]
    for name in dict.fromkeys(names):
        points = points_of(name)
        if points is None:
            yield f'{point.interface_name} "{name}" does not exist'
        elif point not in points:
            yield f'plugin "{name}" does not extend {point.interface_name} plugin'
    for name in _repeated(names):
        yield f'plugin "{name}" already registered as "{point.interface_name}"'


def _unknown_multi_point(profile: KubeSchedulerProfile, points_of: PointsOf) -> Iterator[str]:
    for plugin in profile.plugins.multi_point.enabled:
        if points_of(plugin.name) is None:
            yield f'MultiPoint plugin "{plugin.name}" does not exist'


def _wrong_counts(scheduler_name: str, at: Mapping[ExtensionPoint, tuple[str, ...]]) -> Iterator[str]:
    profile = f'for profile with scheduler name "{scheduler_name}"'
    sorters = len(at[ExtensionPoint.QUEUE_SORT])
    if sorters != 1:
        yield f"only one queue sort plugin required {profile}, but got {sorters}"
    if not at[ExtensionPoint.BIND]:
        yield f"at least one bind plugin is needed {profile}"
    if len(at[ExtensionPoint.PLACEMENT_GENERATE]) > 1:
        yield f"at most one placement generate plugin is allowed {profile}"


def _weights(
    point: ExtensionPoint, profile: KubeSchedulerProfile, points_of: PointsOf, problems: list[str]
) -> dict[str, int]:
    """Weights by plugin (getValidScoreWeights): the specific one wins, 0 means 1, and the total must fit an int64."""
    candidates: tuple[Plugin, ...] = (*profile.plugins.at(point).enabled, *profile.plugins.multi_point.enabled)
    weights: dict[str, int] = {}
    for plugin in candidates:
        if point in (points_of(plugin.name) or ()):
            weights.setdefault(plugin.name, plugin.weight or 1)
    if _could_overflow(weights.values()):
        problems.append(f"{WEIGHTED_POINTS[point]}: total score of Score plugins could overflow")
    return weights


def _could_overflow(weights: Iterable[int]) -> bool:
    """As Go's int64 sees it, where a total below zero leaves no room for another plugin."""
    total = 0
    for weight in weights:
        if total < 0 or weight * MAX_NODE_SCORE > MAX_TOTAL_SCORE - total:
            return True
        total += weight * MAX_NODE_SCORE
    return False


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
