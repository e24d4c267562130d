"""Deployment: ReplicaSets, one per template, and the way from one to the next."""

from __future__ import annotations

import copy
import itertools
from typing import Final

from kubesched.cluster.controllers.amounts import scaled
from kubesched.cluster.controllers.deployment_rollout import Member, Sizes, Wish, grown, rescaled, rolled
from kubesched.cluster.controllers.deployment_status import (
    NO_DEADLINE,
    begin_rollout,
    is_complete,
    seconds_to_deadline,
    update_status,
)
from kubesched.cluster.controllers.membership import Membership
from kubesched.cluster.controllers.pod_making import template_hash
from kubesched.cluster.controllers.world import World
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.views import PodView, WorkloadView, controller_uid, owner_reference
from kubesched.objects.base import Json

NAME: Final = "deployment"
KIND: Final = "Deployment"
HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
LARGEST: Final = "deployment.kubernetes.io/max-replicas"
NOT_COPIED: Final = {REVISION, HISTORY, DESIRED, LARGEST, "kubectl.kubernetes.io/last-applied-configuration"}


class DeploymentController:
    def __init__(self, world: World) -> None:
        self._world = world
        self._events = EventWriter(world.api, "deployment-controller")
        self._resource = world.deployments.resource
        self._sets = world.replica_sets.resource
        self._membership = Membership(world, self._resource, world.owned_replica_sets)
        self._set_by_uid = world.replica_sets.index(lambda item: item.metadata.uid)
        self._by_uid = world.deployments.index(lambda item: item.metadata.uid)
        world.wake(NAME, world.deployments, world.replica_sets)
        world.pods.listen(self._pod_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        deployment = self._world.deployments.get(name, namespace)
        if deployment is None:
            return
        self._membership.settle(deployment)
        members = self._world.owned_replica_sets.of[deployment.metadata.uid]
        new = _of_template(deployment, members)
        old = [item for item in members if item is not new]
        if deployment.metadata.deletion_timestamp is None:
            wish, scaling = _wish(deployment), self._was_scaled(deployment, members)
            if new is None and self._may_create(deployment, old, scaling=scaling):
                self._create(deployment, wish, old)
                return  # its arrival brings us back
            if new is not None and not deployment.spec.get("paused"):
                self._stamp(deployment, new, old)
            self._resize(deployment, wish, members, self._next_sizes(deployment, wish, new, old, scaling=scaling))
        if is_complete(deployment, self._report(deployment, new, members)):
            self._forget_old(deployment, old)

    def _may_create(self, deployment: WorkloadView, old: list[WorkloadView], *, scaling: bool) -> bool:
        if deployment.spec.get("paused") or scaling:
            return False
        return not _recreates(deployment) or self._all_gone(old)

    def _next_sizes(
        self, deployment: WorkloadView, wish: Wish, new: WorkloadView | None, old: list[WorkloadView], *, scaling: bool
    ) -> Sizes:
        member, others = _member(new) if new is not None else None, [_member(item) for item in old]
        if deployment.spec.get("paused") or scaling:
            return rescaled(wish, member, others)
        if not _recreates(deployment):
            return rolled(wish, member, others) if member is not None else {}
        sizes = {item.name: 0 for item in others if item.replicas}
        if not sizes and member is not None and member.replicas != wish.replicas and self._all_gone(old):
            return {member.name: wish.replicas}
        return sizes

    def _all_gone(self, old: list[WorkloadView]) -> bool:
        """No pod of an older template is left, not even one on its way out."""
        pods = self._world.owned_pods
        return all(
            not item.spec.get("replicas") and all(pod.is_finished for pod in pods.of[item.metadata.uid]) for item in old
        )

    def _was_scaled(self, deployment: WorkloadView, members: list[WorkloadView]) -> bool:
        """The replicas were changed since the ReplicaSets were last sized (`isScalingEvent`)."""
        wanted = str(deployment.spec.get("replicas", 1))
        return any(
            item.spec.get("replicas") and item.metadata.annotations.get(DESIRED, wanted) != wanted for item in members
        )

    def _create(self, deployment: WorkloadView, wish: Wish, old: list[WorkloadView]) -> None:
        metadata, template = deployment.metadata, copy.deepcopy(deployment.spec["template"])
        name, short = self._free_name(deployment)
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[HASH_LABEL] = short
        selector = copy.deepcopy(deployment.spec["selector"])
        selector.setdefault("matchLabels", {})[HASH_LABEL] = short
        size = wish.replicas
        if not _recreates(deployment):
            size = grown(wish, 0, sum(item.spec.get("replicas", 0) for item in old))
        spec = {"replicas": size, "selector": selector, "template": template}
        if seconds := deployment.spec.get("minReadySeconds"):
            spec["minReadySeconds"] = seconds
        owner = owner_reference(self._resource.api_version, self._resource.kind, metadata)
        described = {
            "name": name,
            "labels": dict(labels),
            "annotations": _annotations(deployment, wish, _next_revision(old)),
            "ownerReferences": [owner],
        }
        self._world.api.create(self._sets, {"metadata": described, "spec": spec}, metadata.namespace)
        if size:
            message = f"Scaled up replica set {name} from 0 to {size}"
            self._events.normal(KIND, metadata, "ScalingReplicaSet", message, api_version="apps/v1")
        if deployment.spec.get("progressDeadlineSeconds", NO_DEADLINE) != NO_DEADLINE:
            now = self._world.timestamp()
            self._world.set_status(self._resource, metadata, lambda status: begin_rollout(status, name, now))

    def _free_name(self, deployment: WorkloadView) -> tuple[str, str]:
        """The name for the newest template's ReplicaSet, and the template's hash."""
        for salt in itertools.count():
            short = template_hash(deployment.spec["template"], salt)
            name = f"{deployment.metadata.name}-{short}"
            if self._world.replica_sets.get(name, deployment.metadata.namespace) is None:
                break
        return name, short

    def _stamp(self, deployment: WorkloadView, new: WorkloadView, old: list[WorkloadView]) -> None:
        """Keep the ReplicaSet's annotations and the Deployment's revision up to date (`getNewReplicaSet`)."""
        known = int(new.metadata.annotations.get(REVISION, "0"))
        revision = max(known, _next_revision(old))
        wanted = {key: value for key, value in deployment.metadata.annotations.items() if key not in NOT_COPIED}
        wanted[REVISION] = str(revision)
        if known and revision > known:  # a template that is back: remember that it was here before
            history = new.metadata.annotations.get(HISTORY, "")
            wanted[HISTORY] = f"{history},{known}".lstrip(",")
        settle = deployment.spec.get("minReadySeconds", 0)
        if not wanted.items() <= new.metadata.annotations.items() or new.spec.get("minReadySeconds", 0) != settle:

            def change(value: Json) -> None:
                value["metadata"].setdefault("annotations", {}).update(wanted)
                value["spec"]["minReadySeconds"] = settle

            self._world.change(self._sets, new.metadata, change)
        if deployment.metadata.annotations.get(REVISION) != str(revision):

            def set_revision(value: Json) -> None:
                value["metadata"].setdefault("annotations", {})[REVISION] = str(revision)

            # With the status: as a change of the object, it would be a generation that somebody asked for.
            self._world.change(self._resource, deployment.metadata, set_revision, subresource="status")

    def _resize(self, deployment: WorkloadView, wish: Wish, members: list[WorkloadView], sizes: Sizes) -> None:
        for item in members:
            size, before = sizes.get(item.metadata.name), item.spec.get("replicas", 0)
            annotations = _size_annotations(wish)
            stale = bool(before) and not annotations.items() <= item.metadata.annotations.items()
            if size is None and not stale:
                continue

            def change(value: Json, size: int | None = size, annotations: dict[str, str] = annotations) -> None:
                value["metadata"].setdefault("annotations", {}).update(annotations)
                if size is not None:
                    value["spec"]["replicas"] = size

            self._world.change(self._sets, item.metadata, change)
            if size is not None:
                way = "up" if size > before else "down"
                message = f"Scaled {way} replica set {item.metadata.name} from {before} to {size}"
                self._events.normal(KIND, deployment.metadata, "ScalingReplicaSet", message, api_version="apps/v1")

    def _forget_old(self, deployment: WorkloadView, old: list[WorkloadView]) -> None:
        """Keep as many old ReplicaSets as may be wanted back (`cleanupDeployment`)."""
        limit = deployment.spec.get("revisionHistoryLimit", 10)
        removable = [item for item in old if not item.spec.get("replicas") and not item.status.get("replicas")]
        removable.sort(key=lambda item: int(item.metadata.annotations.get(REVISION, "0")))
        for item in removable[: max(0, len(old) - limit)]:
            self._world.delete(self._sets, item.metadata)

    def _report(self, deployment: WorkloadView, new: WorkloadView | None, members: list[WorkloadView]) -> Json:
        """Write the status, and return it."""
        now, wish = self._world.timestamp(), _wish(deployment)
        written: Json = {}

        def change(status: Json) -> None:
            update_status(status, deployment, wish, new, members, now)
            written.update(status)

        self._world.set_status(self._resource, deployment.metadata, change)
        left = seconds_to_deadline(deployment, written, now)
        if left is not None:
            self._world.enqueue(NAME, deployment.metadata, after=left + 1.0)
        return written

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        """A Deployment that recreates waits for the very end of its old pods."""
        if old is None or new is not None:
            return
        for replica_set in self._set_by_uid[controller_uid(old.metadata)]:
            for deployment in self._by_uid[controller_uid(replica_set.metadata)]:
                if _recreates(deployment):
                    self._world.enqueue(NAME, deployment.metadata)


def _strategy(deployment: WorkloadView) -> Json:
    return deployment.spec.get("strategy") or {}


def _recreates(deployment: WorkloadView) -> bool:
    return _strategy(deployment).get("type") == "Recreate"


def _wish(deployment: WorkloadView) -> Wish:
    """`ResolveFenceposts`: a rollout that may neither add nor remove a pod may remove one."""
    replicas = deployment.spec.get("replicas", 1)
    if _recreates(deployment):
        return Wish(replicas=replicas, surge=0, unavailable=0)
    rolling = _strategy(deployment).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge"), replicas, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable"), replicas, round_up=False)
    if not surge and not unavailable:
        unavailable = 1
    return Wish(replicas=replicas, surge=surge, unavailable=min(unavailable, replicas))


