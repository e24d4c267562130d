"""Applying configurations; the wire's view is the contract."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.cluster.apiserver.ownership import ApplyConflictError, Manager, apply_configuration
from kubesched.cluster.apiserver.schema import struct
from kubesched.objects.base import Json

CONFIG_MAP = struct("core.v1.ConfigMap")


def applier(name: str, time: str = "now") -> Manager:
    return Manager(name=name, operation="Apply", api_version="v1", time=time)


def apply(
    live: Json, managers: list[Manager], name: str, data: Json, *, force: bool = False
) -> tuple[Json, list[Manager]]:
    return apply_configuration(live, {"data": data}, CONFIG_MAP, managers, applier(name), force=force)


def test_equal_values_are_shared() -> None:
    """Two managers may own one field while they agree."""
    live, managers = apply({}, [], "one", {"a": "1"})
    live, managers = apply(live, managers, "two", {"a": "1"})
    assert [manager.fields for manager in managers] == [frozenset({("f:data", "f:a")})] * 2


def test_a_conflict_changes_nothing() -> None:
    """The live object stays as it is."""
    live, managers = apply({}, [], "one", {"a": "1"})
    with pytest.raises(ApplyConflictError) as refused:
        apply(live, managers, "two", {"a": "2"})
    assert [(manager.name, path) for manager, path in refused.value.conflicts] == [("one", ("f:data", "f:a"))]
    assert live == {"data": {"a": "1"}}


def test_the_time_is_that_of_the_last_change() -> None:
    """Applying the same again is no change."""
    live, managers = apply_configuration({}, {"data": {"a": "1"}}, CONFIG_MAP, [], applier("one", "first"), force=False)
    _, managers = apply_configuration(
        live, {"data": {"a": "1"}}, CONFIG_MAP, managers, applier("one", "second"), force=False
    )
    assert [manager.time for manager in managers] == ["first"]


@settings(deadline=None)  # a busy machine is no error
@given(
    st.lists(st.tuples(st.sampled_from(["one", "two"]), st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"))))
)
def test_every_field_has_an_owner_and_every_owner_gets_its_way(applied: list[tuple[str, Json]]) -> None:
    """After any sequence of forced applies, what is there is exactly what somebody applied last."""
    live: Json = {}
    managers: list[Manager] = []
    last: dict[str, Json] = {}
    for name, data in applied:
        live, managers = apply(live, managers, name, data, force=True)
        last[name] = data
        assert data.items() <= (live.get("data") or {}).items()
    owned = {path[1][2:] for manager in managers for path in manager.fields if len(path) == 2}
    assert set(live.get("data") or {}) == owned
    assert set(live.get("data") or {}) <= {key for data in last.values() for key in data}
