"""The application at its edges: who may ask, and what happens to nonsense."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubesched.cluster.apiserver.api import Api

Requester = Callable[..., Awaitable[Any]]
PODS = "/api/v1/namespaces/default/pods"
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("token", "path", "code"),
    [
        pytest.param("secret", "/api/v1/namespaces", 200, id="with the token"),
        pytest.param("wrong", "/api/v1/namespaces", 401, id="with another token"),
        pytest.param("", "/api/v1/namespaces", 401, id="without one"),
        pytest.param("", "/api", 401, id="discovery is not public"),
        pytest.param("", "/openapi/v3", 401, id="nor are schemas"),
        pytest.param("", "/version", 200, id="the version is"),
        pytest.param("", "/readyz", 200, id="and health"),
        pytest.param("", "/healthz", 200, id="of every kind"),
    ],
)
async def test_authentication(request_app: Requester, token: str, path: str, code: int) -> None:
    """Everything but health and version takes the token."""
    assert (await request_app("GET", path, token=token)).code == code


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        pytest.param([b"{"], 400, "BadRequest", id="half an object"),
        pytest.param([b"\xff\xfe"], 400, "BadRequest", id="no text"),
        pytest.param([b"[" * 100_000], 400, "BadRequest", id="endless nesting"),
        pytest.param([b'{"a":' * 2_000 + b"1" + b"}" * 2_000], 400, "BadRequest", id="deep nesting"),
        pytest.param([b"null"], 400, "BadRequest", id="null"),
        pytest.param([b'{"metadata": 5}'], 400, "BadRequest", id="metadata that is none"),
        pytest.param([b'{"metadata": {"name": 5}}'], 400, "BadRequest", id="a name that is none"),
        pytest.param([b'{"metadata": {"labels": ["a"]}}'], 400, "BadRequest", id="labels that are none"),
        pytest.param([b'{"kind": 5}'], 400, "BadRequest", id="a kind that is none"),
        pytest.param(
            [b'{"metadata": {"name": "p"}, "spec": {"containers": [5]}}'],
            400,
            "BadRequest",
            id="a container that is none",
        ),
        pytest.param(
            [b'{"metadata": {"name": "p"}, "spec": {"containers": [null]}}'], 422, "Invalid", id="a null container"
        ),
        pytest.param([b'{"metadata": {"name": "p"}, "spec": null}'], 422, "Invalid", id="a null spec"),
        pytest.param([b" " * MIB] * 4, 413, "RequestEntityTooLarge", id="too large in parts"),
    ],
)
async def test_bad_bodies(request_app: Requester, body: list[bytes], code: int, reason: str) -> None:
    """A Status, never a traceback."""
    answer = await request_app("POST", PODS, *body)
    status = json.loads(answer.body)
    assert (answer.code, status["kind"], status["reason"]) == (code, "Status", reason)


async def test_a_body_that_is_announced_as_too_large_is_not_read(request_app: Requester) -> None:
    """And the connection is closed, because the rest of it is still coming."""
    answer = await request_app("POST", PODS, b"{}", headers={"Content-Length": str(4 * MIB)})
    assert (answer.code, answer.headers[b"connection"]) == (413, b"close")


async def test_yaml_can_be_nested_too_deeply(request_app: Requester) -> None:
    """The parser recurses in C: a body cannot end the process."""
    path = "/api/v1/namespaces/default/configmaps/m?fieldManager=f"
    answer = await request_app("PATCH", path, b"[" * 100_000, headers={"Content-Type": "application/apply-patch+yaml"})
    assert (answer.code, "exceeded max depth" in answer.body.decode()) == (400, True)


async def test_a_patch_can_be_nested_too_deeply(request_app: Requester, api: Api) -> None:
    """Merging recurses; a patch cannot exhaust the stack."""
    api.create(api.catalog.named("configmaps"), {"metadata": {"name": "m"}}, "default")
    deep = b'{"data":' * 900 + b"{}" + b"}" * 900
    answer = await request_app(
        "PATCH",
        "/api/v1/namespaces/default/configmaps/m",
        deep,
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert answer.code in (400, 422)


async def test_a_bug_is_an_internal_error(
    request_app: Requester, api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says what happened; the client gets a Status."""

    def break_down(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(api.reader, "get", break_down)
    answer = await request_app("GET", f"{PODS}/p")
    assert (answer.code, json.loads(answer.body)["reason"]) == (500, "InternalError")
    assert "request failed: GET" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        pytest.param("GET", "/api/v1/namespaces/default/pods/p/log", 404, id="a log of no pod"),
        pytest.param("GET", "/api/v1/namespaces/default/pods/here/log", 501, id="a log"),
        pytest.param("POST", "/api/v1/namespaces/default/pods/here/exec", 501, id="exec"),
        pytest.param("POST", "/api/v1/namespaces/default/pods/here/portforward", 501, id="port-forward"),
        pytest.param("TRACE", "/api/v1/pods", 405, id="a method nobody knows"),
        pytest.param("GET", "/api/v1//pods", 404, id="an empty part"),
        pytest.param("GET", "/api/v1/pods/name", 404, id="a pod without a namespace"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, id="nodes in a namespace"),
        pytest.param("GET", "/api/v9/pods", 404, id="another version"),
        pytest.param("POST", "/version", 405, id="a page that is only read"),
        pytest.param("GET", "/openapi/v3/apis/none/v1", 404, id="schemas of nothing"),
        pytest.param("GET", "/", 200, id="the index"),
    ],
)
async def test_paths(request_app: Requester, api: Api, method: str, path: str, code: int) -> None:
    """What is not served says so."""
    pod = {"metadata": {"name": "here"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    api.create(api.catalog.named("pods"), pod, "default")
    assert (await request_app(method, path)).code == code


async def test_an_unknown_path_has_empty_details(request_app: Requester) -> None:
    """kubectl looks into them to find out whether an object or its subresource is missing."""
    answer = await request_app("PATCH", f"{PODS}/p/nonsense")
    assert (answer.code, json.loads(answer.body)["details"]) == (404, {})


async def test_warnings_are_headers(request_app: Requester) -> None:
    """kubectl prints them."""
    body = b'{"metadata": {"name": "m"}, "nonsense": 1}'
    answer = await request_app("POST", "/api/v1/namespaces/default/configmaps", body)
    assert answer.headers[b"warning"] == b'299 - "unknown field \\"nonsense\\""'


async def test_a_duplicate_key_is_refused_when_strict(request_app: Requester) -> None:
    """As kubectl asks by default."""
    body = b'{"metadata": {"name": "m", "name": "n"}}'
    answer = await request_app("POST", "/api/v1/namespaces/default/configmaps?fieldValidation=Strict", body)
    assert (answer.code, json.loads(answer.body)["message"]) == (400, 'strict decoding error: duplicate field "name"')


async def test_openapi_describes_what_is_served(request_app: Requester) -> None:
    """Schemas with kinds and merge keys, and operations that take fieldValidation."""
    index = json.loads((await request_app("GET", "/openapi/v3")).body)["paths"]
    where = index["apis/apps/v1"]["serverRelativeURL"].partition("?")[0]
    document = json.loads((await request_app("GET", where)).body)
    schemas = document["components"]["schemas"]
    gvk = [{"group": "apps", "version": "v1", "kind": "Deployment"}]
    assert schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"] == gvk
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    old = json.loads((await request_app("GET", "/openapi/v2")).body)
    assert "io.k8s.api.core.v1.Pod" in old["definitions"]


async def test_openapi_in_protobuf_describes_nothing(request_app: Requester) -> None:
    """kubectl asks it about Lists and unknown kinds only, and has to be able to read it."""
    accept = {"Accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    answer = await request_app("GET", "/openapi/v2", headers=accept)
    assert answer.headers[b"content-type"].endswith(b"+protobuf")
    assert answer.body.startswith(b"\n\x032.0\x12")


async def test_every_reference_of_openapi_leads_somewhere(request_app: Requester) -> None:
    """Otherwise kubectl explain stops."""
    text = (await request_app("GET", "/openapi/v3/api/v1")).body.decode()
    schemas = json.loads(text)["components"]["schemas"]
    references = {part.partition('"')[0] for part in text.split('"$ref":"#/components/schemas/')[1:]}
    assert references <= set(schemas)


async def test_aggregated_discovery(request_app: Requester) -> None:
    """One document for all groups, when the client knows it."""
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    answer = await request_app("GET", "/apis", headers={"Accept": accept})
    groups = {item["metadata"]["name"] for item in json.loads(answer.body)["items"]}
    assert {"apps", "batch", "scheduling.k8s.io"} <= groups
    assert b"APIGroupDiscoveryList" in answer.headers[b"content-type"]
    core = await request_app("GET", "/api", headers={"Accept": accept})
    resources = json.loads(core.body)["items"][0]["versions"][0]["resources"]
    pods = next(item for item in resources if item["resource"] == "pods")
    assert {part["subresource"] for part in pods["subresources"]} >= {"binding", "eviction", "status"}
