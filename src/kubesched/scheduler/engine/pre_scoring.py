"""PreScore: which plugins have something to say about the feasible nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubesched.scheduler.columns import NodeView, PodInfo
from kubesched.scheduler.engine.lineup import ask_pre_score
from kubesched.scheduler.framework import CycleState, PreScorePlugin


class PreScoreAnswers:
    """PreScore of some plugins, each with whether its answer lasts: such a one is asked again only if in doubt."""

    def __init__(self, plugins: Sequence[tuple[PreScorePlugin, bool]]) -> None:
        self._plugins = plugins
        self._open = plugins  # to be asked next time
        self._skipping: set[str] = set()  # of those whose answer lasts

    def doubt(self, names: Collection[str]) -> None:
        """The external version of these plugins has changed."""
        self._open = [item for item in self._plugins if item[0].name in names or item in self._open]

    def complete(self, state: CycleState, lasting: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Say in `state` who skips. What plugins write goes to `lasting`, if their answer lasts."""
        skipping = self._skipping
        if self._open:
            for plugin, lasts in self._open:
                skips = ask_pre_score(plugin, lasting if lasts else state, pod, nodes).is_skip
                if not lasts:
                    if skips:
                        state.skipped_scores |= {plugin.name}
                elif skips:
                    skipping.add(plugin.name)
                else:
                    skipping.discard(plugin.name)
            self._open = [item for item in self._open if not item[1]]
        if skipping:
            state.skipped_scores |= skipping
