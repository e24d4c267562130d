"""Server-side apply as a verb: create what is not there, merge into what is."""

from __future__ import annotations

import copy

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import WriteOptions
from kubesched.cluster.apiserver.ownership import (
    KUBECTL,
    ApplyConflictError,
    Manager,
    apply_configuration,
    kubectls_own,
    managers_before,
    note_last_applied,
    read_managers,
    write_managers,
)
from kubesched.cluster.apiserver.ownership.field_sets import Path, field_set
from kubesched.cluster.apiserver.problems import required
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import Struct, struct
from kubesched.cluster.apiserver.storage import Entry
from kubesched.cluster.apiserver.verbs.writing import Writer
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


class Applier:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def apply(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        configuration: Json,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Entry, bool]:
        """The applied object, and whether it was created."""
        self._check(resource, configuration, name, options)
        kind = struct(resource.struct_name)
        applier = Manager(
            name=options.field_manager,
            operation="Apply",
            api_version=resource.api_version,
            subresource=subresource,
            time=self._writer.now(),
        )
        self._writer.decode(resource, configuration, options)
        if resource.conversion is not None:
            resource.conversion.from_stored(configuration)
        if self._writer.bucket(resource).get(namespace, name) is None:
            if subresource:
                raise status.not_found(resource, name)
            return self._create(resource, namespace, configuration, kind, applier, options), True

        def merge(value: Json) -> Json:
            return self._merge(resource, value, configuration, kind, applier, options)

        entry, _ = self._writer.update(
            resource, name, namespace, merge, subresource=subresource, patched=True, applied=True, options=options
        )
        return entry, False

    def _check(self, resource: Resource, configuration: Json, name: str, options: WriteOptions) -> None:
        if not options.field_manager:
            raise status.invalid(_PatchOptions(), "", [required("fieldManager", "is required for apply patch")])
        for key, expected in (("apiVersion", resource.api_version), ("kind", resource.kind)):
            if configuration.get(key) != expected:
                raise status.bad_request(f"invalid object type: {key} must be {expected}")
        metadata = configuration.setdefault("metadata", {})
        if not isinstance(metadata, dict):
            raise status.bad_request("metadata must be an object")
        if metadata.get("managedFields"):
            raise status.bad_request("metadata.managedFields must be nil")
        if metadata.setdefault("name", name) != name:
            given = metadata["name"]
            raise status.bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")

    def _create(
        self,
        resource: Resource,
        namespace: str,
        configuration: Json,
        kind: Struct,
        applier: Manager,
        options: WriteOptions,
    ) -> Entry:
        fields = frozenset(path for path in field_set(configuration, kind) if path[0] != "f:status")
        value = copy.deepcopy(configuration)
        managed: Json = {}
        write_managers(managed, [applier.owning(fields, applier.time)])
        return self._writer.create(resource, value, namespace, options, managed.get("managedFields"))

    def _merge(
        self,
        resource: Resource,
        value: Json,
        configuration: Json,
        kind: Struct,
        applier: Manager,
        options: WriteOptions,
    ) -> Json:
        metadata = configuration["metadata"]
        given = metadata.get("resourceVersion")
        if given and given != value["metadata"]["resourceVersion"]:
            raise status.modified(resource, value["metadata"]["name"])
        managers = read_managers(value["metadata"])
        if not managers:
            managers = managers_before(value, kind, api_version=resource.api_version, now=applier.time)
        by_kubectl = applier.name == KUBECTL and not applier.subresource
        try:
            merged, managers = apply_configuration(value, configuration, kind, managers, applier, force=options.force)
        except ApplyConflictError as error:
            own = kubectls_own(value, kind) if by_kubectl else frozenset()
            left = [(manager, path) for manager, path in error.conflicts if path not in own]
            if left:
                raise _refusal(ApplyConflictError(left)) from error
            merged, managers = apply_configuration(value, configuration, kind, managers, applier, force=True)
        if by_kubectl:
            note_last_applied(merged, configuration, resource.api_version, resource.kind)
        write_managers(merged["metadata"], managers)
        return merged


class _PatchOptions:
    group, kind, plural = "meta.k8s.io", "PatchOptions", "PatchOptions"


def _refusal(error: ApplyConflictError) -> RequestRefusedError:
    """409, with one cause per field and the owners' fields in the message."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_owner(manager)}", "field": shown_path(path)}
        for manager, path in error.conflicts
    ]
    by_owner: dict[str, list[str]] = {}
    for manager, path in error.conflicts:
        by_owner.setdefault(_owner(manager), []).append(shown_path(path))
    if len(causes) == 1:
        listed = f" {causes[0]['message']}: {causes[0]['field']}"
    else:
        blocks = [f"conflicts with {owner}:\n- " + "\n- ".join(fields) for owner, fields in sorted(by_owner.items())]
        listed = (" " if len(blocks) == 1 else "\n") + "\n".join(blocks)
    message = f"Apply failed with {len(causes)} conflict{'' if len(causes) == 1 else 's'}:{listed}"
    return RequestRefusedError(409, "Conflict", message, details={"causes": causes})


def _owner(manager: Manager) -> str:
    part = f' with subresource "{manager.subresource}"' if manager.subresource else ""
    using = f" using {manager.api_version}" if manager.operation == "Update" else ""
    return f'"{manager.name}"{part}{using}'


def shown_path(path: Path) -> str:
    """A path as Kubernetes' messages show it: `.spec.containers[name="c"].image`."""
    text = ""
    for step in path:
        sort, rest = step[:2], step[2:]
        if sort == "f:":
            text += f".{rest}"
        elif sort == "k:":
            pairs = rest.strip("{}").replace('":', "=").replace('"', "", 1).replace(',"', ",")
            text += f"[{pairs}]"
        else:
            text += f"[={rest}]"
    return text
