"""Deployment: ReplicaSets, one per template, and the way from one to the next."""

from __future__ import annotations

import copy
import itertools
from typing import Final

from kubesched.cluster.controllers.amounts import scaled
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.controller_refs import ControllerRefs
from kubesched.cluster.controllers.deployment_rollout import (
    RolloutMember,
    RolloutTarget,
    Sizes,
    grown,
    rescaled,
    rolled,
)
from kubesched.cluster.controllers.deployment_status import (
    NO_DEADLINE,
    begin_rollout,
    is_complete,
    seconds_to_deadline,
    update_status,
)
from kubesched.cluster.controllers.pod_making import template_hash
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import PodRecord, WorkloadRecord, controller_uid, owner_reference
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
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "deployment-controller")
        self._resource = context.deployments.resource
        self._sets = context.replica_sets.resource
        self._controller_refs = ControllerRefs(context, self._resource, context.owned_replica_sets)
        self._set_by_uid = context.replica_sets.index(lambda item: item.metadata.uid)
        self._by_uid = context.deployments.index(lambda item: item.metadata.uid)
        context.wake(NAME, context.deployments, context.replica_sets)
        context.pods.listen(self._pod_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        deployment = self._context.deployments.get(name, namespace)
        if deployment is None:
            return
        self._controller_refs.settle(deployment)
        members = self._context.owned_replica_sets.of[deployment.metadata.uid]
        new = _of_template(deployment, members)
        old = [item for item in members if item is not new]
        if deployment.metadata.deletion_timestamp is None:
            target, scaling = _rollout_target(deployment), self._was_scaled(deployment, members)
            if new is None and self._may_create(deployment, old, scaling=scaling):
                self._create(deployment, target, old)
                return  # its arrival brings us back
            if new is not None and not deployment.spec.get("paused"):
                self._stamp(deployment, new, old)
            self._resize(deployment, target, members, self._next_sizes(deployment, target, new, old, scaling=scaling))
        if is_complete(deployment, self._report(deployment, new, members)):
            self._forget_old(deployment, old)

    def _may_create(self, deployment: WorkloadRecord, old: list[WorkloadRecord], *, scaling: bool) -> bool:
        if deployment.spec.get("paused") or scaling:
            return False
        return not _recreates(deployment) or self._all_gone(old)

    def _next_sizes(
        self,
        deployment: WorkloadRecord,
        target: RolloutTarget,
        new: WorkloadRecord | None,
        old: list[WorkloadRecord],
        *,
        scaling: bool,
    ) -> Sizes:
        member, others = _member(new) if new is not None else None, [_member(item) for item in old]
        if deployment.spec.get("paused") or scaling:
            return rescaled(target, member, others)
        if not _recreates(deployment):
            return rolled(target, member, others) if member is not None else {}
        sizes = {item.name: 0 for item in others if item.replicas}
        if not sizes and member is not None and member.replicas != target.replicas and self._all_gone(old):
            return {member.name: target.replicas}
        return sizes

    def _all_gone(self, old: list[WorkloadRecord]) -> bool:
        """No pod of an older template is left, not even one on its way out."""
        pods = self._context.owned_pods
        return all(
            not item.spec.get("replicas") and all(pod.is_finished for pod in pods.of[item.metadata.uid]) for item in old
        )

    def _was_scaled(self, deployment: WorkloadRecord, members: list[WorkloadRecord]) -> bool:
        """The replicas were changed since the ReplicaSets were last sized (`isScalingEvent`)."""
        wanted = str(deployment.spec.get("replicas", 1))
        return any(
            item.spec.get("replicas") and item.metadata.annotations.get(DESIRED, wanted) != wanted for item in members
        )

    def _create(self, deployment: WorkloadRecord, target: RolloutTarget, old: list[WorkloadRecord]) -> None:
        metadata, template = deployment.metadata, copy.deepcopy(deployment.spec["template"])
        name, short = self._free_name(deployment)
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[HASH_LABEL] = short
        selector = copy.deepcopy(deployment.spec["selector"])
        selector.setdefault("matchLabels", {})[HASH_LABEL] = short
        size = target.replicas
        if not _recreates(deployment):
            size = grown(target, 0, sum(item.spec.get("replicas", 0) for item in old))
        spec = {"replicas": size, "selector": selector, "template": template}
        if seconds := deployment.spec.get("minReadySeconds"):
            spec["minReadySeconds"] = seconds
        owner = owner_reference(self._resource.api_version, self._resource.kind, metadata)
        described = {
            "name": name,
            "labels": dict(labels),
            "annotations": _annotations(deployment, target, _next_revision(old)),
            "ownerReferences": [owner],
        }
        self._context.api.create(self._sets, {"metadata": described, "spec": spec}, metadata.namespace)
        if size:
            message = f"Scaled up replica set {name} from 0 to {size}"
            self._events.normal(KIND, metadata, "ScalingReplicaSet", message, api_version="apps/v1")
        if deployment.spec.get("progressDeadlineSeconds", NO_DEADLINE) != NO_DEADLINE:
            now = self._context.timestamp()
            self._context.set_status(self._resource, metadata, lambda status: begin_rollout(status, name, now))

    def _free_name(self, deployment: WorkloadRecord) -> tuple[str, str]:
        """The name for the newest template's ReplicaSet, and the template's hash."""
        for salt in itertools.count():
            short = template_hash(deployment.spec["template"], salt)
            name = f"{deployment.metadata.name}-{short}"
            if self._context.replica_sets.get(name, deployment.metadata.namespace) is None:
                break
        return name, short

    def _stamp(self, deployment: WorkloadRecord, new: WorkloadRecord, old: list[WorkloadRecord]) -> None:
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

            self._context.change(self._sets, new.metadata, change)
        if deployment.metadata.annotations.get(REVISION) != str(revision):

            def set_revision(value: Json) -> None:
                value["metadata"].setdefault("annotations", {})[REVISION] = str(revision)

            # With the status: as a change of the object, it would be a generation that somebody asked for.
            self._context.change(self._resource, deployment.metadata, set_revision, subresource="status")

    def _resize(
        self, deployment: WorkloadRecord, target: RolloutTarget, members: list[WorkloadRecord], sizes: Sizes
    ) -> None:
        for item in members:
            size, before = sizes.get(item.metadata.name), item.spec.get("replicas", 0)
            annotations = _size_annotations(target)
            stale = bool(before) and not annotations.items() <= item.metadata.annotations.items()
            if size is None and not stale:
                continue

            def change(value: Json, size: int | None = size, annotations: dict[str, str] = annotations) -> None:
                value["metadata"].setdefault("annotations", {}).update(annotations)
                if size is not None:
                    value["spec"]["replicas"] = size

            self._context.change(self._sets, item.metadata, change)
            if size is not None:
                way = "up" if size > before else "down"
                message = f"Scaled {way} replica set {item.metadata.name} from {before} to {size}"
                self._events.normal(KIND, deployment.metadata, "ScalingReplicaSet", message, api_version="apps/v1")

    def _forget_old(self, deployment: WorkloadRecord, old: list[WorkloadRecord]) -> None:
        """Keep as many old ReplicaSets as may be wanted back (`cleanupDeployment`)."""
        limit = deployment.spec.get("revisionHistoryLimit", 10)
        removable = [item for item in old if not item.spec.get("replicas") and not item.status.get("replicas")]
        removable.sort(key=lambda item: int(item.metadata.annotations.get(REVISION, "0")))
        for item in removable[: max(0, len(old) - limit)]:
            self._context.delete(self._sets, item.metadata)

    def _report(self, deployment: WorkloadRecord, new: WorkloadRecord | None, members: list[WorkloadRecord]) -> Json:
        """Write the status, and return it."""
        now, target = self._context.timestamp(), _rollout_target(deployment)
        written: Json = {}

        def change(status: Json) -> None:
            update_status(status, deployment, target, new, members, now)
            written.update(status)

        self._context.set_status(self._resource, deployment.metadata, change)
        left = seconds_to_deadline(deployment, written, now)
        if left is not None:
            self._context.enqueue(NAME, deployment.metadata, after=left + 1.0)
        return written

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """A Deployment that recreates waits for the very end of its old pods."""
        if old is None or new is not None:
            return
        for replica_set in self._set_by_uid[controller_uid(old.metadata)]:
            for deployment in self._by_uid[controller_uid(replica_set.metadata)]:
                if _recreates(deployment):
                    self._context.enqueue(NAME, deployment.metadata)


def _strategy(deployment: WorkloadRecord) -> Json:
    return deployment.spec.get("strategy") or {}


def _recreates(deployment: WorkloadRecord) -> bool:
    return _strategy(deployment).get("type") == "Recreate"


def _rollout_target(deployment: WorkloadRecord) -> RolloutTarget:
    """`ResolveFenceposts`: a rollout that may neither add nor remove a pod may remove one."""
    replicas = deployment.spec.get("replicas", 1)
    if _recreates(deployment):
        return RolloutTarget(replicas=replicas, surge=0, unavailable=0)
    rolling = _strategy(deployment).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge"), replicas, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable"), replicas, round_up=False)
    if not surge and not unavailable:
        unavailable = 1
    return RolloutTarget(replicas=replicas, surge=surge, unavailable=min(unavailable, replicas))


