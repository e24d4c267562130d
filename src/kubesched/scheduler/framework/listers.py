"""What the informers know, by kind: read by plugins, written by the event handlers. And what they are to watch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import MethodType
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast
from weakref import WeakMethod

from kubesched.objects import KIND_OF, decoding, is_kind
from kubesched.objects.meta import ObjectMeta
from kubesched.scheduler.columns import Journal

T = TypeVar("T")

Listener = Callable[[T | None, T | None], None]
"""(old, new): old is None when the object was added, new when it was removed."""


class ObjectStore(Generic[T]):
    """The objects of one kind. `version` changes with every change: use it in a plugin's `external_version`.

    There are two ways to keep an index of them. Read `changes`, the keys (`namespace/name`, or just the name) that were
    set or removed, when the index is asked for something: then only what is needed is looked at, and a burst of
    changes costs little. Or `subscribe`, where one must see what was there before, or must never be behind.
    """

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}
        self._by_namespace: dict[str, dict[str, T]] | None = None  # made when somebody asks for it
        self._changes: Journal[str] | None = None  # likewise
        self._followers: list[Callable[[str, T | None, T | None], None]] = []  # called with key, old and new
        self.version = 0

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    @property
    def changes(self) -> Journal[str]:
        """Written from the first time that somebody asks for it."""
        if self._changes is None:
            self._changes = Journal()
            self._followers = [self._note, *self._followers]  # before the listeners: one of them may read it
        return self._changes

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(f"{namespace}/{name}" if namespace else name)

    def in_namespace(self, namespace: str) -> Iterator[T]:
        if self._by_namespace is None:
            self._by_namespace = {}
            for key, obj in self._objects.items():
                self._index(key, None, obj)
            self._followers = [self._index, *self._followers]  # likewise
        return iter(self._by_namespace.get(namespace, {}).values())

    def subscribe(self, listener: Listener[T]) -> None:
        """Call `listener` for every change from now on, and for what is there already, at once.

        A method is called for as long as its object lives: keep what subscribes.
        """
        for obj in self:
            listener(None, obj)
        if not isinstance(listener, MethodType):
            self._followers = [*self._followers, lambda key, old, new: listener(old, new)]
            return
        method = WeakMethod(listener)

        def follow(key: str, old: T | None, new: T | None) -> None:
            if (alive := method()) is not None:
                alive(old, new)
            else:
                self._followers = [follower for follower in self._followers if follower is not follow]

        self._followers = [*self._followers, follow]

    def set(self, obj: T) -> T | None:
        """Add or replace; returns what was there before."""
        metadata: ObjectMeta = obj.metadata  # type: ignore[attr-defined]  # every Kubernetes object has it
        namespace = metadata.namespace
        key = f"{namespace}/{metadata.name}" if namespace else metadata.name
        old = self._objects.get(key)
        self._objects[key] = obj
        self.version += 1
        for follow in self._followers:
            follow(key, old, obj)
        return old

    def remove(self, obj: T) -> T | None:
        """Returns what was there; None if there was nothing."""
        key: str = obj.metadata.key  # type: ignore[attr-defined]  # every Kubernetes object has it
        old = self._objects.pop(key, None)
        if old is not None:
            self.version += 1
            for follow in self._followers:
                follow(key, old, None)
        return old

    def _note(self, key: str, old: T | None, new: T | None) -> None:
        self.changes.append(key)

    def _index(self, key: str, old: T | None, new: T | None) -> None:
        assert self._by_namespace is not None
        namespace = key.rpartition("/")[0]
        if new is not None:
            self._by_namespace.setdefault(namespace, {})[key] = new
        else:
            del self._by_namespace[namespace][key]


class Selection(NamedTuple):
    """Which objects of a kind are watched; without any restriction, all."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


EVERYTHING: Final = Selection()


def united(asked: Iterable[tuple[type, Selection]]) -> dict[type, Selection]:
    """What contains all that was asked for: everything of a kind, where the selections differ."""
    together: dict[type, Selection] = {}
    for kind, selection in asked:
        if together.setdefault(kind, selection) != selection:
            together[kind] = EVERYTHING
    return together


class ObjectStores:
    """One store per kind, made on first use."""

    def __init__(self) -> None:
        self._stores: dict[type, ObjectStore[Any]] = {}
        self._derived: dict[type, object] = {}
        self.watched: dict[type, Selection] = {}
        """The kinds that plugins asked for, besides those that every scheduler watches."""
        self.asked: list[tuple[type, Selection]] = []
        """What was asked for since the last `watch_only`."""

    def __iter__(self) -> Iterator[ObjectStore[Any]]:
        return iter(tuple(self._stores.values()))

    def by_kind(self) -> Iterator[tuple[type, ObjectStore[Any]]]:
        """Those that are in use."""
        return iter(tuple(self._stores.items()))

    def of(self, kind: type[T]) -> ObjectStore[T]:
        store = self._stores.get(kind)
        if store is None:
            store = self._stores[kind] = ObjectStore()
        return store

    def watch(self, kind: type[T], selection: Selection = EVERYTHING) -> ObjectStore[T]:
        """The store of a kind that is to be watched. Where several ask for different selections, all is watched.

        TypeError if it is none: a plugin's own struct says by its `resource` how the kind is served.
        """
        if not is_kind(kind):
            raise TypeError(f"{kind.__name__} is no kind: declare it as a CustomObject with a `resource`")
        decoding(kind)  # fails here, not with the first object, if its fields have types that nobody can decode
        self.asked.append((kind, selection))
        self.watched = united([*self.watched.items(), (kind, selection)])
        return self.of(kind)

    def watch_only(self, asked: Iterable[tuple[type, Selection]]) -> None:
        """Watch what the plugins of now asked for. What was kept of kinds that only others declared is dropped."""
        self.asked = []
        before, self.watched = self.watched, united(asked)
        for kind in before:
            if kind not in self.watched and kind not in KIND_OF:
                self._stores.pop(kind, None)

    def derived(self, kind: type[T], make: Callable[[], T]) -> T:
        """What a plugin derives from the stores, shared by all profiles: made by the first that asks."""
        known = self._derived.get(kind)
        if known is None:
            known = self._derived[kind] = make()
        return cast(T, known)
