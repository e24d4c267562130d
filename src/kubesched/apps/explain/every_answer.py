"""The whole table behind a decision: what every filter says about every node, and how long each plugin takes.

The scheduler asks a node's filters until one rejects it, and nobody whose answer it remembers. Here all are asked, from
scratch: what a node would still lack if the first problem were solved is part of "why?".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kubesched.clock import Clock
from kubesched.errors import PluginError
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.engine.plugin_calls import try_filter
from kubesched.scheduler.engine.scratch import run_pre_filters, run_scores
from kubesched.scheduler.framework import CycleState, Stopwatch, Verdict
from kubesched.scheduler.runtime.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryAnswer:
    """`filters` are each plugin's answers, in the order of `nodes`; those of a plugin that failed are left out."""

    nodes: tuple[str, ...]
    filters: Mapping[str, Verdict]
    skipped: tuple[str, ...]
    """Filters that have nothing to say about this pod."""
    seconds: Mapping[str, Mapping[str, float]]
    """By extension point and plugin."""


class _Times:
    """A `CallObserver` that keeps the duration of every plugin's calls."""

    def __init__(self) -> None:
        self.by_point: dict[str, dict[str, float]] = {}

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None: ...

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        plugins = self.by_point.setdefault(point, {})
        plugins[plugin] = plugins.get(plugin, 0.0) + seconds

    def evaluated(self, plugins: Iterable[str], point: str, profile: str) -> None: ...


def every_answer(
    assembled: Assembled, profile: Profile, pod: PodInfo, fitting: Iterable[str], clock: Clock
) -> EveryAnswer | None:
    """`fitting` are the nodes to be scored; `clock` is the one that durations are read from. Nothing is changed.

    None if PreFilter rejects the pod, or a plugin fails there: then no filter is asked.
    """
    cluster, plugins = assembled.cache.cluster, assembled.evaluators[profile.name].plugins
    times = _Times()
    state = CycleState(pod, stopwatch=Stopwatch(times, clock, profile.name))
    rows = np.flatnonzero(cluster.nodes.exists[: len(cluster.nodes)])
    nodes = cluster.view(rows)
    try:
        pre_filtered, _ = run_pre_filters(plugins, lambda _: state, pod, cluster.view(), {})
        if not pre_filtered.status.is_success:
            return None
        state.skipped_filters = pre_filtered.skipped
        filters: dict[str, Verdict] = {}
        for plugin in plugins.filters:
            if plugin.name not in pre_filtered.skipped:
                try:
                    filters[plugin.name] = try_filter(plugin, state, pod, nodes)
                except PluginError:
                    continue  # it would fail on a node that another filter rejects first
        scored = np.array(sorted(cluster.nodes.row_of[name] for name in fitting), dtype=np.intp)
        if len(scored) > 1:
            run_scores(plugins, state, pod, cluster.view(scored))
    except PluginError:
        return None
    names = cluster.nodes.names
    return EveryAnswer(
        nodes=tuple([names[row] for row in rows.tolist()]),
        filters=filters,
        skipped=tuple(sorted(pre_filtered.skipped & {plugin.name for plugin in plugins.filters})),
        seconds=times.by_point,
    )
