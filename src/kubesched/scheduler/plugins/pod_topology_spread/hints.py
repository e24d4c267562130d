"""Which events may help a pod that PodTopologySpread rejected."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import PodInfo, PodTemplate
from kubesched.scheduler.columns.label_tags import LabelTag, label_tags
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource, Tags
from kubesched.scheduler.plugins.pod_topology_spread.constraints import HARD, Constraint, Constraints


class Hints:
    """Hint functions over the constraints that a pod has now. A constraint that does not compile raises: QUEUE."""

    def __init__(self, constraints: Constraints) -> None:
        self._constraints = constraints

    def events(self) -> Sequence[EventHint]:
        node_actions = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            EventHint(
                ClusterEvent(Resource.POD, Action.ADD | Action.DELETE),
                self.after_pod_added_or_deleted,
                per_template=True,
                tags=Tags(self._labels_counted, _labels_of),
            ),
            EventHint(
                ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION),
                self.after_pod_updated,
            ),
            EventHint(ClusterEvent(Resource.NODE, node_actions), self.after_node_changed, per_template=True),
        )

    def after_pod_added_or_deleted(self, rejected: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        """A pod that a constraint counts came or went."""
        changed = new or old
        assert changed is not None
        if not _is_counted_with(changed, rejected):
            return Hint.SKIP
        return _queue_if(any(c.selector.matches(changed.metadata.labels) for c in self._hard(rejected)))

    def after_pod_updated(self, rejected: PodInfo, old: Pod, new: Pod) -> Hint:
        """The rejected pod tolerates more, or labels changed so that a constraint counts a pod differently."""
        is_itself = rejected.uid == new.metadata.uid
        if not is_itself and not (_is_counted_with(new, rejected) and _is_counted_with(old, rejected)):
            return Hint.SKIP
        constraints = self._hard(rejected)
        if is_itself and new.spec.tolerations != old.spec.tolerations and any(c.honors_taints for c in constraints):
            return Hint.QUEUE
        before, after = old.metadata.labels, new.metadata.labels
        return _queue_if(any(c.selector.matches(before) != c.selector.matches(after) for c in constraints))

    def after_node_changed(self, rejected: PodInfo, old: Node | None, new: Node | None) -> Hint:
        """A node that takes part came, went, or changed its domain or its taints."""
        constraints = self._hard(rejected)
        took_part = old is not None and _carries_all(old.metadata.labels, constraints)
        takes_part = new is not None and _carries_all(new.metadata.labels, constraints)
        if took_part != takes_part:
            return Hint.QUEUE
        if old is None or new is None or not takes_part:
            return Hint.SKIP
        has_moved = any(_value(old, c.topology_key) != _value(new, c.topology_key) for c in constraints)
        return _queue_if(has_moved or old.spec.taints != new.spec.taints)

    def _labels_counted(self, rejected: PodTemplate) -> Collection[Hashable] | None:
        """Labels of which a pod has one if a constraint counts it; default constraints may change with the cluster."""
        if not rejected.spec.topology_spread_constraints:
            return None
        counted: list[LabelTag] = []
        for constraint in self._constraints.of(rejected, HARD):
            tags = label_tags(constraint.selector)
            if tags is None:
                return None
            counted += tags
        return counted

    def _hard(self, rejected: PodInfo) -> tuple[Constraint, ...]:
        return self._constraints.of(rejected.template, HARD)


def _labels_of(old: Pod | None, new: Pod | None) -> Collection[Hashable]:
    changed = new or old
    assert changed is not None
    return changed.metadata.labels.items()


def _is_counted_with(pod: Pod, rejected: PodInfo) -> bool:
    has_a_node = bool(pod.spec.node_name or pod.status.nominated_node_name)
    return has_a_node and pod.metadata.namespace == rejected.template.namespace


def _carries_all(labels: Mapping[str, str], constraints: Sequence[Constraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


def _value(node: Node, key: str) -> str:
    return node.metadata.labels.get(key, "")


def _queue_if(helps: bool) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP
