"""Server-side apply: when it is a write, and what it says about the time. The rest is part of the contract."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import WriteOptions
from kubesched.cluster.apiserver.storage import Entry
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

CONFIG_MAP: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}
SECRET: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m"}, "stringData": {"a": "1"}}
SERVICE: Json = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "m"}, "spec": {"ports": [{"port": 80}]}}


def apply(api: Api, resource: str, configuration: Json, manager: str) -> Entry:
    options = WriteOptions(field_manager=manager)
    return api.applier.apply(api.catalog.named(resource), "m", "default", copy.deepcopy(configuration), options)[0]


@pytest.mark.parametrize(
    ("resource", "configuration"),
    [
        pytest.param("configmaps", CONFIG_MAP, id="a plain object"),
        pytest.param("services", SERVICE, id="fields that the cluster fills in"),
    ],
)
async def test_what_changes_nothing_is_no_write(
    api: Api, clock: VirtualClock, resource: str, configuration: Json
) -> None:
    """Whoever applies the same again, later and in whatever order, leaves version and times alone."""
    apply(api, resource, configuration, "one")
    await clock.advance(5)
    before = apply(api, resource, configuration, "two")
    for manager in ("one", "two", "one"):
        await clock.advance(5)
        after = apply(api, resource, configuration, manager)
        assert after.version == before.version
    times = [item["time"] for item in after.decode()["metadata"]["managedFields"]]
    assert times == sorted(set(times))


async def test_only_whose_fields_change_gets_a_new_time(api: Api, clock: VirtualClock) -> None:
    """The others' times say when theirs did."""
    first = {item["manager"]: item["time"] for item in _managers(apply(api, "configmaps", CONFIG_MAP, "one"))}
    await clock.advance(5)
    more = {**CONFIG_MAP, "data": {"a": "1", "b": "2"}}
    second = {item["manager"]: item["time"] for item in _managers(apply(api, "configmaps", more, "two"))}
    assert second["one"] == first["one"]
    assert second["two"] > first["one"]


async def test_a_field_that_is_never_stored(api: Api, clock: VirtualClock) -> None:
    """Its owner keeps it: neither an update nor an apply without changes is a write."""
    before = apply(api, "secrets", SECRET, "one")
    await clock.advance(5)
    secrets = api.catalog.named("secrets")
    after = api.change(secrets, "m", "default", lambda value: value, options=WriteOptions(field_manager="two"))
    assert after.version == before.version
    await clock.advance(5)
    assert apply(api, "secrets", SECRET, "one").version == before.version


def _managers(entry: Entry) -> list[Json]:
    found: list[Json] = entry.decode()["metadata"]["managedFields"]
    return found


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param("", id="empty"),
        pytest.param("[1]", id="not an object"),
        pytest.param("[" * 5000, id="too deep to be read"),
        pytest.param('{"data": 5}', id="not such an object"),
    ],
)
def test_a_last_configuration_that_nobody_applied(api: Api, annotation: str) -> None:
    """It gives kubectl nothing: who else wrote the field is asked."""
    metadata = {"name": "m", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": annotation}}
    api.create(api.catalog.named("configmaps"), {"metadata": metadata, "data": {"a": "0"}}, "default")
    with pytest.raises(RequestRefusedError, match="conflict with"):
        apply(api, "configmaps", CONFIG_MAP, "kubectl")


@pytest.mark.parametrize(
    ("given", "left"),
    [
        pytest.param([], False, id="an empty list forgets them"),
        pytest.param([{}], False, id="so does an empty entry"),
        pytest.param([{"manager": "x", "fieldsV1": {"f:data": 5}}], True, id="nonsense is left out"),
        pytest.param([{"manager": "x", "fieldsV1": [1]}], True, id="another nonsense"),
        pytest.param(None, True, id="nothing said, nothing changed"),
    ],
)
def test_a_writer_sets_managed_fields(api: Api, given: Any, left: bool) -> None:
    """As far as they can be read."""
    apply(api, "configmaps", CONFIG_MAP, "one")

    def change(value: Json) -> Json:
        value["metadata"]["managedFields"] = given
        return value

    after = api.change(api.catalog.named("configmaps"), "m", "default", change).decode()["metadata"]
    assert [item["manager"] for item in after.get("managedFields") or ()] == (["one"] if left else [])
