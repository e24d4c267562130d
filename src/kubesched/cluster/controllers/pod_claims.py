"""Resource claims of pods: made from the templates that a pod names, and told to its status.

The scheduler gives a claim its devices and reserves it for the pod. `resource_claim_release` takes both back.
"""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.resource_claims import (
    ClaimMaker,
    Owner,
    PodsByName,
    claim_name,
    claim_names,
    tell,
    told,
)
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import ClaimRecord, PodRecord, WorkloadRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects import PodGroup
from kubesched.objects.base import Json
from kubesched.objects.pod import PodResourceClaim

NAME: Final = "pod-claims"
GROUP_API: Final = "scheduling.k8s.io"


class PodClaimController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "resource_claim")
        self._maker = ClaimMaker(context)
        self._users = PodsByName(_claims_of)
        self._by_template = PodsByName(_templates_of)
        self._members = PodsByName(_groups_of)
        context.pods.listen(self._pod_changed)
        context.claim_templates.listen(self._template_changed)
        context.resource_claims.listen(self._claim_changed)
        context.pod_groups.listen(self._group_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        pod = self._context.pods.get(name, namespace)
        if pod is None or not pod.is_active:
            return  # one that has ended gets nothing: v1.36.4 goes on reserving for it (issue 141274)
        group = self._context.pod_groups.get(_group_name(pod), namespace)
        if group is None and _group_name(pod):
            return  # it will say which claims are its own
        made = {}
        for entry in pod.spec.resource_claims:
            try:
                claim = self._settle(pod, group, entry)
            except RequestRefusedError as refusal:
                message = f"PodResourceClaim {entry.name}: {refusal.message}"
                self._events.warning("Pod", pod.metadata, "FailedResourceClaimCreation", message)
                raise
            if claim:
                made[entry.name] = claim
        if made:
            self._context.set_status(self._context.pods.resource, pod.metadata, tell(made))
        if pod.spec.node_name:
            self._reserve(pod, group)

    def _settle(self, pod: PodRecord, group: PodGroup | None, entry: PodResourceClaim) -> str:
        """The name of the claim for an entry if the pod's status must be told; else empty (`handleClaim`)."""
        if entry.resource_claim_template_name is None:
            return ""
        status = told(entry, pod.status.resource_claim_statuses)
        if status is not None:
            name = status.resource_claim_name
            claim = self._context.resource_claims.get(name, pod.metadata.namespace) if name is not None else None
            if name is None or (claim is not None and _is_for(claim, pod)):
                return ""
        if group is not None and _is_of_group(entry, group):
            found = self._maker.find(group.metadata, entry)
            return found.metadata.name if found is not None else ""
        return self._maker.find_or_make(Owner(api_version="v1", kind="Pod", metadata=pod.metadata), entry)

    def _reserve(self, pod: PodRecord, group: PodGroup | None) -> None:
        """A pod that came to its node without the scheduler may use claims that have devices already."""
        for entry in pod.spec.resource_claims:
            name = claim_name(entry, pod.status.resource_claim_statuses) or ""
            claim = self._context.resource_claims.get(name, pod.metadata.namespace)
            if claim is None or claim.status.allocation is None or _is_reserved_for(claim, pod):
                continue
            if entry.resource_claim_template_name is not None and not _is_for(claim, pod):
                continue
            consumer = {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
            if group is not None and _is_of_group(entry, group):
                consumer = {"apiGroup": GROUP_API, "resource": "podgroups"}
                consumer |= {"name": group.metadata.name, "uid": group.metadata.uid}
            self._add_consumer(claim, consumer)

    def _add_consumer(self, claim: ClaimRecord, consumer: Json) -> None:
        def reserve(status: Json) -> None:
            consumers = status.setdefault("reservedFor", [])
            if consumer not in consumers:  # another pod of the group may have done it a moment ago
                consumers.append(consumer)

        self._context.set_status(self._context.resource_claims.resource, claim.metadata, reserve)

    # ---- following ------------------------------------------------------------------------------------------------

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if not any(pod.spec.resource_claims for pod in (old, new) if pod is not None):
            return  # almost all pods
        for index in (self._users, self._by_template, self._members):
            index.update(old, new)
        if new is not None:
            self._context.enqueue(NAME, new.metadata)

    def _template_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if new is not None:
            for pod in self._by_template.get(new.metadata.namespace, new.metadata.name):
                self._context.enqueue(NAME, pod)

    def _claim_changed(self, old: ClaimRecord | None, new: ClaimRecord | None) -> None:
        """Who uses it wants it back when it is gone, and reserved when it has devices."""
        claim = new or old
        assert claim is not None
        if old is None or new is None or (old.status.allocation is None and new.status.allocation is not None):
            for pod in self._users.get(claim.metadata.namespace, claim.metadata.name):
                self._context.enqueue(NAME, pod)

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if new is not None:
            for pod in self._members.get(new.metadata.namespace, new.metadata.name):
                self._context.enqueue(NAME, pod)


def _claims_of(pod: PodRecord) -> list[str]:
    return claim_names(pod.spec.resource_claims, pod.status.resource_claim_statuses)


def _templates_of(pod: PodRecord) -> list[str]:
    return [
        entry.resource_claim_template_name
        for entry in pod.spec.resource_claims
        if entry.resource_claim_template_name is not None
    ]


def _groups_of(pod: PodRecord) -> list[str]:
    return [name] if (name := _group_name(pod)) else []


def _group_name(pod: PodRecord) -> str:
    group = pod.spec.scheduling_group
    return group.pod_group_name if group is not None else ""


def _is_of_group(entry: PodResourceClaim, group: PodGroup) -> bool:
    """A claim that pod and group both name, in the same words, is the group's (`BindTo`)."""
    return any(
        (item.name, item.resource_claim_name, item.resource_claim_template_name)
        == (entry.name, entry.resource_claim_name, entry.resource_claim_template_name)
        for item in group.spec.resource_claims
    )


def _is_for(claim: ClaimRecord, pod: PodRecord) -> bool:
    """The claim was made for this pod or, going by the name, for its group (`IsForPod`)."""
    owner = claim.metadata.controller_of
    if owner is None or owner.uid == pod.metadata.uid:
        return owner is not None
    is_group = owner.kind == "PodGroup" and owner.api_version.startswith(f"{GROUP_API}/")
    return is_group and owner.name == _group_name(pod)


def _is_reserved_for(claim: ClaimRecord, pod: PodRecord) -> bool:
    group = _group_name(pod)
    return any(
        consumer.uid == pod.metadata.uid
        or (consumer.api_group, consumer.resource, consumer.name) == (GROUP_API, "podgroups", group)
        for consumer in claim.status.reserved_for
    )
