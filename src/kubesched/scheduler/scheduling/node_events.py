"""What an update of a node amounts to, as cluster events (NodeSchedulingPropertiesChange)."""

from __future__ import annotations

from kubesched.objects import Node
from kubesched.scheduler.framework import Action, ClusterEvent, Resource


def node_events(old: Node, new: Node) -> tuple[ClusterEvent, ...]:
    """The changes that scheduling knows a name for; a heartbeat gives none."""
    uncordoned = old.spec.unschedulable and not new.spec.unschedulable
    changes = (
        (Action.UPDATE_NODE_TAINT, uncordoned),
        (Action.UPDATE_NODE_ALLOCATABLE, old.status.allocatable != new.status.allocatable),
        (Action.UPDATE_NODE_LABEL, old.metadata.labels != new.metadata.labels),
        (Action.UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
        (Action.UPDATE_NODE_CONDITION, _conditions(old) != _conditions(new)),
        (Action.UPDATE_NODE_ANNOTATION, old.metadata.annotations != new.metadata.annotations),
        (Action.UPDATE_NODE_DECLARED_FEATURE, old.status.declared_features != new.status.declared_features),
    )
    return tuple(ClusterEvent(Resource.NODE, action) for action, happened in changes if happened)


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
