"""Events have two faces: `v1` and `events.k8s.io/v1`. They are stored in the first one's form."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.resource import Conversion
from kubesched.objects.base import Json

_RENAMED: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def _rename(event: Json, names: dict[str, str]) -> None:
    for old, new in names.items():
        if old in event:
            event[new] = event.pop(old)


def _to_stored(event: Json) -> None:
    _rename(event, _RENAMED)


def _from_stored(event: Json) -> None:
    _rename(event, {stored: shown for shown, stored in _RENAMED.items()})


EVENTS_GROUP: Final = Conversion(to_stored=_to_stored, from_stored=_from_stored)
