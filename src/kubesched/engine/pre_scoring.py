"""PreScore: which plugins have something to say about the feasible nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubesched.columns import NodeView, PodInfo
from kubesched.engine.lineup import ask_pre_score
from kubesched.framework import CycleState, PreScorePlugin


class PreScoreAnswers:
    """PreScore of some plugins, each with whether its answer lasts: such a one is asked once."""

    def __init__(self, plugins: Sequence[tuple[PreScorePlugin, bool]]) -> None:
        self._plugins = plugins
        self._says_skip: dict[str, bool] = {}
        self._skipping: set[str] | None = None  # once the answers of all are known to last

    def doubt(self, names: Collection[str]) -> None:
        """The basis of these plugins has changed."""
        for name in names:
            self._says_skip.pop(name, None)
        self._skipping = None

    def complete(self, state: CycleState, lasting: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Say in `state` who skips. What plugins write goes to `lasting`, if their answer lasts."""
        if self._skipping is not None:
            state.skipped_scores |= self._skipping
            return
        for plugin, lasts in self._plugins:
            name = plugin.name
            skips = self._says_skip.get(name)
            if skips is None:
                skips = ask_pre_score(plugin, lasting if lasts else state, pod, nodes).is_skip
                if lasts:
                    self._says_skip[name] = skips
            if skips:
                state.skipped_scores.add(name)
        if len(self._says_skip) == len(self._plugins):
            self._skipping = {name for name, skips in self._says_skip.items() if skips}
