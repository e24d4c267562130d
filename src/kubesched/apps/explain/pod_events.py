"""What the scheduler of a cluster last said about a pod that it could not place, beside what we say."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from kubesched.apps.explain.explanation import Explanation
from kubesched.client.rest import RestClient
from kubesched.errors import ClientError

FAILED: Final = "FailedScheduling"
PREEMPTION: Final = " preemption: "
"""What comes after it in a message depends on the moment: who is being evicted already."""


class Refusal(NamedTuple):
    """The message of an event, and when it was last repeated."""

    message: str
    at: datetime | None


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: datetime | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    message: str = ""
    event_time: datetime | None = None
    last_timestamp: datetime | None = None
    series: _Series | None = None

    @property
    def at(self) -> datetime | None:
        of_series = self.series.last_observed_time if self.series is not None else None
        return of_series or self.last_timestamp or self.event_time


class _Events(msgspec.Struct, frozen=True):
    items: list[_Event] | None = None


async def last_refusal(rest: RestClient, namespace: str, name: str) -> Refusal | None:
    """The newest event that says why the pod was not scheduled; None if there is none, or none to be read."""
    selector = quote(f"involvedObject.name={name},reason={FAILED}")
    try:
        body = await rest.call(
            "GET", f"/api/v1/namespaces/{namespace}/events", query=f"fieldSelector={selector}", retries=0
        )
    except ClientError:
        return None
    dated = [(event.at, event.message) for event in msgspec.json.decode(body, type=_Events).items or () if event.at]
    if not dated:
        return None
    at, message = max(dated)
    return Refusal(message, at)


def contradiction(explanation: Explanation, refusal: Refusal | None, now: datetime) -> str:
    """A sentence if the scheduler's event says something else than the explanation; empty otherwise."""
    if refusal is None or explanation.node or explanation.pre_enqueue is not None:
        return ""
    ours = explanation.fit_error or explanation.error
    if _core(ours) == _core(refusal.message):
        return ""
    when = f", {_ago(now, refusal.at)} ago," if refusal.at is not None else ""
    return (
        f'the last event about it{when} says something else: "{refusal.message}". The cluster has changed since, '
        "or its scheduler has another configuration: give that with --config"
    )


def _core(message: str) -> str:
    return message.partition(PREEMPTION)[0].strip().removesuffix(".")


def _ago(now: datetime, then: datetime) -> str:
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
