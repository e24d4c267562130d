"""Reviews tell the truth: who has which token, and what the served roles allow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.cluster.apiserver.http.conftest import Requester

from kubesched.cluster.apiserver.api import Api

RBAC = "rbac.authorization.k8s.io"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"


@pytest.fixture
def roles(api: Api) -> Api:
    """bob reads pods of one namespace, a service account may scale, a group reads what is aggregated, eve nothing."""
    reader = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
    one = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"]}
    scaler = {"verbs": ["patch"], "apiGroups": ["apps"], "resources": ["*/scale"]}
    pages = {"verbs": ["get"], "nonResourceURLs": ["/metrics", "/debug/*"]}
    _role(api, "roles", "reader", [reader, one], namespace="default")
    _role(api, "clusterroles", "scaler", [scaler])
    _role(api, "clusterroles", "pages", [pages], labels={"watch": "yes"})
    _role(api, "clusterroles", "all-pages", [], aggregates={"watch": "yes"})
    _bind(api, "default", "Role", "reader", {"kind": "User", "name": "bob"})
    _bind(api, "default", "ClusterRole", "scaler", {"kind": "ServiceAccount", "name": "sa", "namespace": "default"})
    _bind(api, "", "ClusterRole", "all-pages", {"kind": "Group", "name": "watchers"})
    _bind(api, "", "ClusterRole", "lost", {"kind": "User", "name": "carol"})
    return api


def _role(
    api: Api,
    plural: str,
    name: str,
    rules: list[Any],
    namespace: str = "",
    labels: dict[str, str] | None = None,
    aggregates: dict[str, str] | None = None,
) -> None:
    value: dict[str, Any] = {"metadata": {"name": name, "labels": labels or {}}, "rules": rules}
    if aggregates:
        value["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": aggregates}]}
    api.create(api.catalog.named(f"{plural}.{RBAC}"), value, namespace)


def _bind(api: Api, namespace: str, kind: str, role: str, subject: dict[str, str]) -> None:
    plural = "rolebindings" if namespace else "clusterrolebindings"
    reference = {"apiGroup": RBAC, "kind": kind, "name": role}
    value = {"metadata": {"name": f"b-{role}"}, "roleRef": reference, "subjects": [subject]}
    api.create(api.catalog.named(f"{plural}.{RBAC}"), value, namespace)


async def review(request_app: Requester, path: str, spec: Any, **headers: str) -> dict[str, Any]:
    answer = await request_app("POST", path, json.dumps({"spec": spec}).encode(), headers=headers)
    assert answer.code == 201, answer.body
    status: dict[str, Any] = json.loads(answer.body)["status"]
    return status


async def test_only_the_token_of_the_kubeconfig_is_somebodys(request_app: Requester) -> None:
    """Any token used to be the administrator's."""
    known = await review(request_app, f"{AUTHENTICATION}/tokenreviews", {"token": "secret"})
    assert known["authenticated"]
    assert known["user"]["groups"] == ["system:masters", "system:authenticated"]
    unknown = await review(request_app, f"{AUTHENTICATION}/tokenreviews", {"token": "guess\u00e9"})
    assert unknown == {"user": {}, "error": "invalid bearer token"}
    empty = await request_app("POST", f"{AUTHENTICATION}/tokenreviews", b'{"spec":{}}')
    assert empty.code == 400


def pods(verb: str, **more: str) -> dict[str, Any]:
    return {"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default", **more}}


def path(of: str) -> dict[str, Any]:
    return {"nonResourceAttributes": {"verb": "get", "path": of}}


