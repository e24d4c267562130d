"""Event (events.k8s.io/v1): what the scheduler reports about a pod."""

from __future__ import annotations

from datetime import datetime

from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import ObjectMeta, ObjectReference


class EventSeries(KubeStruct):
    count: int = 0
    last_observed_time: datetime | None = None


class Event(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    event_time: datetime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
