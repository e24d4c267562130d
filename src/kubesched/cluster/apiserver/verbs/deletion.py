"""Delete: finalizers, grace periods and preconditions (`rest.BeforeDelete` upstream)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from kubesched.clock import Clock
from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import DELETE_DEFAULTS, DeleteOptions
from kubesched.cluster.apiserver.problems import unsupported
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.storage import Entry, Store
from kubesched.cluster.apiserver.verbs.writing import Writer
from kubesched.objects.base import Json

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
PROPAGATIONS: Final = ("Foreground", "Background", "Orphan")


class Deletion(NamedTuple):
    """What became of a deletion: the object's last state, and whether it is gone."""

    entry: Entry
    gone: bool


class Deleter:
    def __init__(self, store: Store, writer: Writer, clock: Clock) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock

    def delete(
        self, resource: Resource, name: str, namespace: str, options: DeleteOptions = DELETE_DEFAULTS
    ) -> Deletion:
        """Remove an object, or mark it when somebody has to finish first."""
        bucket = self._writer.bucket(resource)
        found = bucket.get(namespace, name)
        if found is None:
            raise status.not_found(resource, name)
        rules = resource.rules.deletion
        if why := rules.forbidden.get(name):
            raise status.forbidden(resource, name, why)
        value = found.decode()
        _check_options(options)
        _check_preconditions(resource, value["metadata"], options)
        grace = rules.grace_period(value, options.grace_period) if rules.grace_period is not None else 0
        pending = self._already_pending(value, grace, options)
        if pending:
            return Deletion(found, gone=False)
        _set_finalizers(value["metadata"], options)
        if grace > 0 or _has_finalizers(value):
            return Deletion(self._mark(resource, found, value, grace, options), gone=False)
        if rules.grace_period is not None:
            self._stamp_last(value["metadata"])
        if options.dry_run:
            return Deletion(self._store.encode(bucket, value, found.version), gone=True)
        return Deletion(self._store.remove(bucket, value), gone=True)

    def _already_pending(self, value: Json, grace: int, options: DeleteOptions) -> bool:
        """A second deletion changes nothing unless it shortens the grace period."""
        current = value["metadata"].get("deletionGracePeriodSeconds")
        if not value["metadata"].get("deletionTimestamp"):
            return False
        if not current:
            return bool(_has_finalizers(value)) and not options.propagation
        return options.grace_period is None or grace >= current

    def _mark(self, resource: Resource, found: Entry, value: Json, grace: int, options: DeleteOptions) -> Entry:
        old, metadata = found.decode(), value["metadata"]
        if not metadata.get("deletionTimestamp"):
            self._stamp(metadata, grace)
            if (mark := resource.rules.deletion.mark) is not None:
                mark(value)
        elif grace < metadata.get("deletionGracePeriodSeconds", 0):
            started = datetime.fromisoformat(metadata["deletionTimestamp"]).timestamp()
            started -= metadata["deletionGracePeriodSeconds"]
            metadata["deletionTimestamp"] = _timestamp(max(started + grace, self._clock.time()))
            metadata["deletionGracePeriodSeconds"] = grace
        return self._writer.replace(resource, found, old, value, dry_run=options.dry_run)

    def _stamp_last(self, metadata: Json) -> None:
        """What is left of the grace period when an object goes."""
        if metadata.get("deletionTimestamp"):
            metadata["deletionGracePeriodSeconds"] = 0
        else:
            self._stamp(metadata, 0)

    def _stamp(self, metadata: Json, grace: int) -> None:
        if metadata.get("generation"):
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = _timestamp(self._clock.time() + grace)
        metadata["deletionGracePeriodSeconds"] = grace


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _has_finalizers(value: Json) -> bool:
    return bool(value["metadata"].get("finalizers") or (value.get("spec") or {}).get("finalizers"))


def _check_options(options: DeleteOptions) -> None:
    if options.propagation and options.propagation not in PROPAGATIONS:
        problem = unsupported("propagationPolicy", options.propagation, (*PROPAGATIONS, "nil"))
        raise status.invalid(_DeleteOptionsKind(), "", [problem])


def _check_preconditions(resource: Resource, metadata: Json, options: DeleteOptions) -> None:
    name = metadata["name"]
    if options.uid and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(_KindNamed(resource), name, why)
    if options.version and options.version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise status.conflict(_KindNamed(resource), name, why)


def _set_finalizers(metadata: Json, options: DeleteOptions) -> None:
    if not options.propagation:
        return
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(options.propagation)
    finalizers = [item for item in metadata.get("finalizers") or () if item not in (FOREGROUND, ORPHAN)]
    if wanted:
        finalizers.append(wanted)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


class _DeleteOptionsKind:
    group, kind, plural = "meta.k8s.io", "DeleteOptions", "DeleteOptions"


class _KindNamed:
    """Preconditions are refused in the name of the kind, not of the plural, upstream."""

    def __init__(self, resource: Resource) -> None:
        self.group, self.kind, self.plural = resource.group, resource.kind, resource.kind
