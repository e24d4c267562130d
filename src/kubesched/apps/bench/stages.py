"""Where the CPU time of one pod goes: a sampling profiler that knows the stages of a pod's way."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Final

from kubesched.apps.bench.target import PodProgress
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.scheduler.engine import Evaluator
from kubesched.scheduler.engine.ranking.ranking import Ranking
from kubesched.scheduler.scheduling.background_tasks import BackgroundTasks
from kubesched.scheduler.scheduling.binding_cycle import BindingCycle
from kubesched.scheduler.scheduling.event_handlers import EventHandlers
from kubesched.scheduler.scheduling.failure import FailureHandler
from kubesched.scheduler.scheduling.scheduler import Scheduler
from kubesched.scheduler.scheduling.scheduling_cycle import SchedulingCycle
from kubesched.scheduler.state.queue import SchedulingQueue

REST: Final = "event loop and the rest"
SAMPLES_EVERY: Final = 0.001
"""Seconds of CPU time."""

_STAGES: Final[Mapping[Callable[..., Any], str]] = {
    EventHandlers.add: "an event comes in: template, cache or queue",
    EventHandlers.update: "an event comes in: template, cache or queue",
    EventHandlers.delete: "an event comes in: template, cache or queue",
    SchedulingQueue.move_all: "an event wakes waiting pods",
    SchedulingQueue.try_pop: "pop",
    SchedulingQueue.pop: "pop",
    Evaluator.filter: "PreFilter, Filter",
    SchedulingCycle._post_filter: "PostFilter",
    Evaluator.rank: "PreScore, Score, select",
    Ranking.best: "PreScore, Score, select",
    SchedulingCycle.commit: "assume, Reserve, Permit",
    BindingCycle.run: "binding cycle",
    MemoryApi.bind: "binding cycle",
    FailureHandler.handle: "failure: requeue, condition",
    MemoryApi.patch_pod_status: "failure: requeue, condition",
    Scheduler.schedule_one: "scheduling loop",
    Scheduler.run: "scheduling loop",
    BackgroundTasks.start: "scheduling loop",
    PodProgress.note_bound: "the benchmark itself",
}
"""The innermost of these on the stack gets the sample. In the order of the way, as tables show them."""

ORDER: Final = (*dict.fromkeys(_STAGES.values()), REST)


class StageSampler:
    """Looks at the main thread's stack once per millisecond of CPU time. For the main thread of a Unix process."""

    def __init__(self) -> None:
        self._stage_of: dict[CodeType, str] = {function.__code__: stage for function, stage in _STAGES.items()}
        self._samples: Counter[str] = Counter()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLES_EVERY, SAMPLES_EVERY)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def shares(self) -> dict[str, float]:
        """Each stage's share of the samples, in the order of the way; empty without samples."""
        total = self._samples.total()
        return {stage: self._samples[stage] / total for stage in ORDER if self._samples[stage]}

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        while frame is not None:
            stage = self._stage_of.get(frame.f_code)
            if stage is not None:
                self._samples[stage] += 1
                return
            frame = frame.f_back
        self._samples[REST] += 1
