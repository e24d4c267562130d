"""Nominated pods: pending, but with a claim on a node, since preemption made room there for them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubesched.objects import Pod
from kubesched.scheduler.columns import Journal, PodInfo
from kubesched.scheduler.framework import NominatingInfo, NominatingMode, Nomination, ObjectStore


class PodNominator:
    """Implements `kubesched.scheduler.framework.Nominator`.

    It may know better than a pod's status: the claim is written here before the API server has heard of it.
    """

    def __init__(self, pods: ObjectStore[Pod] | None = None) -> None:
        """`pods` is what the informer knows: a pod that is gone or bound is not nominated. None: all are pending."""
        self._pods = pods
        self._on_node: dict[str, dict[str, PodInfo]] = {}
        self.claims: dict[str, Nomination] = {}
        self.changes: Journal[str] = Journal()

    def add(self, pod: PodInfo, nominating: NominatingInfo | None) -> None:
        """Nominate the pod as told; with nothing told (None or NOOP), as its status says. Replaces what was known."""
        self._forget(pod.uid)
        node_name = pod.pod.status.nominated_node_name
        if nominating is not None and nominating.mode is NominatingMode.OVERRIDE:
            node_name = nominating.node_name
        if node_name and self._is_pending(pod.pod):
            self.claims[pod.uid] = Nomination(node_name, pod)
            self.changes.append(pod.uid)
            self._on_node.setdefault(node_name, {})[pod.uid] = pod

    def update(self, old: Pod, new: PodInfo) -> None:
        """Follow a change of the pod.

        A claim that neither the old nor the new status mentions was made here and stays: the update was on its way
        before the API server heard of the claim (UpdateNominatedPod).
        """
        nominating = None
        if not old.status.nominated_node_name and not new.pod.status.nominated_node_name:
            known = self.claims.get(old.metadata.uid)
            nominating = NominatingInfo(known.node_name) if known is not None else None
        self._forget(old.metadata.uid)
        self.add(new, nominating)

    def remove(self, pod: Pod) -> None:
        if self.claims:
            self._forget(pod.metadata.uid)

    def on_node(self, node_name: str) -> Sequence[PodInfo]:
        """The pods nominated to a node, in order of nomination."""
        pods = self._on_node.get(node_name)
        return tuple(pods.values()) if pods else ()

    def node_names(self) -> Collection[str]:
        return self._on_node.keys()

    def _forget(self, uid: str) -> None:
        claim = self.claims.pop(uid, None)
        if claim is not None:
            self.changes.append(uid)
            pods = self._on_node[claim.node_name]
            del pods[uid]
            if not pods:
                del self._on_node[claim.node_name]

    def _is_pending(self, pod: Pod) -> bool:
        if self._pods is None:
            return True
        current = self._pods.get(pod.metadata.name, pod.metadata.namespace)
        return current is not None and not current.spec.node_name
