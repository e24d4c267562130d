"""Whatever is sent, the answer is an answer."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.authorization import Authorizer
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.catalog import CATALOG
from kubesched.cluster.apiserver.http.negotiation import Form
from kubesched.cluster.apiserver.http.paths import Target
from kubesched.cluster.apiserver.http.resources import Request, ResourceRequests
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import FieldType, Shape, struct
from kubesched.cluster.apiserver.storage import Store
from kubesched.cluster.apiserver.users import Tokens
from kubesched.cluster.apiserver.verbs.reviews import Reviewer
from kubesched.errors import RequestRefusedError

WORDS = st.sampled_from(
    ["", "a", "web", "10%", "1Gi", "-5", "Always", "In", "Exists", "n1", "A_B", "2024-99-01T00:00:00Z"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
SCALARS = {
    Shape.INT32: st.integers(-3, 200),
    Shape.INT64: st.integers(-3, 200),
    Shape.BOOLEAN: st.booleans(),
    Shape.QUANTITY: st.sampled_from(["0", "1", "500m", "-1", "1Gi"]),
    Shape.TIME: st.sampled_from(["2024-01-01T00:00:00Z", "2024-99-99T00:00:00Z"]),
    Shape.MICRO_TIME: st.just("2024-01-01T00:00:00.000000Z"),
}


@st.composite
def objects(draw: st.DrawFn, struct_name: str, depth: int = 0) -> dict[str, Any]:
    """Mostly of the right shape, with some fields of the struct and now and then nonsense."""
    fields = struct(struct_name).fields
    always = [name for name in ("metadata", "spec", "containers", "template", "name") if name in fields]
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True)) if depth < 6 and fields else []
    return {name: draw(values(fields[name], depth + 1)) for name in {*chosen, *always} if depth < 9}


def values(kind: FieldType, depth: int) -> st.SearchStrategy[Any]:
    match kind.shape:
        case Shape.STRUCT:
            right: st.SearchStrategy[Any] = objects(kind.struct_name, depth)
        case Shape.LIST:
            assert kind.item is not None
            right = st.lists(values(kind.item, depth), max_size=2)
        case Shape.MAP:
            assert kind.item is not None
            right = st.dictionaries(WORDS, values(kind.item, depth), max_size=2)
        case shape:
            right = SCALARS.get(shape, WORDS)
    return st.one_of(right, right, right, right, right, right, right, ANYTHING)


def named(body: Any) -> Any:
    """Nonsense that gets past the first door: its kind and its name are right."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        return body
    kept = ("labels", "annotations", "finalizers", "ownerReferences")
    metadata = {key: item for key, item in body["metadata"].items() if key in kept}
    plain = {key: item for key, item in body.items() if key not in ("kind", "apiVersion")}
    return plain | {"metadata": metadata | {"name": "a"}}


def send(
    api: Api, method: str, resource: Resource, body: Any, *, name: str = "", part: str = "", media: str = ""
) -> int:
    """The code of the answer. Anything but an answer or a refusal fails the test."""
    target = Target(resource, "default" if resource.namespaced else "", name, part)
    content = json.dumps(body).encode()
    request = Request(method, {}, Form.TABLE, content, media or "application/json")
    try:
        reviewer = Reviewer(Tokens("secret"), Authorizer(api.store, api.catalog))
        return ResourceRequests(api, reviewer).handle(target, request).code
    except RequestRefusedError as refusal:
        return refusal.code


@pytest.mark.parametrize("resource", [pytest.param(item, id=f"{item.group}/{item.plural}") for item in CATALOG])
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_nonsense_is_refused_or_stored(resource: Resource, data: st.DataObject) -> None:
    """Create, replace, patch in every way, apply, read as a table, delete."""
    api = Api(store=Store(history=64), clock=VirtualClock(), rng=random.Random(1))
    bootstrap(api)
    send(api, "POST", resource, named(data.draw(objects(resource.struct_name))))
    if "patch" not in resource.verbs:
        return
    change = named(data.draw(objects(resource.struct_name) | ANYTHING))
    send(api, "PUT", resource, change, name="a")
    for media in ("merge-patch+json", "strategic-merge-patch+json", "json-patch+json"):
        send(api, "PATCH", resource, change, name="a", media=f"application/{media}")
    if resource.has_status:
        send(api, "PATCH", resource, change, name="a", part="status", media="application/merge-patch+json")
    send(api, "GET", resource, None)
    send(api, "DELETE", resource, data.draw(objects("meta.v1.DeleteOptions") | ANYTHING), name="a")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(binding=objects("core.v1.Binding") | ANYTHING, eviction=objects("policy.v1.Eviction") | ANYTHING)
def test_nonsense_for_a_pod(binding: Any, eviction: Any) -> None:
    """Bindings and evictions."""
    api = Api(store=Store(), clock=VirtualClock(), rng=random.Random(1))
    bootstrap(api)
    pods = api.catalog.named("pods")
    api.create(pods, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, "default")
    send(api, "POST", pods, binding, name="a", part="binding")
    send(api, "POST", pods, eviction, name="a", part="eviction")