def _of_template(deployment: WorkloadView, members: list[WorkloadView]) -> WorkloadView | None:
    """The ReplicaSet of the Deployment's template; of several the oldest (`FindNewReplicaSet`)."""
    wanted = _plain(deployment.spec["template"])
    found = [item for item in members if _plain(item.spec["template"]) == wanted]
    return min(found, key=lambda item: (_created(item), item.metadata.name), default=None)


def _plain(template: Json) -> Json:
    """The template without the label that tells ReplicaSets apart."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _member(item: WorkloadView) -> Member:
    return Member(
        name=item.metadata.name,
        replicas=item.spec.get("replicas", 0),
        available=item.status.get("availableReplicas", 0),
        created=_created(item),
        largest=int(item.metadata.annotations.get(LARGEST, "0")),
    )


def _created(item: WorkloadView) -> float:
    return item.metadata.creation_timestamp.timestamp() if item.metadata.creation_timestamp else 0.0


def _next_revision(old: list[WorkloadView]) -> int:
    return 1 + max((int(item.metadata.annotations.get(REVISION, "0")) for item in old), default=0)


def _annotations(deployment: WorkloadView, wish: Wish, revision: int) -> dict[str, str]:
    copied = {key: value for key, value in deployment.metadata.annotations.items() if key not in NOT_COPIED}
    return copied | _size_annotations(wish) | {REVISION: str(revision)}


def _size_annotations(wish: Wish) -> dict[str, str]:
    return {DESIRED: str(wish.replicas), LARGEST: str(wish.replicas + wish.surge)}
