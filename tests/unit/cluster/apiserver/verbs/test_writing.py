"""Create and update in this process; the wire's view of them is the contract."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.options import WriteOptions
from kubesched.cluster.apiserver.storage import Store
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


def pod(name: str = "p", **spec: Any) -> Json:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def test_generated_names_avoid_taken_ones(api: Api) -> None:
    """Every name is new, and its base is cut to what a name may be."""
    pods = api.catalog.named("pods")
    names = {
        api.create(pods, {"metadata": {"generateName": "x" * 80}, "spec": pod()["spec"]}, "default").name
        for _ in range(20)
    }
    assert len(names) == 20
    assert {len(name) for name in names} == {63}


def test_same_seed_same_objects(clock: VirtualClock) -> None:
    """uids and names come from the generator that is handed in."""
    seen = []
    for _ in range(2):
        api = Api(store=Store(), clock=clock, rng=random.Random(3))
        bootstrap(api)
        value = pod() | {"metadata": {"generateName": "a-"}}
        seen.append(api.create(api.catalog.named("pods"), value, "default").raw)
    assert seen[0] == seen[1]


def test_a_write_without_effect_keeps_the_version(api: Api) -> None:
    """As etcd does: watchers hear nothing."""
    pods = api.catalog.named("pods")
    before = api.create(pods, pod(), "default")
    assert api.update(pods, before.decode(), "default").version == before.version


def test_a_change_function_sees_a_copy(api: Api) -> None:
    """A refused change leaves the object as it was."""
    pods = api.catalog.named("pods")
    before = api.create(pods, pod(), "default")

    def spoil(value: Json) -> Json:
        value["spec"]["containers"] = []
        return value

    with pytest.raises(RequestRefusedError, match="add or remove containers"):
        api.change(pods, "p", "default", spoil)
    assert api.reader.get(pods, "p", "default").raw == before.raw


def test_unknown_fields_become_warnings(api: Api) -> None:
    """Unless the writer asked for silence or for strictness."""
    options = WriteOptions()
    api.create(api.catalog.named("pods"), pod("a", nonsense=1), "default", options)
    assert options.warnings == ['unknown field "spec.nonsense"']
    silent = WriteOptions(ignore_unknown_fields=True)
    api.create(api.catalog.named("pods"), pod("b", nonsense=1), "default", silent)
    assert silent.warnings == []


def test_an_update_may_create_where_the_kind_allows_it(api: Api) -> None:
    """Leases are taken by whoever comes first."""
    leases = api.catalog.named("leases.coordination.k8s.io")
    entry = api.update(leases, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}, "default")
    assert entry.decode()["spec"]["holderIdentity"] == "me"


def test_events_are_stored_in_one_form(api: Api) -> None:
    """Whichever group wrote them."""
    events = next(item for item in api.catalog if item.api_version == "events.k8s.io/v1")
    value = {"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "p"}, "note": "hello"}
    stored = api.create(events, value, "default").decode()
    assert (stored["involvedObject"]["name"], stored["message"]) == ("p", "hello")
    changed = api.change(events, "e", "default", lambda event: event | {"note": "again"})
    assert changed.decode()["message"] == "again"
