"""What must be true of a written object before anything else is looked at: its kind, its name, its namespace."""

from __future__ import annotations

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.resource import Resource
from kubesched.objects.base import Json


class _Patch:
    group, kind, plural = "", "", ""


PATCH = _Patch()


class PluralAsKind:
    """The generic store upstream knows resources, not kinds, and says so in its refusals."""

    def __init__(self, resource: Resource) -> None:
        self.group, self.kind, self.plural = resource.group, resource.plural, resource.plural


def settle_namespace(resource: Resource, metadata: Json, namespace: str) -> None:
    if not resource.namespaced:
        return
    given = metadata.setdefault("namespace", namespace)
    if given != namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def require_kind(resource: Resource, value: Json) -> None:
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str | None) or not isinstance(version, str | None):
        raise status.bad_request("couldn't get version/kind; json parse error: kind and apiVersion must be text")
    if kind is not None and kind != resource.kind:
        named = (version or resource.api_version).rpartition("/")[2]
        raise status.bad_request(
            f'{kind} in version "{named}" cannot be handled as a {resource.kind}: it is not registered as one'
        )
    if version is not None and version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )


def undecodable(resource: Resource, why: str) -> Exception:
    return status.bad_request(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'
    )


def require_names(resource: Resource, value: Json, name: str, namespace: str) -> None:
    metadata = value.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise undecodable(resource, "metadata is no object")
    given = metadata.get("name", "")
    if not given:
        raise status.bad_request('the name of the object ("" based on URL) was undeterminable: name must be provided')
    if given != name:
        raise status.bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
    if resource.namespaced:
        settle_namespace(resource, metadata, namespace)
