"""Watches in this process."""

from __future__ import annotations

import asyncio

import pytest

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import WatchOptions
from kubesched.cluster.apiserver.selectors import parse_field_selector, parse_label_selector
from kubesched.cluster.apiserver.storage import CompactedError
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


def config(name: str, **labels: str) -> Json:
    return {"metadata": {"name": name, "labels": labels}}


async def test_changes_arrive_as_they_happen(api: Api) -> None:
    """In order, without polling."""
    maps = api.catalog.named("configmaps")
    watch = api.watch(maps)
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        async for kind, change in watch.changes():
            seen.append((kind.value, change.entry.name))

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)
    api.create(maps, config("a"), "default")
    await asyncio.sleep(0)
    api.delete(maps, "a", "default")
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    assert seen == [("ADDED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize(
    ("options", "namespace", "expected"),
    [
        pytest.param(
            WatchOptions(labels=parse_label_selector("x=1")), "", ["ADDED", "MODIFIED", "DELETED"], id="a label"
        ),
        pytest.param(
            WatchOptions(labels=parse_label_selector("x!=1")), "", ["ADDED", "DELETED", "ADDED"], id="its opposite"
        ),
        pytest.param(
            WatchOptions(fields=parse_field_selector("metadata.name=b", {"metadata.name"})), "", [], id="another name"
        ),
        pytest.param(WatchOptions(), "kube-system", [], id="another namespace"),
        pytest.param(WatchOptions(), "default", ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED"], id="its namespace"),
    ],
)
def test_selectors_turn_changes_into_comings_and_goings(
    api: Api, options: WatchOptions, namespace: str, expected: list[str]
) -> None:
    """An object that begins to match is added for that watcher; one that stops is deleted."""
    maps = api.catalog.named("configmaps")
    watch = api.watch(maps, namespace, options)
    api.create(maps, config("a"), "default")
    for labels in ({"x": "1"}, {"x": "1", "y": "2"}, {"x": "2"}):
        api.update(maps, config("a", **labels), "default")
    assert [kind.value for kind, _ in watch.read()] == expected


def test_state_and_changes_do_not_overlap(api: Api) -> None:
    """What the initial state contains is not told again."""
    maps = api.catalog.named("configmaps")
    api.create(maps, config("a"), "default")
    watch = api.watch(maps)
    api.create(maps, config("b"), "default")
    assert [entry.name for entry in watch.initial] == ["a"]
    assert [change.entry.name for _, change in watch.read()] == ["b"]


def test_an_old_version_is_refused_and_a_slow_watcher_dropped(api: Api) -> None:
    """Both have to list anew."""
    maps = api.catalog.named("configmaps")
    first = api.create(maps, config("first"), "default").version
    slow = api.watch(maps, options=WatchOptions(version=str(first)))
    for index in range(200):
        api.create(maps, config(f"x{index}"), "default")
    with pytest.raises(RequestRefusedError, match="410 Expired: too old resource version"):
        api.watch(maps, options=WatchOptions(version=str(first)))
    with pytest.raises(CompactedError):
        slow.read()
