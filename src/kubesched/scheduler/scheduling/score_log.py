"""Every score of an attempt in the log, at verbosity 10 (prioritizeNodes)."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched.scheduler.engine import FeasibleNodes, Scores
from kubesched.telemetry.logging import log


def log_scores(
    fit: FeasibleNodes, scores: Scores, weights: Mapping[str, int], extender_scores: Mapping[str, int]
) -> None:
    """`extender_scores` are weighted, by node."""
    pod, names = fit.pod.key, fit.names()
    for plugin, column in scores.by_plugin.items():
        for name, score in zip(names, (column * weights[plugin]).tolist(), strict=True):
            log.info("Plugin scored node for pod", v=10, pod=pod, plugin=plugin, node=name, score=score)
    for name, total in zip(names, scores.totals.tolist(), strict=True):
        log.info(
            "Calculated node's final score for pod",
            v=10,
            pod=pod,
            node=name,
            score=total + extender_scores.get(name, 0),
        )
