"""Resource claims that are made from templates: what the controllers of pods and of pod groups share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.records import ClaimRecord, PodRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import PodResourceClaim, PodResourceClaimStatus
from kubesched.objects.scheduling import PodGroupResourceClaim, PodGroupResourceClaimStatus

Entry: TypeAlias = PodResourceClaim | PodGroupResourceClaim
Told: TypeAlias = PodResourceClaimStatus | PodGroupResourceClaimStatus

MADE_FOR_ENTRY: Final = "resource.kubernetes.io/pod-claim-name"
LONGEST_BASE: Final = 57  # of a name with 63 characters, a hyphen and five random ones left out


def told(entry: Entry, statuses: Iterable[Told]) -> Told | None:
    """What the status of a pod or group says of an entry of its spec; None before a claim was made for it."""
    return next((status for status in statuses if status.name == entry.name), None)


def claim_name(entry: Entry, statuses: Iterable[Told]) -> str | None:
    """The claim behind an entry of a spec; None if none was made, or none is needed (`resourceclaim.Name`)."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    status = told(entry, statuses)
    return status.resource_claim_name if status is not None else None


def claim_names(entries: Iterable[Entry], statuses: tuple[Told, ...]) -> list[str]:
    return [name for entry in entries if (name := claim_name(entry, statuses)) is not None]


def tell(names: dict[str, str]) -> Callable[[Json], None]:
    """A change of a status: it names the claims that were made, by entry. Other entries stay as they are."""

    def change(status: Json) -> None:
        kept = [item for item in status.get("resourceClaimStatuses") or () if item.get("name") not in names]
        made = [{"name": entry, "resourceClaimName": name} for entry, name in names.items()]
        status["resourceClaimStatuses"] = kept + made

    return change


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """The pod or group that claims are made for."""

    api_version: str
    kind: str
    metadata: ObjectMeta


class ClaimMaker:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def find(self, owner: ObjectMeta, entry: Entry) -> ClaimRecord | None:
        """The claim that was made for this entry, also if its owner's status was never told."""
        for claim in self._context.resource_claims_of[owner.uid]:
            if claim.metadata.annotations.get(MADE_FOR_ENTRY) == entry.name:
                return claim
        return None

    def find_or_make(self, owner: Owner, entry: Entry) -> str:
        """The name of the claim for an entry that names a template. RequestRefusedError if there can be none now."""
        found = self.find(owner.metadata, entry)
        return found.metadata.name if found is not None else self._make(owner, entry)

    def _make(self, owner: Owner, entry: Entry) -> str:
        name, namespace = entry.resource_claim_template_name or "", owner.metadata.namespace
        template = self._context.claim_templates.get(name, namespace)
        if template is None:
            why = f'resource claim template "{name}": resourceclaimtemplate.resource.k8s.io "{name}" not found'
            raise RequestRefusedError(404, "NotFound", why)
        described = template.spec.get("metadata") or {}
        reference = {"apiVersion": owner.api_version, "kind": owner.kind, "controller": True}
        metadata: Json = {
            "generateName": name_base(owner.metadata.name, entry.name),
            "annotations": {**(described.get("annotations") or {}), MADE_FOR_ENTRY: entry.name},
            "ownerReferences": [{**reference, "name": owner.metadata.name, "uid": owner.metadata.uid}],
        }
        if labels := described.get("labels"):
            metadata["labels"] = dict(labels)
        claim = {"metadata": metadata, "spec": copy.deepcopy(template.spec.get("spec") or {})}
        try:
            return self._context.api.create(self._context.resource_claims.resource, claim, namespace).name
        except RequestRefusedError as refusal:  # the gap in the text is upstream's: the claim has no name yet
            raise RequestRefusedError(
                refusal.code, refusal.reason, f"create ResourceClaim : {refusal.message}"
            ) from refusal


def name_base(owner: str, entry: str) -> str:
    """What a claim's name begins with; of two long names, both are cut in proportion to their length."""
    base = f"{owner}-{entry}-"
    if len(base) <= LONGEST_BASE:
        return base
    return f"{owner[: len(owner) * LONGEST_BASE // len(base)]}-{entry[: len(entry) * LONGEST_BASE // len(base)]}"


class PodsByName:
    """Pods by names that they mention, any number each: their claims, their templates."""

    def __init__(self, names_of: Callable[[PodRecord], Iterable[str]]) -> None:
        self._names_of = names_of
        self._pods: dict[tuple[str, str], dict[str, ObjectMeta]] = {}  # by namespace and name, then by the pod's name

    def get(self, namespace: str, name: str) -> list[ObjectMeta]:
        return list(self._pods.get((namespace, name), {}).values())

    def update(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if old is not None:
            for name in self._names_of(old):
                self._forget((old.metadata.namespace, name), old.metadata.name)
        if new is not None:
            for name in self._names_of(new):
                self._pods.setdefault((new.metadata.namespace, name), {})[new.metadata.name] = new.metadata

    def _forget(self, key: tuple[str, str], pod: str) -> None:
        pods = self._pods.get(key, {})
        pods.pop(pod, None)
        if not pods:
            self._pods.pop(key, None)
