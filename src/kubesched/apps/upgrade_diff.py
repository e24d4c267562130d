"""Which pods another version of Kubernetes would place otherwise, and by which of its changes.

Every pod is decided in the same cluster, as if it were not placed yet, as both versions decide. Where they disagree,
each change between them (a gate with another default, a line of config/behaviours.py) is tried alone: those that
change the decision by themselves are its causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubesched.apps.explain.explanation import Explanation
from kubesched.apps.simulate.simulation import Simulation
from kubesched.apps.simulate.virtual_scheduler import Configuration
from kubesched.config.behaviours import BEHAVIOURS, Behaviour
from kubesched.config.feature_gates import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod


class Outcome(StrEnum):
    """What becomes of a pod that the versions decide differently."""

    MOVES = "other nodes are best"
    NO_LONGER = "no longer fits"
    NOW = "fits now"
    FAILS = "the attempt fails now"
    PREEMPTS = "preempts otherwise"
    WAITS = "is held back otherwise"


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two versions: `name` of a gate or behaviour, and what it is about."""

    name: str
    summary: str
    gate: bool | None = None
    """The value of the gate in the newer version; None for a behaviour."""
    behaviour: Behaviour | None = None

    def applied_to(self, gates: FeatureGates) -> FeatureGates:
        """The older version with this change alone."""
        if self.behaviour is not None:
            return gates.altered({}, [self.behaviour])
        return gates.altered({self.name: bool(self.gate)})


@dataclass(frozen=True, slots=True)
class PodDifference:
    pod: str
    node: str
    """Where it is now; empty if it waits."""
    outcome: Outcome
    before: tuple[str, ...]
    """The best nodes by the older version."""
    after: tuple[str, ...]
    reason: str
    """In the newer version's words, if it has no node for the pod."""
    causes: tuple[Change, ...]
    """The changes each of which makes a difference alone; empty if only several together do."""


@dataclass(frozen=True, slots=True)
class UpgradeDiff:
    old: str
    new: str
    decided: int
    """How many pods were compared."""
    differences: tuple[PodDifference, ...]


def upgrade_diff(
    objects: Sequence[Any],
    old: FeatureGates,
    new: FeatureGates,
    config: Configuration = None,
    progress: Callable[[str], None] = lambda pod: None,
) -> UpgradeDiff:
    """Compare what two versions decide about every pod of a cluster that is not over."""
    noting = _NotingGates(old)
    with _cluster(objects, noting, config) as before, _cluster(objects, new, config) as after:
        pods = [obj for obj in objects if isinstance(obj, Pod) and not obj.is_terminal]
        differing: list[tuple[Explanation, Explanation]] = []
        decided = 0
        for pod in pods:
            progress(pod.key)
            pair = _decided(before, pod.key), _decided(after, pod.key)
            if pair[0] is None or pair[1] is None:
                continue
            decided += 1
            if _decision(pair[0]) != _decision(pair[1]):
                differing.append((pair[0], pair[1]))
    changes = _changes(old, new, noting.asked) if differing else []
    causes = _causes(objects, old, config, changes, [explanation for explanation, _ in differing])
    found = tuple(_difference(one, other, causes[one.pod]) for one, other in differing)
    return UpgradeDiff(str(old.version), str(new.version), decided, found)


class _NotingGates(FeatureGates):
    """Notes which gates scheduling asks for: others make no difference to it."""

    def __init__(self, gates: FeatureGates) -> None:
        self.__dict__.update(gates.__dict__)
        self.asked: set[str] = set()

    def enabled(self, gate: str) -> bool:
        self.asked.add(gate)
        return super().enabled(gate)


def _cluster(objects: Sequence[Any], gates: FeatureGates, config: Configuration) -> Simulation:
    simulation = Simulation(config, feature_gates=gates)
    simulation.add(*objects)
    return simulation


def _decided(simulation: Simulation, pod: str) -> Explanation | None:
    """None for a pod of another scheduler, or one that is being deleted."""
    try:
        explanation = simulation.explain(pod)
    except ConfigurationError:
        return None
    return None if explanation.error == "it is being deleted" else explanation


