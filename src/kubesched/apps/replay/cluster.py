"""The cluster around a replayed scheduler: it keeps what the scheduler writes, and plays the controllers' small parts.

A node that is deleted, or gets a NoExecute taint that a pod does not tolerate, loses its pods; a pod that is gone gives
back the claims that were reserved for it, and those that were made for it alone go with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.objects import Node, Pod, ResourceClaim
from kubesched.objects.dra import ResourceClaimStatus
from kubesched.objects.tolerations import tolerates_taint
from kubesched.scheduler.framework import ObjectStores
from kubesched.traces import Change, ChangeType


class ReplayedCluster(MemoryApi):
    """An `ApiWriter` and an `EventRecorder` that report bindings and preemptions by the pods' uids."""

    def __init__(self) -> None:
        super().__init__()
        self.bound: Callable[[str, str], None] = lambda uid, node: None
        self.preempted: Callable[[str], None] = lambda uid: None
        self.messages: dict[str, str] = {}
        """Why a pod does not fit, as last said, by uid."""
        self.preemptors: dict[str, Any] = {}
        """The pod or the group for which a pod was preempted, by the victim's uid."""
        self.image_hits = [0, 0]
        """Containers whose image was on the node when their pod was bound; and all of them."""
        self._stores = ObjectStores()
        self._pods: dict[str, tuple[str, str]] = {}  # name and namespace, by uid
        self._on_node: dict[str, dict[str, None]] = {}  # uids, in the order of their coming

    def connect(self, objects: ObjectStores, handlers: Any) -> None:
        super().connect(objects, handlers)
        self._stores = objects
        add, update, delete = handlers.add, handlers.update, handlers.delete

        def updated(old: Any, new: Any) -> None:
            if isinstance(new, Pod) and new.spec.node_name and not old.spec.node_name:
                self._file(new)
            update(old, new)

        self.added, self.updated, self.deleted = add, updated, delete

    # The scheduler's writes.

    async def bind(self, pod: Pod, node_name: str) -> None:
        await super().bind(pod, node_name)
        self._count_images(pod, node_name)
        self.bound(pod.metadata.uid, node_name)

    async def delete_pod(self, pod: Pod) -> None:
        self.preempted(pod.metadata.uid)

    def event(self, regarding: Any, event_type: str, reason: str, action: str, note: str, **more: Any) -> None:
        if reason == "FailedScheduling":
            self.messages[regarding.metadata.uid] = note
        elif reason == "Preempted" and more.get("related") is not None:
            self.preemptors[regarding.metadata.uid] = more["related"]

    # What happens by itself.

    def pod(self, uid: str) -> Pod | None:
        """The pod with this uid, if it is there."""
        pod = self._stores.of(Pod).get(*self._pods.get(uid, ("", "")))
        return pod if pod is not None and pod.metadata.uid == uid else None

    def place(self, pod: Pod, node_name: str) -> None:
        """Another scheduler bound this pod."""
        self.updated(pod, replace(_unversioned(pod), spec=replace(pod.spec, node_name=node_name)))

    def remove(self, uid: str) -> None:
        """The pod is gone, and gives back its claims."""
        pod = self.pod(uid)
        if pod is None:
            return
        self._on_node.get(pod.spec.node_name, {}).pop(uid, None)
        self._pods.pop(uid, None)
        self.deleted(pod)
        for name in _claim_names(pod):
            claim = self._stores.of(ResourceClaim).get(name, pod.metadata.namespace)
            if claim is None:
                continue
            if any(owner.uid == uid for owner in claim.metadata.owner_references):
                self.deleted(claim)
            elif any(consumer.uid == uid for consumer in claim.status.reserved_for):
                self.updated(claim, replace(_unversioned(claim), status=_without(claim.status, uid)))

    def change_pod(self, pod: Pod) -> None:
        """Its users changed it; where it is, and what its scheduler said of it, stays."""
        current = self.pod(pod.metadata.uid)
        if current is None:
            return
        spec = replace(pod.spec, node_name=current.spec.node_name)
        status = replace(current.status, resource_claim_statuses=pod.status.resource_claim_statuses)
        self.updated(current, replace(_unversioned(pod), spec=spec, status=status))

    def apply(self, change: Change) -> list[str]:
        """Take up a change of anything but a pod. Returns the uids of the pods that it costs their node."""
        obj = change.object
        current = self._stores.of(type(obj)).get(obj.metadata.name, obj.metadata.namespace)
        if change.type is ChangeType.DELETED:
            if current is not None and not _follows_its_pod(obj):
                self.deleted(current)
            return list(self._on_node.get(obj.metadata.name, ())) if isinstance(obj, Node) else []
        if current is None:
            self.added(obj)
        else:
            status = {"status": current.status} if isinstance(obj, ResourceClaim) else {}
            self.updated(current, replace(_unversioned(obj), **status))
        return self._not_tolerating(obj) if isinstance(obj, Node) else []

    def _not_tolerating(self, node: Node) -> list[str]:
        taints = [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
        if not taints:
            return []
        pods = [(uid, self.pod(uid)) for uid in self._on_node.get(node.metadata.name, ())]
        return [
            uid
            for uid, pod in pods
            if pod is not None
            and not all(any(tolerates_taint(t, taint) for t in pod.spec.tolerations) for taint in taints)
        ]

    def know(self, pod: Pod) -> None:
        """A pod arrives."""
        self._pods[pod.metadata.uid] = (pod.metadata.name, pod.metadata.namespace)
        if pod.spec.node_name:
            self._file(pod)

    def _file(self, pod: Pod) -> None:
        self._on_node.setdefault(pod.spec.node_name, {})[pod.metadata.uid] = None

    def _count_images(self, pod: Pod, node_name: str) -> None:
        node = self._stores.of(Node).get(node_name, "")
        present = {name for image in node.status.images for name in image.names} if node is not None else set()
        images = [container.image for container in pod.spec.containers]
        self.image_hits[0] += sum(image in present for image in images)
        self.image_hits[1] += len(images)


def _claim_names(pod: Pod) -> list[str]:
    made = [status.resource_claim_name or "" for status in pod.status.resource_claim_statuses]
    return [*made, *(claim.resource_claim_name or "" for claim in pod.spec.resource_claims)]


def _follows_its_pod(obj: Any) -> bool:
    """A claim that was made for one pod lives as long as the pod: in a replay, longer or shorter than recorded."""
    return isinstance(obj, ResourceClaim) and any(owner.kind == "Pod" for owner in obj.metadata.owner_references)


def _without(status: ResourceClaimStatus, uid: str) -> ResourceClaimStatus:
    left = tuple(consumer for consumer in status.reserved_for if consumer.uid != uid)
    return replace(status, reserved_for=left) if left else ResourceClaimStatus()


def _unversioned(obj: Any) -> Any:
    """To the scheduler, an equal version means that nothing has changed."""
    return replace(obj, metadata=replace(obj.metadata, resource_version=""))
