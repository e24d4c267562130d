"""A local copy of one kind, and those who want to hear what changes in it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from kubesched.client.reflector import BATCH, Reflector
from kubesched.client.rest import ApiObject, RestClient
from kubesched.clock import Clock
from kubesched.telemetry.logging import log

NON_TERMINAL_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector for pods that still count (the scheduler's pod informer)."""

T = TypeVar("T", bound=ApiObject)
T_contra = TypeVar("T_contra", contravariant=True)


class Handler(Protocol[T_contra]):
    """Hears of changes, in order, after the store has them. What it raises is logged, and the rest goes on."""

    def on_add(self, value: T_contra, is_initial: bool) -> None:
        """`is_initial`: part of the first list, not news."""
        ...

    def on_update(self, old: T_contra, new: T_contra) -> None: ...

    def on_delete(self, last_known: T_contra, maybe_stale: bool) -> None:
        """`maybe_stale`: the deletion was missed, or its final state unreadable; this is what we knew before."""
        ...


class Informer(Generic[T]):
    """The store of one kind by `namespace/name`. Reading it never waits; before `has_synced` it is incomplete."""

    def __init__(self, struct: type[T], *, first_list_in_pages: bool = False) -> None:
        self.struct = struct
        self._first_list_in_pages = first_list_in_pages
        self._objects: dict[str, T] = {}
        self._handlers: list[Handler[T]] = []
        self._synced = asyncio.Event()
        self._reflector: Reflector[T] | None = None

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in the store and was delivered to every handler."""
        return self._synced.is_set()

    @property
    def last_sync_resource_version(self) -> str:
        return self._reflector.last_sync_resource_version if self._reflector is not None else ""

    async def wait_for_sync(self) -> None:
        await self._synced.wait()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(f"{namespace}/{name}" if namespace else name)

    def add_handler(self, handler: Handler[T]) -> None:
        """From now on; what is in the store already is delivered at once, as part of the first list."""
        self._handlers.append(handler)
        for value in list(self._objects.values()):
            _guard(handler.on_add, value, True)

    async def run(self, rest: RestClient, clock: Clock, rng: random.Random, **selection: str) -> None:
        """Follow the server until cancelled. Selection: `namespace`, `field_selector`, `label_selector`."""
        self._reflector = Reflector(
            *(rest, self.struct, self, clock, rng),
            first_list_in_pages=self._first_list_in_pages,
            namespace=selection.get("namespace", ""),
            field_selector=selection.get("field_selector", ""),
            label_selector=selection.get("label_selector", ""),
        )
        await self._reflector.run()

    def expect(self, value: T) -> None:
        """The first list is delivered as it comes in: the server works on the next page meanwhile.

        Should it break off, the next one corrects what was delivered.
        """
        if not self.has_synced:
            self.put(value, is_initial=True)

    async def replace(self, objects: dict[str, T], unreadable: set[str]) -> None:
        """Become equal to a list: what differs is delivered, and deletions that were missed too."""
        initial = not self.has_synced
        gone = [key for key in self._objects if key not in objects and key not in unreadable]
        for key in gone:
            self._delete(key, self._objects[key], maybe_stale=True)
        for count, value in enumerate(objects.values(), start=1):
            self.put(value, is_initial=initial)
            if count % BATCH == 0:
                await asyncio.sleep(0)
        self._synced.set()

    def put(self, value: T, is_initial: bool = False) -> None:
        metadata = value.metadata
        key, version = metadata.key, metadata.resource_version
        old = self._objects.get(key)
        if old is not None and version and old.metadata.resource_version == version:
            return  # nothing new: a relist repeats what we have
        self._objects[key] = value
        for handler in self._handlers:
            if old is None:
                _guard(handler.on_add, value, is_initial)
            else:
                _guard(handler.on_update, old, value)

    def remove(self, key: str, final: T | None) -> None:
        known = self._objects.get(key)
        if known is not None:
            self._delete(key, final if final is not None else known, maybe_stale=final is None)

    def _delete(self, key: str, last_known: T, *, maybe_stale: bool) -> None:
        del self._objects[key]
        for handler in self._handlers:
            _guard(handler.on_delete, last_known, maybe_stale)


class InformerFactory:
    """One informer per kind, started and stopped together."""

    def __init__(
        self, rest: RestClient, clock: Clock, rng: random.Random, *, first_list_in_pages: bool = False
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._rng = rng
        self._first_list_in_pages = first_list_in_pages
        self._informers: dict[type, Informer[Any]] = {}
        self._selections: dict[type, dict[str, str]] = {}
        self._tasks: dict[type, asyncio.Task[None]] = {}

    def informer(self, struct: type[T], **selection: str) -> Informer[T]:
        """The kind's informer. The first call decides on `namespace`, `field_selector`, `label_selector`."""
        if struct not in self._informers:
            self._informers[struct] = Informer(struct, first_list_in_pages=self._first_list_in_pages)
            self._selections[struct] = selection
        return cast(Informer[T], self._informers[struct])

    def start(self) -> None:
        """Start every informer that does not run yet."""
        for struct, informer in self._informers.items():
            if struct not in self._tasks:
                coroutine = informer.run(self._rest, self._clock, self._rng, **self._selections[struct])
                self._tasks[struct] = asyncio.create_task(coroutine, name=f"informer-{struct.__name__}")

    async def drop(self, struct: type) -> None:
        """Follow a kind no longer, and forget its informer."""
        self._informers.pop(struct, None)
        task = self._tasks.pop(struct, None)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def wait_for_sync(self) -> None:
        """Return when all first lists are in."""
        for informer in tuple(self._informers.values()):
            await informer.wait_for_sync()

    async def stop(self) -> None:
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


def _guard(callback: Callable[..., None], *args: object) -> None:
    try:
        callback(*args)
    except Exception as error:
        log.error("A handler failed", error, handler=getattr(callback, "__qualname__", callback))