SCALE = {"verb": "patch", "group": "apps", "resource": "deployments", "subresource": "scale", "namespace": "default"}
SECRET = {"verb": "get", "resource": "secrets", "namespace": "default"}


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        pytest.param({"user": "bob"} | pods("get"), True, id="a role"),
        pytest.param({"user": "bob"} | pods("delete"), False, id="another verb"),
        pytest.param({"user": "bob"} | pods("get", namespace="kube-system"), False, id="another namespace"),
        pytest.param({"user": "bob"} | pods("get", namespace=""), False, id="all namespaces"),
        pytest.param({"user": "bob"} | pods("get", subresource="log"), False, id="a part of it"),
        pytest.param({"user": "bob", "resourceAttributes": SECRET | {"name": "s"}}, True, id="an object by name"),
        pytest.param({"user": "bob", "resourceAttributes": SECRET | {"name": "t"}}, False, id="another object"),
        pytest.param({"user": "eve"} | pods("get"), False, id="nobody's role"),
        pytest.param({"user": "carol"} | pods("get"), False, id="a role that is not there"),
        pytest.param({"user": "x", "groups": ["system:masters"]} | pods("delete"), True, id="a master"),
        pytest.param(
            {"user": "system:serviceaccount:default:sa", "resourceAttributes": SCALE}, True, id="a service account"
        ),
        pytest.param(
            {"groups": ["watchers"], "nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, True, id="a page"
        ),
        pytest.param(
            {"groups": ["watchers"], "nonResourceAttributes": {"verb": "get", "path": "/debug/x"}}, True, id="pages"
        ),
        pytest.param(
            {"groups": ["watchers"], "nonResourceAttributes": {"verb": "get", "path": "/configz"}}, False, id="no page"
        ),
        pytest.param(
            {
                "user": "system:anonymous",
                "groups": ["system:unauthenticated"],
            }
            | path("/metrics"),
            False,
            id="a stranger",
        ),
        pytest.param(
            {"groups": ["system:unauthenticated"], "nonResourceAttributes": {"verb": "get", "path": "/healthz"}},
            True,
            id="what everybody may see",
        ),
    ],
)
@pytest.mark.usefixtures("roles")
async def test_the_served_roles_decide(request_app: Requester, spec: dict[str, Any], allowed: bool) -> None:
    """Everybody used to be allowed everything."""
    answer = await review(request_app, f"{AUTHORIZATION}/subjectaccessreviews", spec)
    assert answer["allowed"] is allowed


@pytest.mark.usefixtures("roles")
async def test_an_answer_says_why(request_app: Requester) -> None:
    """In the words of Kubernetes."""
    path = f"{AUTHORIZATION}/subjectaccessreviews"
    bob = await review(request_app, path, {"user": "bob"} | pods("get"))
    assert bob["reason"] == 'RBAC: allowed by RoleBinding "b-reader/default" of Role "reader" to User "bob"'
    carol = await review(request_app, path, {"user": "carol"} | pods("get"))
    assert carol["reason"] == f'RBAC: clusterrole.{RBAC} "lost" not found'


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"user": "bob"}, id="about nothing"),
        pytest.param(pods("get"), id="about nobody"),
        pytest.param({"user": "b", "nonResourceAttributes": {"path": "/"}} | pods("get"), id="about two things"),
    ],
)
async def test_a_question_that_is_none(request_app: Requester, spec: dict[str, Any]) -> None:
    """Is refused, not denied."""
    answer = await request_app("POST", f"{AUTHORIZATION}/subjectaccessreviews", json.dumps({"spec": spec}).encode())
    assert answer.code == 422


@pytest.mark.usefixtures("roles")
async def test_who_acts_as_somebody_has_their_rights(request_app: Requester) -> None:
    """`kubectl --as bob`: reviews of oneself and requests alike."""
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    assert (await review(request_app, path, pods("delete")))["allowed"]
    assert not (await review(request_app, path, pods("delete"), **{"Impersonate-User": "bob"}))["allowed"]
    listing = "/api/v1/namespaces/default/pods"
    assert (await request_app("GET", listing, headers={"Impersonate-User": "bob"})).code == 200
    refused = await request_app("DELETE", listing, headers={"Impersonate-User": "bob"})
    assert refused.code == 403
    assert json.loads(refused.body)["message"] == (
        'pods is forbidden: User "bob" cannot deletecollection resource "pods" in API group "" '
        'in the namespace "default"'
    )
    page = await request_app("GET", "/openapi/v3", headers={"Impersonate-User": "system:anonymous"})
    assert page.code == 403
    assert (await request_app("GET", listing, headers={"Impersonate-Group": "system:masters"})).code == 400


@pytest.mark.usefixtures("roles")
async def test_the_rules_of_oneself(request_app: Requester) -> None:
    """`kubectl auth can-i --list`."""
    path, spec = f"{AUTHORIZATION}/selfsubjectrulesreviews", {"namespace": "default"}
    own = await review(request_app, path, spec)
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in own["resourceRules"]
    bobs = await review(request_app, path, spec, **{"Impersonate-User": "bob"})
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]} in bobs["resourceRules"]
    assert not any("*" in rule["verbs"] for rule in bobs["resourceRules"])
