"""Pods from templates, and the names that templates get."""

from __future__ import annotations

import copy
import hashlib
from typing import Final

import msgspec

from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.records import owner_reference
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta

_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH: Final = 10


def pod_from(template: Json, resource: Resource, owner: ObjectMeta, *, name: str = "") -> Json:
    """A pod of this owner; without a name, one is generated from the owner's (`GetPodFromTemplate`)."""
    described = template.get("metadata") or {}
    metadata: Json = {
        "labels": dict(described.get("labels") or {}),
        "annotations": dict(described.get("annotations") or {}),
        "finalizers": list(described.get("finalizers") or ()),
        "ownerReferences": [owner_reference(resource.api_version, resource.kind, owner)],
    }
    if name:
        metadata["name"] = name
    else:
        metadata["generateName"] = f"{owner.name}-"
    return {
        "metadata": {key: value for key, value in metadata.items() if value},
        "spec": copy.deepcopy(template["spec"]),
    }


def template_hash(template: Json, salt: int = 0) -> str:
    """A short name for a template: equal templates, equal names. `salt` tells colliding ones apart."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="deterministic") + (b"%d" % salt if salt else b""))
    number, text = int.from_bytes(digest.digest()[:8], "big"), ""
    for _ in range(_HASH_LENGTH):
        number, rest = divmod(number, len(_CHARACTERS))
        text += _CHARACTERS[rest]
    return text
