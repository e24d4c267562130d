"""Create, update and patch: default, admit, prepare, validate, store."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from kubesched.clock import Clock
from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.admission import Admission
from kubesched.cluster.apiserver.options import WRITE_DEFAULTS, WriteOptions
from kubesched.cluster.apiserver.ownership import Manager, chosen_managers, track_update
from kubesched.cluster.apiserver.problems import Problem, invalid
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform, struct, zero_values
from kubesched.cluster.apiserver.storage import Bucket, Entry, Store
from kubesched.cluster.apiserver.validation.metadata import metadata_problems, metadata_update_problems
from kubesched.cluster.apiserver.verbs.checks import (
    PATCH,
    PluralAsKind,
    require_kind,
    require_names,
    settle_namespace,
    undecodable,
)
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

NAME_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: generated names are no words (`utilrand`)
GENERATED_LENGTH: Final = 5
LONGEST_BASE: Final = 63 - GENERATED_LENGTH
NAME_ATTEMPTS: Final = 8
_KEPT_METADATA: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


class Writer:
    def __init__(self, store: Store, admission: Admission, clock: Clock, rng: random.Random) -> None:
        self._store = store
        self._admission = admission
        self._clock = clock
        self._rng = rng
        self._second = -1
        self._now = ""

    def create(
        self,
        resource: Resource,
        value: Json,
        namespace: str,
        options: WriteOptions = WRITE_DEFAULTS,
        managed_fields: list[Json] | None = None,
    ) -> Entry:
        """Store a new object. `value` is in the resource's own form and is changed in place."""
        self.decode(resource, value, options)
        metadata = value.setdefault("metadata", {})
        settle_namespace(resource, metadata, namespace)
        if metadata.get("resourceVersion"):
            raise RequestRefusedError(500, "", "resourceVersion should not be set on objects to be created")
        bucket = self.bucket(resource)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._generate_name(bucket, metadata)
        rules = resource.rules
        if rules.default is not None:
            rules.default(value)
        self._admission.admit(resource, value)
        self._fill_system_metadata(resource, metadata)
        if managed_fields:
            metadata["managedFields"] = managed_fields
        if resource.has_status and not rules.keeps_status_on_create:
            value["status"] = _first_status(resource)
        if rules.prepare is not None:
            rules.prepare(value)
        problems = metadata_problems(metadata, namespaced=resource.namespaced, name_rule=rules.name_rule)
        if rules.validate is not None:
            problems += rules.validate(value)
        if problems:
            raise status.invalid(resource, metadata.get("name", ""), problems)
        self._admission.quotas.admit(resource, value)
        if bucket.get(metadata.get("namespace", ""), metadata["name"]) is not None:
            raise status.already_exists(resource, metadata["name"])
        if options.dry_run:
            return self._store.preview(bucket, value)
        return self._store.write(bucket, value)

    def update(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        change: Callable[[Json], Json],
        *,
        subresource: str = "",
        patched: bool = False,
        applied: bool = False,
        options: WriteOptions = WRITE_DEFAULTS,
    ) -> tuple[Entry, bool]:
        """Replace an object by what `change` makes of a copy of it; the flag says that it was created instead.

        `change` works in the resource's own form. What the subresource does not cover stays as it was. A write that
        changes nothing is not stored: the entry keeps its version.
        """
        bucket = self.bucket(resource)
        found = bucket.get(namespace, name)
        if found is None:
            if subresource or not resource.rules.create_on_update:
                raise status.not_found(resource, name)
            value = change({})
            require_names(resource, value, name, namespace)
            value["metadata"].pop("resourceVersion", None)
            value["metadata"].pop("uid", None)
            return self.create(resource, value, namespace, options), True
        old, value = found.decode(), found.decode()
        if resource.conversion is not None:
            resource.conversion.from_stored(value)
        value = change(value)
        require_names(resource, value, name, namespace)
        try:
            self.decode(resource, value, options, known=old if resource.conversion is None else None)
        except RequestRefusedError as refusal:
            if patched:  # the patch is what is wrong, not the request
                problem = invalid("patch", msgspec.json.encode(value).decode(), refusal.message)
                raise status.invalid(PATCH, "", [problem]) from refusal
            raise
        self._check_version(resource, value["metadata"], found, old)
        if resource.rules.default is not None:
            resource.rules.default(value)
        if resource.qualified == "services" and not subresource:
            self._admission.services.update(value, old)
        managed_fields = value["metadata"].get("managedFields")
        if not applied:
            live = old["metadata"].get("managedFields") or []
            managed_fields = live if subresource or not live else chosen_managers(managed_fields, live)
        self._keep_unwritable(resource, value, old, subresource)
        problems = metadata_update_problems(value["metadata"], old["metadata"])
        problems += _rule_problems(resource, value, old, subresource)
        if problems:
            raise status.invalid(resource, name, problems)
        if resource.qualified == "priorityclasses.scheduling.k8s.io":
            self._admission.require_one_default(resource, value)
        if not subresource:
            self._admission.quotas.admit(resource, value, old)
        if managed_fields:
            value["metadata"]["managedFields"] = managed_fields
            if not applied:
                self._track(resource, old, value, subresource, options)
        return self.replace(resource, found, old, value, dry_run=options.dry_run), False

    def _track(self, resource: Resource, old: Json, value: Json, subresource: str, options: WriteOptions) -> None:
        writer = Manager(
            name=options.field_manager or "unknown",
            operation="Update",
            api_version=resource.api_version,
            subresource=subresource,
            time=self.now(),
        )
        track_update(old, value, struct(resource.struct_name), writer)

    def replace(self, resource: Resource, found: Entry, old: Json, value: Json, *, dry_run: bool = False) -> Entry:
        """Store `value` over `old`; an object whose deletion waited for this write goes."""
        bucket = self.bucket(resource)
        if value == old:
            return found
        if dry_run:
            return self._store.encode(bucket, value, found.version)
        if _is_finished(value):
            return self._store.remove(bucket, value)
        return self._store.write(bucket, value)

    def decode(self, resource: Resource, value: Json, options: WriteOptions, known: Json | None = None) -> None:
        """Bring `value` from the wire's form into the stored one; refuse wrong types and, if asked, unknown fields.

        Parts that equal those of `known`, which is stored already, are not looked at again.
        """
        require_kind(resource, value)
        new = {key: item for key, item in value.items() if known is None or item != known.get(key)}
        given = set(new)
        found = conform(resource.struct_name, new)
        for key in given - set(new):
            del value[key]
        if found.wrong:
            raise undecodable(resource, found.wrong)
        if found.unknown and not options.ignore_unknown_fields:
            texts = [f'unknown field "{name}"' for name in found.unknown]
            if options.strict_fields:
                raise undecodable(resource, f"strict decoding error: {', '.join(texts)}")
            options.warnings.extend(texts)
        value.pop("kind", None)
        value.pop("apiVersion", None)
        if resource.conversion is not None:
            resource.conversion.to_stored(value)

    def bucket(self, resource: Resource) -> Bucket:
        return self._store.bucket(resource.bucket_name, resource.read_fields)

    def now(self) -> str:
        second = int(self._clock.time())
        if second != self._second:
            self._second = second
            self._now = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._now

    def _generate_name(self, bucket: Bucket, metadata: Json) -> str:
        base: str = metadata["generateName"][:LONGEST_BASE]
        for _ in range(NAME_ATTEMPTS):
            name = base + "".join(self._rng.choices(NAME_CHARACTERS, k=GENERATED_LENGTH))
            if bucket.get(metadata.get("namespace", ""), name) is None:
                break
        return name

    def _fill_system_metadata(self, resource: Resource, metadata: Json) -> None:
        for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "generation"):
            metadata.pop(key, None)
        metadata["uid"] = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        metadata["creationTimestamp"] = self.now()
        if resource.rules.counts_generations:
            metadata["generation"] = 1

    def _check_version(self, resource: Resource, metadata: Json, found: Entry, old: Json) -> None:
        name = found.name
        uid = metadata.get("uid")
        if uid and uid != old["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise status.conflict(resource, name, why)
        version = metadata.get("resourceVersion", "")
        if not version:
            if not resource.rules.unconditional_update:
                problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
                raise status.invalid(PluralAsKind(resource), name, [problem])
        elif version != str(found.version):
            raise status.modified(resource, name)

    def _keep_unwritable(self, resource: Resource, value: Json, old: Json, subresource: str) -> None:
        metadata, before = value["metadata"], old["metadata"]
        for key in _KEPT_METADATA:
            if key in before:
                metadata[key] = before[key]
            else:
                metadata.pop(key, None)
        for key in ("selfLink", "managedFields"):
            metadata.pop(key, None)
        metadata["resourceVersion"] = before["resourceVersion"]
        metadata.setdefault("name", before["name"])
        if subresource:
            _keep_all_but(value, old, subresource)
        elif resource.has_status:
            _copy_key(value, old, "status")
        if resource.rules.prepare_update is not None:
            resource.rules.prepare_update(value, old)
        rules = resource.rules
        if rules.counts_generations and not subresource:
            annotated = rules.counts_annotations and metadata.get("annotations") != before.get("annotations")
            if annotated or _spec(value) != _spec(old):
                metadata["generation"] = before.get("generation", 0) + 1


def _first_status(resource: Resource) -> Json:
    return dict(zero_values(struct(resource.struct_name).fields["status"].struct_name))


def _rule_problems(resource: Resource, value: Json, old: Json, subresource: str) -> list[Problem]:
    rules = resource.rules
    if subresource == "status":
        return rules.validate_status(value, old) if rules.validate_status is not None else []
    problems = rules.validate(value) if rules.validate is not None and not subresource else []
    if rules.validate_update is not None and not subresource:
        problems += rules.validate_update(value, old)
    return problems


def _keep_all_but(value: Json, old: Json, part: str) -> None:
    """A subresource's write covers its own part and the metadata, nothing else."""
    for key in (set(value) | set(old)) - {"metadata", part}:
        _copy_key(value, old, key)


def _copy_key(value: Json, old: Json, key: str) -> None:
    if key in old:
        value[key] = old[key]
    else:
        value.pop(key, None)


def _spec(value: Json) -> Json:
    """What a generation counts: everything but metadata and status."""
    return {key: item for key, item in value.items() if key not in ("metadata", "status")}


def _is_finished(value: Json) -> bool:
    """A deletion waits for finalizers and for the grace period (`ShouldDeleteDuringUpdate`)."""
    metadata = value["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if (value.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")
