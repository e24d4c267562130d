"""The scheduling queue and its parts. No plugin lives here: their answers (sort key, gate, hints) are handed in."""

from kubesched.scheduler.state.queue.gate import PreEnqueuePerProfile
from kubesched.scheduler.state.queue.hints import HintsPerProfile
from kubesched.scheduler.state.queue.observer import SILENT, QueueObserver, SubQueue
from kubesched.scheduler.state.queue.pod_events import pod_events
from kubesched.scheduler.state.queue.scheduling_queue import SchedulingQueue
from kubesched.scheduler.state.queue.settings import QueueSettings

__all__ = [
    "SILENT",
    "HintsPerProfile",
    "PreEnqueuePerProfile",
    "QueueObserver",
    "QueueSettings",
    "SchedulingQueue",
    "SubQueue",
    "pod_events",
]
