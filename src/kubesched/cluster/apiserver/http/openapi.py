"""OpenAPI documents of the served kinds, written from the field table when they are first asked for."""

from __future__ import annotations

import functools
import hashlib
from typing import Final

from kubesched.cluster.apiserver.catalog import Catalog
from kubesched.cluster.apiserver.http.answers import Answer, encode, json_answer
from kubesched.cluster.apiserver.http.discovery import VERSION
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import FieldType, Shape, Struct, describe, struct
from kubesched.objects.base import Json

_INFO: Final = {"title": "Kubernetes", "version": VERSION}
_SCALARS: Final[dict[Shape, Json]] = {
    Shape.STRING: {"type": "string"},
    Shape.BYTES: {"type": "string", "format": "byte"},
    Shape.INT32: {"type": "integer", "format": "int32"},
    Shape.INT64: {"type": "integer", "format": "int64"},
    Shape.NUMBER: {"type": "number", "format": "double"},
    Shape.BOOLEAN: {"type": "boolean"},
    Shape.TIME: {"type": "string", "format": "date-time"},
    Shape.MICRO_TIME: {"type": "string", "format": "date-time"},
    Shape.ANY: {"type": "object"},
}
_QUERY: Final = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_ACTIONS: Final = {"get": "get", "put": "put", "patch": "patch", "delete": "delete", "post": "post"}


def _text(field: int, content: str | bytes) -> bytes:
    """A short field of a protobuf message."""
    raw = content.encode() if isinstance(content, str) else content
    return bytes((field << 3 | 2, len(raw))) + raw


# kubectl reads version 2 in protobuf only, for what version 3 does not know: Lists and kinds that are not served. Both
# are in no document, and then it leaves them to the server; hence there is nothing in this one.
PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2"
_V2_PROTOBUF: Final = Answer(
    200,
    _text(1, "2.0") + _text(2, _text(1, _INFO["title"]) + _text(2, _INFO["version"])),
    content_type=PROTOBUF_V2.encode() + b".v1.0+protobuf",
)


class OpenApi:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def answer(self, path: str, accept: str) -> Answer | None:
        if path == "/openapi/v2":
            return _V2_PROTOBUF if PROTOBUF_V2 in accept else self._v2()
        if path == "/openapi/v3":
            return self._index()
        return self._v3(path.removeprefix("/openapi/v3/"))

    @functools.cached_property
    def _group_versions(self) -> dict[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for item in self._catalog:
            prefix = "apis" if item.group else "api"
            found.setdefault(f"{prefix}/{item.api_version}", []).append(item)
        return found

    @functools.cache  # noqa: B019 one instance lives as long as the server
    def _index(self) -> Answer:
        paths = {}
        for name in self._group_versions:
            document = self._v3(name)
            assert document is not None
            digest = hashlib.sha256(document.body).hexdigest().upper()
            paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
        return json_answer({"paths": paths})

    @functools.cache  # noqa: B019 one instance lives as long as the server
    def _v3(self, name: str) -> Answer | None:
        resources = self._group_versions.get(name)
        if resources is None:
            return None
        schemas = _schemas(resources, "#/components/schemas/")
        paths = {path: item for resource in resources for path, item in _paths(name, resource, version=3)}
        document = {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas}}
        return Answer(200, encode(document))

    @functools.cache  # noqa: B019 one instance lives as long as the server
    def _v2(self) -> Answer:
        schemas = _schemas(list(self._catalog), "#/definitions/")
        paths = {
            path: item
            for name, resources in self._group_versions.items()
            for resource in resources
            for path, item in _paths(name, resource, version=2)
        }
        return json_answer({"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": schemas})


