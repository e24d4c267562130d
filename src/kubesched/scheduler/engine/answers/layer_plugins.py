"""The plugins whose answers a layer keeps, and which of them have stale answers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kubesched.scheduler.framework import DependsOn, FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin


class LayerPlugins(NamedTuple):
    """The plugins whose answers a layer keeps, by extension point, in the order of the profile."""

    pre_filters: tuple[PreFilterPlugin, ...]
    filters: tuple[tuple[FilterPlugin, DependsOn], ...]
    pre_scores: tuple[PreScorePlugin, ...]
    scores: tuple[tuple[ScorePlugin, int, DependsOn], ...]
    versioned: tuple[tuple[str, int], ...]
    """Those with an external version, each with its place among the profile's."""
    never_pre_scored: dict[str, None]
    """The names of the PreScore plugins, as stale as they are at first."""
    by_resources: bool
    """All of them see nothing but resource sums: their answers are remembered by these."""


class Stale:
    """Per extension point: plugins whose answer was given with another external version, which is the value."""

    __slots__ = ("filters", "pre_filters", "pre_scores", "scores")

    def __init__(self) -> None:
        self.pre_filters: dict[str, Hashable] = {}
        self.filters: dict[str, Hashable] = {}
        self.pre_scores: dict[str, Hashable] = {}
        self.scores: dict[str, Hashable] = {}

    def add(self, name: str, since: Hashable) -> None:
        """The oldest version is the one that kept answers were given with."""
        for plugins in (self.pre_filters, self.filters, self.pre_scores, self.scores):
            plugins.setdefault(name, since)
