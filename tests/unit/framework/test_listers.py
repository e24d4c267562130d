"""Object stores tell their listeners, and share what plugins derive from them."""

from __future__ import annotations

from kubesched.framework import ObjectStores
from kubesched.objects import Namespace, ObjectMeta


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
