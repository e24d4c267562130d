"""Events as they are to be written: named, stamped, and joined to equal ones (client-go's tools/events).

Equal events become one with a series: the second one is written at once, the count of later ones with the next refresh.
"""

from __future__ import annotations

import random
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from kubesched.client.rest import ApiObject
from kubesched.objects import KIND_OF, Event, Kind
from kubesched.objects.event import EventSeries
from kubesched.objects.meta import ObjectMeta, ObjectReference

# Ours: upstream's memory knows no bound.
MOST_REMEMBERED: Final = 10_000

NOTE_LIMIT: Final = 1024
_NOTE_SUFFIX: Final = " ..."
# Letters and digits, with hyphens between them, in parts with dots between them; `++` and `*+` never go back.
_DNS_SUBDOMAIN: Final = re.compile(r"[a-z0-9]++(?:-++[a-z0-9]++)*+(?:\.[a-z0-9]++(?:-++[a-z0-9]++)*+)*+")
_LONGEST_NAME: Final = 253

_Key = tuple[str, str, str, ObjectReference, ObjectReference | None]


class Occurrence(msgspec.Struct, frozen=True):
    """What was reported, and when; not an event yet."""

    time: float
    regarding: ApiObject | ObjectReference
    type: str
    reason: str
    action: str
    note: str
    related: ApiObject | ObjectReference | None


class _Remembered:
    """An event that equal ones may join, and when the last one did."""

    __slots__ = ("count", "event", "last_observed")

    def __init__(self, event: Event, observed: float) -> None:
        self.event = event
        self.count = 1
        self.last_observed = observed

    def snapshot(self) -> Event:
        if self.count == 1:
            return self.event
        series = EventSeries(count=self.count, last_observed_time=_micro_time(self.last_observed))
        return msgspec.structs.replace(self.event, series=series)


class EventMemory:
    """The events of one reporting controller that equal ones may still join."""

    def __init__(
        self,
        rng: random.Random,
        *,
        reporting_controller: str,
        hostname: str,
        kind_of: Callable[[type], Kind] = KIND_OF.__getitem__,
    ) -> None:
        """`kind_of` says in which API version the server has a kind."""
        self._rng = rng
        self._kind_of = kind_of
        self._controller = reporting_controller
        self._instance = f"{reporting_controller}-{hostname}"
        # Ordered: the front of a plain dict gets slower to find with everything that is taken from there.
        self._remembered: OrderedDict[_Key, _Remembered] = OrderedDict()
        self._last_stamp = 0

    def event_of(self, occurrence: Occurrence) -> Event | None:
        """The event to write; None if the occurrence only adds to the count of a running series."""
        about = self._reference_to(occurrence.regarding)
        also = self._reference_to(occurrence.related) if occurrence.related is not None else None
        now = occurrence.time
        key = (occurrence.type, occurrence.action, occurrence.reason, about, also)
        known = self._remembered.get(key)
        if known is not None:
            known.count += 1
            known.last_observed = now
            return known.snapshot() if known.count == 2 else None
        event = Event(
            metadata=ObjectMeta(name=self._name(about.name, now), namespace=about.namespace or "default"),
            event_time=_micro_time(now),
            reporting_controller=self._controller,
            reporting_instance=self._instance,
            action=occurrence.action,
            reason=occurrence.reason,
            regarding=about,
            related=also,
            note=truncate(occurrence.note),
            type=occurrence.type,
        )
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        self._remembered[key] = _Remembered(event, now)
        return event

    def running_series(self) -> list[Event]:
        """Every series with its count by now."""
        return [known.snapshot() for known in self._remembered.values() if known.count > 1]

    def forget(self, *, not_seen_since: float) -> list[Event]:
        """Forget what has not happened since then; the series among it, with their final counts."""
        old = [key for key, known in self._remembered.items() if known.last_observed < not_seen_since]
        forgotten = [self._remembered.pop(key) for key in old]
        return [known.snapshot() for known in forgotten if known.count > 1]

    def _name(self, about: str, now: float) -> str:
        """`<name>.<nanoseconds in hex>`, or a UUID where that is no valid name (util.GenerateEventName)."""
        stamp = self._last_stamp = max(int(now * 1e9), self._last_stamp + 1)
        name = f"{about}.{stamp:x}"
        if len(name) <= _LONGEST_NAME and _DNS_SUBDOMAIN.fullmatch(name):
            return name
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _reference_to(self, value: ApiObject | ObjectReference) -> ObjectReference:
        """A reference as client-go makes them, with the version that the event speaks of."""
        if isinstance(value, ObjectReference):
            return value
        kind, metadata = self._kind_of(type(value)), value.metadata
        return ObjectReference(
            api_version=kind.api_version,
            kind=kind.name,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )


def _micro_time(seconds: float) -> datetime:
    """A time that is written with all six digits, as API servers demand of a MicroTime: never on a full second."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment if moment.microsecond else moment.replace(microsecond=1)


def truncate(note: str) -> str:
    """A note within the 1024 bytes that the API server accepts (the scheduler's truncateMessage)."""
    data = note.encode()
    if len(data) <= NOTE_LIMIT:
        return note
    return data[: NOTE_LIMIT - len(_NOTE_SUFFIX)].decode(errors="ignore") + _NOTE_SUFFIX
