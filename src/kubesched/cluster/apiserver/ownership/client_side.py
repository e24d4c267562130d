"""From `kubectl apply` to `kubectl apply --server-side`: what kubectl applied on its side stays its own.

The annotation of its last configuration says what that is (`lastAppliedManager` and `lastAppliedUpdater` upstream).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec

from kubesched.cluster.apiserver.ownership.field_sets import FieldSet, field_set, leaves
from kubesched.cluster.apiserver.ownership.managers import Manager
from kubesched.cluster.apiserver.schema import Struct, conform
from kubesched.objects.base import Json

KUBECTL: Final = "kubectl"
CLIENT_SIDE: Final = "kubectl-client-side-apply"
BEFORE: Final = "before-first-apply"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATION: Final = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
_encode: Final = msgspec.json.Encoder(order="sorted").encode


def managers_before(value: Json, kind: Struct, *, api_version: str, now: str) -> list[Manager]:
    """Whose fields they were before the first apply, which is when ownership begins to be tracked.

    kubectl takes over everything of whoever owns the annotation: only what it has applied on its side, then.
    """
    everything = field_set(value, kind)
    applied: FieldSet = frozenset()
    if (configuration := _last_applied(value, kind)) is not None:
        applied = everything & (field_set(configuration, kind) | {_ANNOTATION})
    before = Manager(name=BEFORE, operation="Update", api_version=api_version, time=now, fields=everything - applied)
    return [before, replace(before, name=CLIENT_SIDE, fields=applied)]


def kubectls_own(value: Json, kind: Struct) -> FieldSet:
    """The fields that kubectl applied on its side and that nobody changed since."""
    configuration = _last_applied(value, kind)
    if configuration is None:
        return frozenset()
    live, missing = dict(leaves(value, kind)), object()
    return frozenset(path for path, leaf in leaves(configuration, kind) if live.get(path, missing) == leaf)


def note_last_applied(value: Json, configuration: Json, api_version: str, kind: str) -> None:
    """Keep the annotation of an object that has it up to date, for a kubectl that applies on its side again."""
    annotations = value["metadata"].get("annotations") or {}
    if LAST_APPLIED in annotations:
        applied = {**configuration, "apiVersion": api_version, "kind": kind}
        annotations[LAST_APPLIED] = _encode(applied).decode() + "\n"


def _last_applied(value: Json, kind: Struct) -> Json | None:
    """The configuration of the annotation; None if there is none, or if nobody could have applied it."""
    text = (value["metadata"].get("annotations") or {}).get(LAST_APPLIED, "")
    try:
        configuration: Json = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return None
    for key in ("apiVersion", "kind"):
        configuration.pop(key, None)
    return None if conform(kind.name, configuration).wrong else configuration
