"""Resource claims of pod groups: made from the templates that a group names, for all of its pods together."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.resource_claims import ClaimMaker, Owner, told
from kubesched.cluster.controllers.resource_claims import tell as tell_claims
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import ClaimRecord, WorkloadRecord, controller_uid
from kubesched.errors import RequestRefusedError
from kubesched.objects import PodGroup
from kubesched.objects.scheduling import PodGroupResourceClaim

NAME: Final = "pod-group-claims"
KIND: Final = "PodGroup"


class PodGroupClaimController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._resource = context.pod_groups.resource
        self._events = EventWriter(context.api, "resource_claim")
        self._maker = ClaimMaker(context)
        context.pod_groups.listen(self._group_changed)
        context.claim_templates.listen(self._template_changed)
        context.resource_claims.listen(self._claim_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        group = self._context.pod_groups.get(name, namespace)
        if group is None or group.metadata.deletion_timestamp is not None:
            return
        owner = Owner(api_version=self._resource.api_version, kind=KIND, metadata=group.metadata)
        made = {}
        for entry in group.spec.resource_claims:
            if entry.resource_claim_template_name is None or self._has_claim(group, entry):
                continue
            try:
                made[entry.name] = self._maker.find_or_make(owner, entry)
            except RequestRefusedError as refusal:
                self._tell(group, f"PodGroupResourceClaim {entry.name}: {refusal.message}")
                raise
        if made:
            self._context.set_status(self._resource, group.metadata, tell_claims(made))

    def _has_claim(self, group: PodGroup, entry: PodGroupResourceClaim) -> bool:
        status = told(entry, group.status.resource_claim_statuses)
        if status is None or status.resource_claim_name is None:
            return status is not None
        claim = self._context.resource_claims.get(status.resource_claim_name, group.metadata.namespace)
        return claim is not None and controller_uid(claim.metadata) == group.metadata.uid

    def _tell(self, group: PodGroup, message: str) -> None:
        version = self._resource.api_version
        self._events.warning(KIND, group.metadata, "FailedResourceClaimCreation", message, api_version=version)

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if new is not None and new.spec.resource_claims:
            self._context.enqueue(NAME, new.metadata)

    def _template_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        for group in self._context.pod_groups.in_namespace(new.metadata.namespace) if new is not None else ():
            self._group_changed(None, group)

    def _claim_changed(self, old: ClaimRecord | None, new: ClaimRecord | None) -> None:
        owner = old.metadata.controller_of if old is not None and new is None else None
        if old is not None and owner is not None and owner.kind == KIND:
            group = self._context.pod_groups.get(owner.name, old.metadata.namespace)
            self._group_changed(None, group)
