"""Nominated pods: pending pods for which preemption made room on a node."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubesched.objects import Pod
from kubesched.scheduler.columns import Journal, PodInfo
from kubesched.scheduler.framework import NominatingInfo, NominatingMode, Nomination, ObjectStore


class PodNominator:
    """Implements `kubesched.scheduler.framework.Nominator`.

    It may know better than a pod's status: a nomination is recorded here before it is written to the API server.
    """

    def __init__(self, pods: ObjectStore[Pod] | None = None) -> None:
        """`pods` is what the informer knows: a pod that is gone or bound is not nominated. None: all are pending."""
        self._pods = pods
        self._on_node: dict[str, dict[str, PodInfo]] = {}
        self.nominations: dict[str, Nomination] = {}
        self.changes: Journal[str] = Journal()

    def add(self, pod: PodInfo, nominating: NominatingInfo | None) -> None:
        """Nominate the pod as `nominating` says, or, if that is None or NOOP, as its status does. Replaces what was."""
        self._forget(pod.uid)
        node_name = pod.pod.status.nominated_node_name
        if nominating is not None and nominating.mode is NominatingMode.OVERRIDE:
            node_name = nominating.node_name
        if node_name and self._is_pending(pod.pod):
            self.nominations[pod.uid] = Nomination(node_name, pod)
            self.changes.append(pod.uid)
            self._on_node.setdefault(node_name, {})[pod.uid] = pod

    def update(self, old: Pod, new: PodInfo) -> None:
        """Follow a change of the pod.

        A nomination that neither the old nor the new status mentions was made here and stays: the update was on its
        way before the nomination was written (UpdateNominatedPod).
        """
        nominating = None
        if not old.status.nominated_node_name and not new.pod.status.nominated_node_name:
            known = self.nominations.get(old.metadata.uid)
            nominating = NominatingInfo(known.node_name) if known is not None else None
        self._forget(old.metadata.uid)
        self.add(new, nominating)

    def remove(self, pod: Pod) -> None:
        if self.nominations:
            self._forget(pod.metadata.uid)

    def on_node(self, node_name: str) -> Sequence[PodInfo]:
        """The pods nominated to a node, in order of nomination."""
        pods = self._on_node.get(node_name)
        return tuple(pods.values()) if pods else ()

    def node_names(self) -> Collection[str]:
        return self._on_node.keys()

    def _forget(self, uid: str) -> None:
        nomination = self.nominations.pop(uid, None)
        if nomination is not None:
            self.changes.append(uid)
            pods = self._on_node[nomination.node_name]
            del pods[uid]
            if not pods:
                del self._on_node[nomination.node_name]

    def _is_pending(self, pod: Pod) -> bool:
        if self._pods is None:
            return True
        current = self._pods.get(pod.metadata.name, pod.metadata.namespace)
        return current is not None and not current.spec.node_name
