"""Object stores tell their listeners, and share what plugins derive from them."""

from __future__ import annotations

from kubesched.objects import Namespace, Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.scheduler.framework import ObjectStores
from kubesched.testing.builders import make_pod


def test_listeners_hear_of_everything() -> None:
    """What is there already counts as added; an update names both versions."""
    store = ObjectStores().of(Namespace)
    old = Namespace(metadata=ObjectMeta(name="n"))
    new = Namespace(metadata=ObjectMeta(name="n", labels={"a": "b"}))
    store.set(old)
    heard: list[tuple[Namespace | None, Namespace | None]] = []
    store.subscribe(lambda before, after: heard.append((before, after)))
    store.set(new)
    store.remove(new)
    store.remove(new)
    assert heard == [(None, old), (old, new), (new, None)]


def test_derived_values_are_made_once() -> None:
    """All profiles share what the first of them made."""
    stores = ObjectStores()
    assert stores.derived(list, lambda: [1]) is stores.derived(list, lambda: [2])


def test_objects_of_a_namespace() -> None:
    """The index is made when somebody asks for it, and follows what comes and goes from then on."""
    store = ObjectStores().of(Pod)
    one, two, elsewhere = make_pod("one"), make_pod("two"), make_pod("three", namespace="other")
    for pod in (one, elsewhere):
        store.set(pod)
    assert list(store.in_namespace("default")) == [one]
    store.set(two)
    store.remove(one)
    assert (list(store.in_namespace("default")), list(store.in_namespace("other"))) == ([two], [elsewhere])


def test_changes_are_written_from_the_first_time_that_they_are_asked_for() -> None:
    """A listener that was there before finds its own change in them."""
    store = ObjectStores().of(Pod)
    seen: list[int] = []
    store.subscribe(lambda old, new: seen.append(store.changes.position))
    store.set(make_pod("one"))
    store.set(make_pod("two"))
    assert seen == [0, 1]
    assert store.changes.since(0) == ["default/two"]