def _of_template(deployment: WorkloadRecord, members: list[WorkloadRecord]) -> WorkloadRecord | None:
    """The ReplicaSet of the Deployment's template; of several the oldest (`FindNewReplicaSet`)."""
    wanted = _plain(deployment.spec["template"])
    found = [item for item in members if _plain(item.spec["template"]) == wanted]
    return min(found, key=lambda item: (_created(item), item.metadata.name), default=None)


def _plain(template: Json) -> Json:
    """The template without the label that tells ReplicaSets apart."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _member(item: WorkloadRecord) -> RolloutMember:
    return RolloutMember(
        name=item.metadata.name,
        replicas=item.spec.get("replicas", 0),
        available=item.status.get("availableReplicas", 0),
        created=_created(item),
        largest=int(item.metadata.annotations.get(LARGEST, "0")),
    )


def _created(item: WorkloadRecord) -> float:
    return item.metadata.creation_timestamp.timestamp() if item.metadata.creation_timestamp else 0.0


def _next_revision(old: list[WorkloadRecord]) -> int:
    return 1 + max((int(item.metadata.annotations.get(REVISION, "0")) for item in old), default=0)


def _annotations(deployment: WorkloadRecord, target: RolloutTarget, revision: int) -> dict[str, str]:
    copied = {key: value for key, value in deployment.metadata.annotations.items() if key not in NOT_COPIED}
    return copied | _size_annotations(target) | {REVISION: str(revision)}


def _size_annotations(target: RolloutTarget) -> dict[str, str]:
    return {DESIRED: str(target.replicas), LARGEST: str(target.replicas + target.surge)}
