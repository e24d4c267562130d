"""Events that controllers and kubelets write, with the limits that client-go's recorder has.

Equal events become one with a count. One object gets 25 events at once and then one every five minutes
(`NewEventSourceObjectSpamFilter`); all of a component together get a rate, as a kubelet's `eventRecordQPS`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from kubesched.clock import Clock, utc
from kubesched.cluster.apiserver.api import Api
from kubesched.errors import RequestRefusedError
from kubesched.objects.meta import ObjectMeta
from kubesched.telemetry.logging import log

BURST_PER_OBJECT: Final = 25
SECONDS_PER_EVENT: Final = 300.0
REMEMBERED: Final = 4096


class TokenBucket:
    def __init__(self, clock: Clock, *, burst: int, per_second: float) -> None:
        self._clock = clock
        self._burst = burst
        self._rate = per_second
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def take(self) -> bool:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class EventWriter:
    """Writes in the name of one component. Never raises: an event is not worth a failure."""

    def __init__(self, api: Api, component: str, *, burst: int = 500, per_second: float = 100.0) -> None:
        self._api = api
        self._clock = api.clock
        self._component = component
        self._events = api.catalog.named("events")
        self._all = TokenBucket(self._clock, burst=burst, per_second=per_second)
        self._per_object: OrderedDict[str, TokenBucket] = OrderedDict()
        self._known: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        self._last_stamp = 0

    def normal(self, kind: str, about: ObjectMeta, reason: str, message: str, **more: str) -> None:
        self._write("Normal", kind, about, reason, message, **more)

    def warning(self, kind: str, about: ObjectMeta, reason: str, message: str, **more: str) -> None:
        self._write("Warning", kind, about, reason, message, **more)

    def _write(
        self,
        event_type: str,
        kind: str,
        about: ObjectMeta,
        reason: str,
        message: str,
        *,
        api_version: str = "v1",
        host: str = "",
        field_path: str = "",
    ) -> None:
        namespace = about.namespace or "default"
        key = (about.uid, reason, message)
        if not self._bucket(about.uid).take() or not self._all.take():
            return
        if (name := self._known.get(key)) is not None and self._count_again(name, namespace):
            return
        reference = {"kind": kind, "apiVersion": api_version, "name": about.name, "uid": about.uid}
        if about.namespace:
            reference["namespace"] = about.namespace
        if field_path:
            reference["fieldPath"] = field_path
        name, now = self._name(about.name), self._now()
        event = {
            "metadata": {"name": name},
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "type": event_type,
            "source": {"component": self._component} | ({"host": host} if host else {}),
            "reportingComponent": self._component,
            "reportingInstance": host,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._api.create(self._events, event, namespace)
        except RequestRefusedError as refusal:
            log.info("Event was refused", v=4, reason=reason, name=about.name, err=refusal)
            return
        _remember(self._known, key, name)

    def _count_again(self, name: str, namespace: str) -> bool:
        found = self._api.reader.bucket(self._events).get(namespace, name)
        if found is None:
            return False
        event = found.decode()
        event["count"] = (event.get("count") or 1) + 1
        event["lastTimestamp"] = self._now()
        self._api.writer.replace(self._events, found, {}, event)
        return True

    def _bucket(self, uid: str) -> TokenBucket:
        bucket = self._per_object.get(uid)
        if bucket is None:
            bucket = TokenBucket(self._clock, burst=BURST_PER_OBJECT, per_second=1 / SECONDS_PER_EVENT)
            _remember(self._per_object, uid, bucket)
        return bucket

    def _name(self, about: str) -> str:
        stamp = self._last_stamp = max(int(self._clock.time() * 1e9), self._last_stamp + 1)
        return f"{about[:200]}.{stamp:x}"

    def _now(self) -> str:
        return utc(self._clock).strftime("%Y-%m-%dT%H:%M:%SZ")


def _remember(memory: OrderedDict[Any, Any], key: object, value: object) -> None:
    memory[key] = value
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)
