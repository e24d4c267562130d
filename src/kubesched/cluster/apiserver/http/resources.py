"""Requests for resources: from method and path to a verb, and from its result to an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.http import queries
from kubesched.cluster.apiserver.http.answers import Answer, json_answer, warning_headers
from kubesched.cluster.apiserver.http.bodies import decode_body
from kubesched.cluster.apiserver.http.encoding import ResponseEncoder, full_object
from kubesched.cluster.apiserver.http.negotiation import Form
from kubesched.cluster.apiserver.http.paths import Target
from kubesched.cluster.apiserver.http.unavailable import is_unavailable, unavailable
from kubesched.cluster.apiserver.options import WriteOptions
from kubesched.cluster.apiserver.patch import (
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
)
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import struct
from kubesched.cluster.apiserver.storage import Entry
from kubesched.cluster.apiserver.users import ADMIN, User
from kubesched.cluster.apiserver.verbs.reviews import Reviewer
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

APPLY: Final = "application/apply-patch+yaml"
_PATCH_TYPES: Final = (
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, "
    "application/strategic-merge-patch+json"
)


class Request:
    """What one request brought, apart from its path."""

    __slots__ = ("body", "content_type", "form", "method", "query", "user", "user_agent")

    def __init__(
        self,
        method: str,
        query: queries.Query,
        form: Form,
        body: bytes = b"",
        content_type: str = "",
        user_agent: str = "",
        user: User = ADMIN,
    ) -> None:
        self.method = method
        self.query = query
        self.form = form
        self.body = body
        self.content_type = content_type
        self.user_agent = user_agent
        self.user = user


class ResourceRequests:
    def __init__(self, api: Api, reviewer: Reviewer) -> None:
        self._api = api
        self._reviewer = reviewer
        self._pods = api.catalog.named("pods")

    def handle(self, target: Target, request: Request) -> Answer:
        """Answer any request but a watch."""
        if target.subresource:
            return self._subresource(target, request)
        resource = target.resource
        match request.method, bool(target.name):
            case "GET", True:
                _require_verb(resource, "get")
                return self._object(target, request, self._api.reader.get(resource, target.name, target.namespace))
            case "GET", False:
                _require_verb(resource, "list")
                options = queries.list_options(request.query, resource)
                page = self._api.list(resource, target.namespace, options)
                return Answer(200, self._encoder(target, request).page(page))
            case "POST", False:
                _require_verb(resource, "create")
                return self._create(target, request)
            case "PUT", True:
                _require_verb(resource, "update")
                return self._update(target, request)
            case "PATCH", True:
                _require_verb(resource, "patch")
                return self._patch(target, request)
            case "DELETE", True:
                _require_verb(resource, "delete")
                return self._delete(target, request)
            case "DELETE", False:
                _require_verb(resource, "deletecollection")
                return self._delete_collection(target, request)
        raise status.method_not_allowed()

    def _create(self, target: Target, request: Request) -> Answer:
        options = queries.write_options(request.query)
        value = _object_body(request, options)
        if target.resource.is_review:
            now, user = self._api.writer.now(), request.user
            review = self._reviewer.answer(target.resource, value, user=user, namespace=target.namespace, now=now)
            return json_answer(review, 201)
        if target.resource.qualified == "bindings":
            metadata = value.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            return self._bind(value, name, target.namespace, options)
        entry = self._api.create(target.resource, value, target.namespace, options)
        return self._object(target, request, entry, 201, options.warnings)

    def _update(self, target: Target, request: Request) -> Answer:
        options = queries.write_options(request.query, request.user_agent)
        value = _object_body(request, options)
        entry, created = self._api.writer.update(
            target.resource,
            target.name,
            target.namespace,
            lambda _: value,
            subresource=_part(target.subresource),
            options=options,
        )
        return self._object(target, request, entry, 201 if created else 200, options.warnings)

    def _patch(self, target: Target, request: Request) -> Answer:
        options = queries.write_options(request.query, request.user_agent)
        if request.content_type.startswith(APPLY):
            return self._apply(target, request)
        change = patch_change(target.resource, request)
        try:
            entry = self._api.change(
                target.resource,
                target.name,
                target.namespace,
                change,
                subresource=_part(target.subresource),
                options=options,
            )
        except PatchError as error:
            raise _refused_patch(error) from error
        return self._object(target, request, entry, 200, options.warnings)

    def _apply(self, target: Target, request: Request) -> Answer:
        options = queries.write_options(request.query)  # who applies has to say its name
        value = _object_body(request, options)
        entry, created = self._api.applier.apply(
            target.resource, target.name, target.namespace, value, options, _part(target.subresource)
        )
        return self._object(target, request, entry, 201 if created else 200, options.warnings)

    def _delete(self, target: Target, request: Request) -> Answer:
        options = queries.delete_options(request.query, _delete_body(request))
        resource = target.resource
        done = self._api.delete(resource, target.name, target.namespace, options)
        if done.gone and not resource.rules.returns_deleted:
            return json_answer(status.success(resource, target.name, done.entry.decode()["metadata"]["uid"]))
        return self._object(target, request, done.entry)

    def _delete_collection(self, target: Target, request: Request) -> Answer:
        options = queries.delete_options(request.query, _delete_body(request))
        page = self._api.list(target.resource, target.namespace, queries.list_options(request.query, target.resource))
        for entry in page.entries:
            self._api.delete(target.resource, entry.name, entry.namespace, options)
        return Answer(200, self._encoder(target, request).page(page))

    def _subresource(self, target: Target, request: Request) -> Answer:
        resource, part = target.resource, target.subresource
        if is_unavailable(resource.qualified, part):
            self._api.reader.get(resource, target.name, target.namespace)
            return unavailable(resource.qualified, part, target.name, request.query)
        known = resource.subresource(part)
        if known is None:
            raise status.path_not_found()
        match part, request.method:
            case "binding", "POST":
                options = queries.write_options(request.query)
                return self._bind(_object_body(request, options), target.name, target.namespace, options)
            case "eviction", "POST":
                return self._evict(target, request)
            case "scale", "GET" | "PUT" | "PATCH":
                return self._scale(target, request)
            case "status", "GET":
                return self._object(target, request, self._api.reader.get(resource, target.name, target.namespace))
            case ("status", "PUT") | ("finalize", "PUT"):
                return self._update(target, request)
            case "status", "PATCH":
                return self._patch(target, request)
        raise status.method_not_allowed()

    def _bind(self, binding: Json, name: str, namespace: str, options: WriteOptions) -> Answer:
        if binding.get("kind", "Binding") != "Binding":
            raise status.bad_request(f"not a Binding object: {binding.get('kind')}")
        self._api.bind(binding, name, namespace, dry_run=options.dry_run)
        return _BOUND

    def _evict(self, target: Target, request: Request) -> Answer:
        options = queries.write_options(request.query)
        eviction = _object_body(request, options)
        self._api.evict(eviction, target.name, target.namespace, dry_run=options.dry_run)
        return _BOUND

    def _scale(self, target: Target, request: Request) -> Answer:
        options = queries.write_options(request.query, request.user_agent)
        scaler = self._api.scaler
        where = (target.resource, target.name, target.namespace)
        if request.method == "GET":
            return Answer(200, self._encoder(target, request).scale(scaler.read(*where)))
        if request.method == "PUT":
            value = _object_body(request, options)
            return json_answer(scaler.write(*where, lambda _: value, options))
        try:
            return json_answer(scaler.write(*where, patch_change(None, request), options))
        except PatchError as error:
            raise _refused_patch(error) from error

    def _object(
        self, target: Target, request: Request, entry: Entry, code: int = 200, warnings: list[str] | None = None
    ) -> Answer:
        headers = warning_headers(warnings) if warnings else ()
        if request.form is Form.OBJECT:
            return Answer(code, full_object(target.resource, entry), headers)
        return Answer(code, self._encoder(target, request).one(entry), headers)

    def _encoder(self, target: Target, request: Request) -> ResponseEncoder:
        include = request.query.get("includeObject", "")
        return ResponseEncoder(target.resource, request.form, include, self._api.clock.time())


_BOUND: Final = json_answer(
    {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201
)


def patch_change(resource: Resource | None, request: Request) -> Callable[[Json], Json]:
    """What a patch does to an object; without a resource (for Scale), strategic merge is plain merge."""
    media = request.content_type.partition(";")[0].strip().lower()
    match media:
        case "application/json-patch+json":
            patch = decode_body(request.body, media)
            return lambda value: _expect_object(apply_json_patch(value, patch))
        case "application/merge-patch+json":
            patch = _expect_object(decode_body(request.body, media))
            return lambda value: _expect_object(apply_merge_patch(value, patch))
        case "application/strategic-merge-patch+json":
            patch = _expect_object(decode_body(request.body, media))
            if resource is None:
                return lambda value: _expect_object(apply_merge_patch(value, patch))
            kind = struct(resource.struct_name)
            return lambda value: apply_strategic_patch(value, patch, kind)
    message = f"the body of the request was in an unknown format - accepted media types include: {_PATCH_TYPES}"
    raise status.unsupported_media(message)


def _require_verb(resource: Resource, verb: str) -> None:
    if verb not in resource.verbs:
        raise status.method_not_allowed()


def _part(subresource: str) -> str:
    """The part of an object that a subresource's write covers."""
    return {"finalize": "spec"}.get(subresource, subresource)


def _object_body(request: Request, options: WriteOptions) -> Json:
    value = decode_body(request.body, request.content_type, strict=options.strict_fields)
    return _expect_object(value)


def _expect_object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise status.bad_request("couldn't get version/kind; json parse error: an object is expected")
    return value


def _delete_body(request: Request) -> Json | None:
    return _expect_object(decode_body(request.body, request.content_type)) if request.body else None


def _refused_patch(error: PatchError) -> RequestRefusedError:
    if error.malformed:
        return status.bad_request(str(error))
    message = f"the server rejected our request due to an error in our request: {error}"
    return RequestRefusedError(422, "Invalid", message)