def _decision(explanation: Explanation) -> tuple[object, ...]:
    """What matters about a decision: where the pod may go, and whom that costs. Not the words."""
    preemption = explanation.preemption
    acceptable = [(each.node, each.victims) for each in preemption.acceptable] if preemption is not None else []
    waits = explanation.pre_enqueue is not None
    return tuple(explanation.best_nodes), waits, bool(explanation.error), tuple(acceptable)


def _changes(old: FeatureGates, new: FeatureGates, asked: set[str]) -> list[Change]:
    """What differs between two versions, as far as scheduling looks at it."""
    gates = [
        Change(gate, f"the gate {gate} is {'on' if new.enabled(gate) else 'off'}", gate=new.enabled(gate))
        for gate in sorted(asked)
        if old.enabled(gate) != new.enabled(gate)
    ]
    lines = [
        Change(behaviour.name, behaviour.summary, behaviour=behaviour)
        for behaviour in BEHAVIOURS
        if old.follows(behaviour) != new.follows(behaviour)
    ]
    return [*gates, *lines]


def _causes(
    objects: Sequence[Any],
    old: FeatureGates,
    config: Configuration,
    changes: Sequence[Change],
    asked: Sequence[Explanation],
) -> dict[str, list[Change]]:
    """By pod: the changes that make a difference alone."""
    causes: dict[str, list[Change]] = {explanation.pod: [] for explanation in asked}
    for change in changes:
        with _cluster(objects, change.applied_to(old), config) as altered:
            for explanation in asked:
                decided = _decided(altered, explanation.pod)
                if decided is not None and _decision(decided) != _decision(explanation):
                    causes[explanation.pod].append(change)
    return causes


def _difference(before: Explanation, after: Explanation, causes: Sequence[Change]) -> PodDifference:
    reason = after.error or after.fit_error or (after.pre_enqueue.message if after.pre_enqueue is not None else "")
    return PodDifference(
        pod=after.pod,
        node=after.node,
        outcome=_outcome(before, after),
        before=tuple(before.best_nodes),
        after=tuple(after.best_nodes),
        reason=reason,
        causes=tuple(causes),
    )


def _outcome(before: Explanation, after: Explanation) -> Outcome:
    if after.error and not before.error:
        return Outcome.FAILS
    if (before.pre_enqueue is None) != (after.pre_enqueue is None):
        return Outcome.WAITS
    if not after.best_nodes and before.best_nodes:
        return Outcome.NO_LONGER
    if after.best_nodes and not before.best_nodes:
        return Outcome.NOW
    return Outcome.MOVES if after.best_nodes else Outcome.PREEMPTS


def as_text(diff: UpgradeDiff) -> str:
    """For people: a line per pod with its causes below, and a sum."""
    return "\n".join(_lines(diff))


def _lines(diff: UpgradeDiff) -> Iterator[str]:
    explained: dict[str, str] = {}
    for found in diff.differences:
        place = f" (on {found.node})" if found.node else ""
        yield f"{found.pod}{place}: {found.outcome}: {_nodes(found.before)} -> {_nodes(found.after)}"
        if found.reason:
            yield f"  {found.reason}"
        yield f"  by {', '.join(change.name for change in found.causes) or 'several changes together'}"
        explained |= {change.name: change.summary for change in found.causes}
    if explained:
        yield ""
        yield from (f"{name}: {summary}" for name, summary in explained.items())
        yield ""
    verb = "is" if len(diff.differences) == 1 else "are"
    yield f"{len(diff.differences)} of {diff.decided} pods {verb} decided otherwise by {diff.new} than by {diff.old}"


def _nodes(names: Sequence[str]) -> str:
    most = 3
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" if names else "none"


def as_data(diff: UpgradeDiff) -> dict[str, Any]:
    """For programs."""
    return {
        "from": diff.old,
        "to": diff.new,
        "pods": diff.decided,
        "differences": [
            {
                "pod": found.pod,
                "node": found.node or None,
                "outcome": found.outcome.name.lower(),
                "before": list(found.before),
                "after": list(found.after),
                "reason": found.reason or None,
                "causes": [{"name": change.name, "summary": change.summary} for change in found.causes],
            }
            for found in diff.differences
        ],
    }
