"""Create, update and patch: default, admit, prepare, validate, store."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from kubesched.clock import Clock
from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.admission.chain import Admission
from kubesched.cluster.apiserver.options import WRITE_DEFAULTS, WriteOptions
from kubesched.cluster.apiserver.ownership import Manager, chosen_managers, track_update
from kubesched.cluster.apiserver.problems import Problem, invalid
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform, struct, zero_values
from kubesched.cluster.apiserver.storage import Bucket, Entry, Store
from kubesched.cluster.apiserver.validation.metadata import metadata_problems, metadata_update_problems
from kubesched.cluster.apiserver.verbs.checks import (
    PATCH,
    require_kind,
    require_names,
    settle_namespace,
    undecodable,
)
from kubesched.cluster.apiserver.verbs.system_metadata import (
    check_version,
    fill_metadata,
    generate_name,
    keep_unwritable,
)
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


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
            metadata["name"] = generate_name(bucket, metadata, self._rng)
        rules = resource.rules
        if rules.default is not None:
            rules.default(value)
        self._admission.admit(resource, value)
        fill_metadata(resource, metadata, self.now(), self._rng)
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
        self._admission.validate(resource, value)
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
        found = self.bucket(resource).get(namespace, name)
        if found is None:
            if subresource or not resource.rules.create_on_update:
                raise status.not_found(resource, name)
            return self._create_instead(resource, name, namespace, change, options), True
        old = found.decode()
        value = self._changed(resource, found, old, change, patched=patched, options=options)
        check_version(resource, value["metadata"], found, old)
        if resource.rules.default is not None:
            resource.rules.default(value)
        if not subresource:
            self._admission.admit(resource, value, old)
        managers = value["metadata"].get("managedFields")
        keep_unwritable(resource, value, old, subresource)
        problems = metadata_update_problems(value["metadata"], old["metadata"])
        problems += _rule_problems(resource, value, old, subresource)
        if problems:
            raise status.invalid(resource, name, problems)
        if not subresource:
            self._admission.validate(resource, value, old)
        if applied:
            _set_managers(value, managers)
        else:
            self._track(resource, old, value, managers, subresource, options)
        return self.replace(resource, found, old, value, dry_run=options.dry_run), False

    def _create_instead(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        change: Callable[[Json], Json],
        options: WriteOptions,
    ) -> Entry:
        """An update of what is not there, for resources that allow it."""
        value = change({})
        require_names(resource, value, name, namespace)
        value["metadata"].pop("resourceVersion", None)
        value["metadata"].pop("uid", None)
        return self.create(resource, value, namespace, options)

    def _changed(
        self,
        resource: Resource,
        found: Entry,
        old: Json,
        change: Callable[[Json], Json],
        *,
        patched: bool,
        options: WriteOptions,
    ) -> Json:
        """What `change` makes of the object, in the stored form and about the same object."""
        value = found.decode()
        if resource.conversion is not None:
            resource.conversion.from_stored(value)
        value = change(value)
        require_names(resource, value, found.name, found.namespace)
        try:
            self.decode(resource, value, options, known=old if resource.conversion is None else None)
        except RequestRefusedError as refusal:
            if patched:  # the patch is what is wrong, not the request
                problem = invalid("patch", msgspec.json.encode(value).decode(), refusal.message)
                raise status.invalid(PATCH, "", [problem]) from refusal
            raise
        return value

    def _track(
        self,
        resource: Resource,
        old: Json,
        value: Json,
        managers: list[Json] | None,
        subresource: str,
        options: WriteOptions,
    ) -> None:
        """Note who owns the changed fields, of objects of which somebody has applied a part."""
        live = old["metadata"].get("managedFields") or []
        _set_managers(value, live if subresource or not live else chosen_managers(managers, live))
        if "managedFields" not in value["metadata"]:
            return
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


def _set_managers(value: Json, managers: list[Json] | None) -> None:
    if managers:
        value["metadata"]["managedFields"] = managers


def _is_finished(value: Json) -> bool:
    """A deletion waits for finalizers and for the grace period (`ShouldDeleteDuringUpdate`)."""
    metadata = value["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if (value.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")
