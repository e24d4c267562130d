"""TaintToleration: taints keep pods away that do not tolerate them, strictly or by preference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

from msgspec.structs import replace

from kubesched.config.behaviours import NODE_CHECKS_PRE_FILTER
from kubesched.objects import Node, Pod
from kubesched.objects.affinity import Taint, Toleration
from kubesched.objects.pod import PodSpec
from kubesched.objects.tolerations import Tolerations
from kubesched.scheduler.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PodChange,
    PreFilterPlugin,
    PreScorePlugin,
    Reason,
    Resource,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.plugins.support.normalize import in_proportion

NAME: Final = "TaintToleration"
UNTOLERATED: Final = Reason.unresolvable("node(s) had untolerated taint(s)")

_STRICT_EFFECTS: Final = frozenset(("NoSchedule", "NoExecute"))
_PREFERENCE: Final = "PreferNoSchedule"
_NODE_STATE: Final = "node.kubernetes.io/"
"""Taints that say how a node is, not whom it is for."""
_MOST_PROPOSED: Final = 8


class TaintToleration(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Rejects nodes with an untolerated NoSchedule or NoExecute taint; the fewer PreferNoSchedule ones, the better."""

    name = NAME
    points_since: ClassVar = {"preFilter": NODE_CHECKS_PRE_FILTER}
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: None, handle: Handle) -> None:
        self._nodes = handle.cluster.nodes
        self._compares_numbers = handle.gates.enabled("TaintTolerationComparisonOperators")

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.spec.tolerations

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        return Verdict(nodes.by_taint_set(lambda taints: self._is_kept_away(pod, taints)), (UNTOLERATED,))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        """How many preferences against the pod the node has."""
        return nodes.by_taint_set(
            lambda taints: sum(taint.effect == _PREFERENCE and not self._tolerates(pod, taint) for taint in taints)
        )

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return in_proportion(scores, reverse=True)

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT),
                self._after_node_change,
                per_template=True,
            ),
            EventHint(ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION), _own_tolerations_changed),
        )

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        """Tolerate one taint of those that most nodes have. Taints about a node's state are left out: it may pass."""
        taints = Counter(
            Taint(key=taint.key, value=taint.value, effect=taint.effect)
            for _, node in self._nodes.existing()
            for taint in node.spec.taints
            if taint.effect in _STRICT_EFFECTS and not taint.key.startswith(_NODE_STATE)
        )
        tolerations = Tolerations(pod.spec.tolerations)
        untolerated = [
            taint
            for taint, _ in taints.most_common()
            if not tolerations.tolerate(taint, comparing=self._compares_numbers)
        ]
        for taint in untolerated[:_MOST_PROPOSED]:
            yield PodChange(f"tolerated {_shown(taint)}", partial(_tolerating, taint))

    def _is_kept_away(self, pod: PodTemplate, taints: tuple[Taint, ...]) -> bool:
        return any(taint.effect in _STRICT_EFFECTS and not self._tolerates(pod, taint) for taint in taints)

    def _tolerates(self, pod: PodTemplate, taint: Taint) -> bool:
        return pod.tolerations.tolerate(taint, comparing=self._compares_numbers)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> Hint:
        was_kept_away = old is None or self._is_kept_away(pod.template, old.spec.taints)
        is_kept_away = self._is_kept_away(pod.template, new.spec.taints)
        return Hint.QUEUE if was_kept_away and not is_kept_away else Hint.SKIP


def _tolerating(taint: Taint, spec: PodSpec) -> PodSpec:
    toleration = Toleration(key=taint.key, value=taint.value, effect=taint.effect)
    return replace(spec, tolerations=(*spec.tolerations, toleration))


def _shown(taint: Taint) -> str:
    """As kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _own_tolerations_changed(pod: PodInfo, old: Pod, new: Pod) -> Hint:
    return Hint.QUEUE if new.metadata.uid == pod.uid else Hint.SKIP
