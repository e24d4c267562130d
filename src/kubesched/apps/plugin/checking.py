"""Whether a plugin keeps its promises: asked on random clusters, with the smallest example of what it breaks.

the same question twice         the same answer, if nothing has happened in between
any part of the nodes           the same answer about a node, whatever other nodes it is asked about
kept answers                    equal fresh ones: what depends_on, signature and external_version say is true
no exception, a score in range  whatever the cluster looks like
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kubesched.apps.plugin.random_steps import random_steps
from kubesched.apps.plugin.steps import Ask, Step
from kubesched.apps.plugin.trial_cluster import TrialCluster
from kubesched.errors import what_and_where
from kubesched.scheduler.framework import DependsOn, Plugin, ScorePlugin

MOST_RUNS: Final = 600
"""Of a scenario while it is made smaller."""

RAISES: Final = "it fails"
NOT_DETERMINISTIC: Final = "the same question gets different answers"
DEPENDS_ON_OTHERS: Final = "the answer about a node depends on which other nodes it is asked about"
KEPT_IS_WRONG: Final = "a kept answer is not what the plugin would say now"


@dataclass(frozen=True)
class Finding:
    """A promise that is broken, how it shows, and which steps lead there."""

    what: str
    details: tuple[str, ...]
    steps: tuple[Step, ...]
    advice: str = ""

    def lines(self) -> list[str]:
        numbered = [f"  {number}. {step.words()}" for number, step in enumerate(self.steps, start=1)]
        return [
            self.what,
            *numbered,
            *(f"     {detail}" for detail in self.details),
            *([self.advice] * bool(self.advice)),
        ]


def check(
    plugin: type[Plugin],
    args: Any = None,
    *,
    clusters: int = 100,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> Finding | None:
    """The first promise that is broken on a random cluster, by the smallest example found; None if all are kept.

    ConfigurationError if the plugin cannot be built.
    """
    vocabulary = TrialCluster(plugin, args).vocabulary(args)
    for number in range(clusters):
        steps = random_steps(Random(f"{seed}/{number}"), vocabulary)  # noqa: S311 - a seeded generator, not a secret
        found = run(plugin, args, steps)
        if found is not None:
            smallest = shrink(found, lambda fewer: run(plugin, args, fewer))
            return _blamed(plugin, args, smallest)
        progress()
    return None


def run(plugin: type[Plugin], args: Any, steps: Sequence[Step]) -> Finding | None:
    """Let the steps happen to a new cluster; what the first question shows that shows anything."""
    cluster = TrialCluster(plugin, args)
    for number, step in enumerate(steps, start=1):
        if not isinstance(step, Ask):
            cluster.happen(step)
            continue
        broken = _look(cluster, step)
        if broken is not None:
            return Finding(broken[0], broken[1], tuple(steps[:number]))
    return None


def _look(cluster: TrialCluster, ask: Ask) -> tuple[str, tuple[str, ...]] | None:
    try:
        kept, fresh, again = cluster.kept(ask), cluster.fresh(ask), cluster.fresh(ask)
    except Exception as error:
        return RAISES, (what_and_where(error),)
    if differing := fresh.differences(again):
        return NOT_DETERMINISTIC, tuple(f"{node}: first {one}, then {two}" for node, one, two in differing)
    if differing := kept.differences(fresh):
        return KEPT_IS_WRONG, tuple(f"{node}: kept: {one}; now: {two}" for node, one, two in differing)
    if _is_kept(cluster.plugin):
        try:
            together, alone = cluster.one_by_one(ask)
        except Exception as error:
            return RAISES, (what_and_where(error),)
        if differing := together.differences(alone):
            return DEPENDS_ON_OTHERS, tuple(f"{n}: among all {one}, alone {two}" for n, one, two in differing)
    return None


def _is_kept(plugin: Plugin) -> bool:
    return plugin.depends_on is not DependsOn.ANYTHING


# ---- smaller -------------------------------------------------------------------------------------------------------


def shrink(found: Finding, try_out: Callable[[Sequence[Step]], Finding | None]) -> Finding:
    """The same mistake with fewer and simpler steps."""
    runs = 0

    def still_fails(steps: Sequence[Step]) -> Finding | None:
        nonlocal runs
        runs += 1
        outcome = try_out(steps) if runs <= MOST_RUNS else None
        return outcome if outcome is not None and outcome.what == found.what else None

    while True:
        smaller = _with_fewer(found, still_fails) or _with_simpler(found, still_fails)
        if smaller is None:
            return found
        found = smaller


def _with_fewer(found: Finding, still_fails: Callable[[Sequence[Step]], Finding | None]) -> Finding | None:
    steps = found.steps
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            if outcome := still_fails(steps[:start] + steps[start + size :]):
                return outcome
        size //= 2
    return None


def _with_simpler(found: Finding, still_fails: Callable[[Sequence[Step]], Finding | None]) -> Finding | None:
    for position, step in enumerate(found.steps):
        for simpler in step.simpler():
            if outcome := still_fails([*found.steps[:position], simpler, *found.steps[position + 1 :]]):
                return outcome
            # Where several steps are about the same thing, perhaps only all of them can be simpler.
            if outcome := still_fails([simpler if other == step else other for other in found.steps]):
                return outcome
    return None


# ---- which promise -------------------------------------------------------------------------------------------------


def _blamed(plugin: type[Plugin], args: Any, found: Finding) -> Finding:
    """With the claim that must be wrong: the example does not show the mistake without it."""
    if found.what != KEPT_IS_WRONG:
        return found
    for advice, changes in _weaker_claims(plugin):
        if run(type(plugin.__name__, (plugin,), changes), args, found.steps) is None:
            return Finding(found.what, found.details, found.steps, advice)
    return found


def _weaker_claims(plugin: type[Plugin]) -> list[tuple[str, dict[str, Any]]]:
    """Claims that promise less, one at a time, and what to say if that helps."""
    claims: list[tuple[str, dict[str, Any]]] = []
    if plugin.signature is not Plugin.signature:
        said = "signature leaves out something of the pod that the answer depends on"
        claims.append((said, {"signature": lambda self, pod: None}))
    stronger = {
        DependsOn.NODE: (DependsOn.NODE_RESOURCES, DependsOn.NODE_AND_PODS),
        DependsOn.NODE_RESOURCES: (DependsOn.NODE_AND_PODS,),
    }
    for depends_on in stronger.get(plugin.depends_on, ()):
        said = f"depends_on = {plugin.depends_on.name} is not true: the answer depends on more, try {depends_on.name}"
        claims.append((said, _depending(plugin, depends_on)))
    said = "external_version does not change with something that the answer depends on, besides the pod and the node"
    claims.append((said, {"external_version": lambda self, pod: object()}))
    said = f"depends_on = {plugin.depends_on.name} is not true: the answer depends on other nodes, too"
    claims.append((said, _depending(plugin, DependsOn.ANYTHING)))
    return claims


def _depending(plugin: type[Plugin], depends_on: DependsOn) -> dict[str, Any]:
    changes: dict[str, Any] = {"depends_on": depends_on}
    if issubclass(plugin, ScorePlugin) and plugin.score_depends_on is not None:
        changes["score_depends_on"] = depends_on
    return changes
