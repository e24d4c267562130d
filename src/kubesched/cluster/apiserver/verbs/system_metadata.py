"""The part of metadata that the server writes: names, uids, times and generations; and what a writer may not touch."""

from __future__ import annotations

import random
import uuid
from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.problems import invalid
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.storage import Bucket, Entry
from kubesched.cluster.apiserver.verbs.checks import PluralAsKind
from kubesched.objects.base import Json

NAME_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: generated names are no words (`utilrand`)
GENERATED_LENGTH: Final = 5
LONGEST_BASE: Final = 63 - GENERATED_LENGTH
NAME_ATTEMPTS: Final = 8
_SET_BY_SERVER: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_NEVER_WRITTEN: Final = ("selfLink", "managedFields")


def generate_name(bucket: Bucket, metadata: Json, rng: random.Random) -> str:
    """One that is free, unless chance has it otherwise eight times."""
    base: str = metadata["generateName"][:LONGEST_BASE]
    for _ in range(NAME_ATTEMPTS):
        name = base + "".join(rng.choices(NAME_CHARACTERS, k=GENERATED_LENGTH))
        if bucket.get(metadata.get("namespace", ""), name) is None:
            break
    return name


def fill_metadata(resource: Resource, metadata: Json, now: str, rng: random.Random) -> None:
    """Of a new object (`rest.FillObjectMetaSystemFields`)."""
    for key in (*_SET_BY_SERVER, *_NEVER_WRITTEN):
        metadata.pop(key, None)
    metadata["uid"] = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    metadata["creationTimestamp"] = now
    if resource.rules.counts_generations:
        metadata["generation"] = 1


def check_version(resource: Resource, metadata: Json, found: Entry, old: Json) -> None:
    """Refuse a write that is about another object, or about a state of it that is gone."""
    uid, stored_uid = metadata.get("uid"), old["metadata"]["uid"]
    if uid and uid != stored_uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored_uid}"
        raise status.conflict(resource, found.name, why)
    version = metadata.get("resourceVersion", "")
    if not version:
        if not resource.rules.unconditional_update:
            problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(PluralAsKind(resource), found.name, [problem])
    elif version != str(found.version):
        raise status.modified(resource, found.name)


def keep_unwritable(resource: Resource, value: Json, old: Json, subresource: str) -> None:
    """Undo, in place, what this write may not change; count a generation if the rest changed anything."""
    metadata, before, rules = value["metadata"], old["metadata"], resource.rules
    for key in _SET_BY_SERVER:
        _copy_key(metadata, before, key)
    for key in _NEVER_WRITTEN:
        metadata.pop(key, None)
    metadata["resourceVersion"] = before["resourceVersion"]
    metadata.setdefault("name", before["name"])
    if subresource:
        _keep_all_but(value, old, subresource)
    elif resource.has_status:
        _copy_key(value, old, "status")
    if rules.prepare_update is not None:
        rules.prepare_update(value, old)
    if rules.counts_generations and not subresource:
        annotated = rules.counts_annotations and metadata.get("annotations") != before.get("annotations")
        if annotated or _counted(value) != _counted(old):
            metadata["generation"] = before.get("generation", 0) + 1


def _keep_all_but(value: Json, old: Json, part: str) -> None:
    """A subresource's write covers its own part and the metadata, nothing else."""
    for key in (set(value) | set(old)) - {"metadata", part}:
        _copy_key(value, old, key)


def _copy_key(value: Json, old: Json, key: str) -> None:
    if key in old:
        value[key] = old[key]
    else:
        value.pop(key, None)


def _counted(value: Json) -> Json:
    """What a generation counts: everything but metadata and status."""
    return {key: item for key, item in value.items() if key not in ("metadata", "status")}
