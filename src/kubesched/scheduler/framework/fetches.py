"""Facts from outside the cluster: fetched over HTTP again and again beside the loop, with the last value at hand.

    self._load = handle.fetch("http://prometheus:9090/api/v1/query?query=...", every=15)
    ...
    self._load.value       # what the last answer said; None before the first one
    self._load.version     # for external_version: changes whenever the value does
    self._load.event       # for events_to_register: the value has changed

A fetch that fails changes nothing: the last value stays, with its `age` and the `problem`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

import msgspec

from kubesched.clock import Clock
from kubesched.errors import InvalidObjectError
from kubesched.objects import decode
from kubesched.scheduler.framework.events import Action, ClusterEvent
from kubesched.telemetry.logging import log

T = TypeVar("T")


class Fetched(Generic[T]):
    """What one address said last. Read by plugins; written by whoever fetches."""

    def __init__(self, url: str, every: float, into: type[T], headers: Mapping[str, str], fetches: Fetches) -> None:
        self.url = url
        self.every = every
        self.headers = headers
        self.value: T | None = None
        """None before the first answer."""
        self.version = 0
        """Changes with the value: part of a plugin's `external_version`."""
        self.problem = ""
        """Why the last fetch failed; empty if it did not."""
        self.event = ClusterEvent(f"fetched {url}", Action.UPDATE)
        """The value has changed: wakes pods that the plugin rejected, if it registers it."""
        self.body: bytes | None = None
        self._into = into
        self._fetched_at: float | None = None
        self._fetches = fetches

    @property
    def age(self) -> float | None:
        """Seconds since the value was fetched; None before the first answer."""
        return None if self._fetched_at is None else self._fetches.clock.monotonic() - self._fetched_at

    def answered(self, body: bytes) -> None:
        """An answer came. One that cannot be read is a problem, and the last value stays."""
        if body != self.body:
            try:
                value = decode(body, self._into)
            except InvalidObjectError as error:
                self.failed(f"the answer cannot be read: {error}")
                return
            is_new = self.version == 0 or value != self.value
            self.value, self.body = value, body
            if is_new:
                self.version += 1
                self._fetches.changed(self.event)
        if self.problem:
            log.info("A fact is fetched again", url=self.url)
        self.problem, self._fetched_at = "", self._fetches.clock.monotonic()

    def failed(self, problem: str) -> None:
        """Logged when it begins: not again with every fetch that fails for the same reason."""
        if problem != self.problem:
            log.error("A fact cannot be fetched, the last value stays", problem, url=self.url)
        self.problem = problem


class Fetches:
    """All addresses that the plugins of a scheduler want to be fetched. `changed` is called for every new value."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.changed: Callable[[ClusterEvent], None] = lambda event: None
        self.asked: list[Fetched[Any]] = []
        """What was asked for since the last `fetch_only`."""
        self._all: dict[tuple[str, type, tuple[tuple[str, str], ...]], Fetched[Any]] = {}

    def __iter__(self) -> Iterator[Fetched[Any]]:
        return iter(tuple(self._all.values()))

    def add(self, url: str, every: float, into: type[T], headers: Mapping[str, str]) -> Fetched[T]:
        """Plugins that ask for the same share the answer; it is fetched as often as the most eager one wants.

        ValueError for an address that is none.
        """
        if not url.startswith(("http://", "https://", "/")):
            raise ValueError(f"fetch: {url!r} is neither an http(s) URL nor a path of the API server")
        if not every > 0:
            raise ValueError(f"fetch: every must be more than 0 seconds, not {every}")
        key = (url, into, tuple(sorted(headers.items())))
        known = self._all.get(key)
        if known is None:
            known = self._all[key] = Fetched(url, every, into, headers, self)
        known.every = min(known.every, every)
        self.asked.append(known)
        return cast("Fetched[T]", known)

    def fetch_only(self, asked: Iterable[Fetched[Any]]) -> None:
        """Plugins that others took the place of need theirs no longer."""
        self.asked = []
        wanted = set(asked)
        self._all = {key: fetched for key, fetched in self._all.items() if fetched in wanted}

    def publish(self, url: str, content: Any) -> bool:
        """An answer without a network: for simulations and tests. False if no plugin fetches this address."""
        body = content if isinstance(content, bytes) else msgspec.json.encode(content)
        found = [fetched for fetched in self if fetched.url == url]
        for fetched in found:
            fetched.answered(body)
        return bool(found)
