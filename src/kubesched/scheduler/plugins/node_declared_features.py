"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes only to nodes that declare it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from kubesched.objects import Node, Pod
from kubesched.objects.pod import PodSpec
from kubesched.scheduler.columns import NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PreFilterPlugin,
    Reason,
    Resource,
    Status,
    Verdict,
)
from kubesched.scheduler.plugins.support.per_template import PerTemplate

NAME: Final = "NodeDeclaredFeatures"
MISSING: Final = Reason.unresolvable("node(s) didn't match Pod's required features")

RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_ON_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"


def required_features(spec: PodSpec) -> frozenset[str]:
    """The declared features without which a pod cannot run (InferForPodScheduling of Kubernetes 1.36)."""
    features = set()
    rules = [rule for container in (*spec.containers, *spec.init_containers) for rule in container.restart_policy_rules]
    if rules and any(rule.action == "RestartAllContainers" for rule in rules):
        features.add(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        features.add(USER_NAMESPACES_ON_HOST_NETWORK)
    return frozenset(features)


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin):
    """Rejects nodes that do not declare every feature that the pod's spec makes use of."""

    name = NAME
    depends_on = DependsOn.NODE

    def __init__(self, args: None, handle: Handle) -> None:
        self._is_enabled = handle.gates.enabled("NodeDeclaredFeatures")
        self._required = PerTemplate(lambda pod: required_features(pod.spec))

    def signature(self, pod: PodTemplate) -> Hashable:
        return self._required.of(pod)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS if self._is_enabled and self._required.of(pod.template) else SKIP

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        if not self._is_enabled:
            return Verdict.fits(nodes)
        required = self._required.of(pod)
        lacks_some = nodes.by_feature_set(lambda declared: not required <= declared) != 0
        return Verdict.rejects(nodes, where=lacks_some, reason=MISSING)

    def events_to_register(self) -> Sequence[EventHint]:
        if not self._is_enabled:
            return ()
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE)
        return (
            EventHint(node, _declares_anew, per_template=True),
            EventHint(ClusterEvent(Resource.POD, Action.UPDATE), _requires_anew),
        )


def _declares_anew(pod: PodInfo, old: Node | None, new: Node) -> Hint:
    is_same = old is not None and old.status.declared_features == new.status.declared_features
    return Hint.SKIP if is_same else Hint.QUEUE


def _requires_anew(pod: PodInfo, old: Pod, new: Pod) -> Hint:
    if new.metadata.uid != pod.uid:
        return Hint.SKIP
    return Hint.SKIP if required_features(old.spec) == required_features(new.spec) else Hint.QUEUE