def _schemas(resources: list[Resource], prefix: str) -> Json:
    """Every struct that the resources reach, by its full name."""
    schemas: Json = {}
    waiting = [item.struct_name for item in resources] + ["meta.v1.DeleteOptions", "meta.v1.Status"]
    kinds = {item.struct_name: item for item in resources}
    while waiting:
        name = waiting.pop()
        if _full_name(name) in schemas:
            continue
        kind = struct(name)
        schemas[_full_name(name)] = _schema(kind, prefix, kinds.get(name))
        waiting.extend(found for item in kind.fields.values() if (found := _reached(item)))
    return dict(sorted(schemas.items()))


def _schema(kind: Struct, prefix: str, resource: Resource | None) -> Json:
    value: Json = {
        "type": "object",
        "properties": {
            name: _described(_property(item, prefix), describe(kind, name)) for name, item in kind.fields.items()
        },
    }
    if description := describe(kind):
        value["description"] = description
    if required := [name for name, item in kind.fields.items() if item.required]:
        value["required"] = required
    if kind.atomic:
        value["x-kubernetes-map-type"] = "atomic"
    if resource is not None:
        value["x-kubernetes-group-version-kind"] = [_gvk(resource)]
    return value


def _described(value: Json, description: str) -> Json:
    if not description:
        return value
    reference = value.pop("$ref", "")  # beside which nothing else counts
    return {**({"allOf": [{"$ref": reference}]} if reference else {}), **value, "description": description}


def _property(item: FieldType, prefix: str) -> Json:
    value = _type(item, prefix)
    if item.map_keys:
        value |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(item.map_keys)}
    elif item.is_set:
        value["x-kubernetes-list-type"] = "set"
    elif item.atomic:
        value["x-kubernetes-list-type" if item.shape is Shape.LIST else "x-kubernetes-map-type"] = "atomic"
    strategies = [name for name, on in (("merge", item.merges), ("retainKeys", item.retains_keys)) if on]
    if strategies:
        value["x-kubernetes-patch-strategy"] = ",".join(strategies)
    if item.merge_key:
        value["x-kubernetes-patch-merge-key"] = item.merge_key
    return value


def _type(item: FieldType, prefix: str) -> Json:
    match item.shape:
        case Shape.STRUCT:
            return {"$ref": prefix + _full_name(item.struct_name)}
        case Shape.LIST:
            assert item.item is not None
            return {"type": "array", "items": _type(item.item, prefix)}
        case Shape.MAP:
            assert item.item is not None
            return {"type": "object", "additionalProperties": _type(item.item, prefix)}
        case Shape.QUANTITY | Shape.INT_OR_STRING:
            if prefix.startswith("#/definitions"):
                return (
                    {"type": "string", "format": "int-or-string"}
                    if item.shape is Shape.INT_OR_STRING
                    else {"type": "string"}
                )
            return {"oneOf": [{"type": "string"}, {"type": "number"}]}
        case shape:
            return dict(_SCALARS[shape])


def _reached(item: FieldType) -> str:
    while item.item is not None:
        item = item.item
    return item.struct_name


def _full_name(name: str) -> str:
    prefix = "io.k8s.apimachinery.pkg.apis" if name.startswith("meta.") else "io.k8s.api"
    return f"{prefix}.{name}"


def _gvk(resource: Resource) -> Json:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(group_version: str, resource: Resource, *, version: int) -> list[tuple[str, Json]]:
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"/{group_version}{scope}/{resource.plural}"
    found = [(collection, {"post": _operation(resource, "post", version)} if "create" in resource.verbs else {})]
    if "get" in resource.verbs:
        methods = ("get", "put", "patch", "delete")
        found.append((f"{collection}/{{name}}", {method: _operation(resource, method, version) for method in methods}))
    return found


def _operation(resource: Resource, method: str, version: int) -> Json:
    text = {"schema": {"type": "string", "uniqueItems": True}} if version == 3 else {"type": "string"}
    names = _QUERY if method in ("post", "put", "patch") else ("pretty",)
    return {
        "operationId": f"{method}{resource.kind}",
        "parameters": [{"name": name, "in": "query", **text} for name in names],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": _ACTIONS[method],
        "x-kubernetes-group-version-kind": _gvk(resource),
    }
