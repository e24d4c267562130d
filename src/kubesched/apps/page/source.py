"""Where a page's state comes from: a scheduler's own tables, which are read and never written."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from kubesched.apps.page.decision_memory import DecisionMemory
from kubesched.apps.page.history import Placements
from kubesched.apps.page.policies import DecidingPolicy
from kubesched.clock import Clock
from kubesched.scheduler.build import Assembled

T = TypeVar("T")


class Home(Protocol):
    """The event loop that owns the scheduler."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this work there, and wait for its outcome here."""
        ...


class Recorded(Protocol):
    """A recorded cluster, whose time can be chosen: seconds since the epoch."""

    start: float
    end: float
    now: float

    async def seek(self, time: float) -> None: ...
    async def decision(self, pod: str) -> dict[str, Any] | None:
        """As it would be taken on the state in which the pod got its node; None if that moment is not recorded."""
        ...


@dataclass(frozen=True, kw_only=True)
class PageSource:
    """One cluster, as a page shows it."""

    title: str
    """What the browser's tab says."""
    kind: str
    """`up`, `run`, `cluster`, `files` or `trace`."""
    assembled: Assembled
    clock: Clock
    policy: DecidingPolicy
    """That of the scheduler in question."""
    schedules: bool = False
    """Whether this scheduler decides. If not, its queue says nothing, and pods' conditions are shown instead."""
    placements: Placements = field(default_factory=Placements)
    """Pods that got a node, as far as that was seen."""
    memory: DecisionMemory | None = None
    """Of decisions as they were taken."""
    recorded: Recorded | None = None
    home: Home | None = None
    """Where `assembled` lives, if that is not the loop that serves."""

    async def read(self, function: Callable[[], T]) -> T:
        """Call a function that reads `assembled`, where that is safe."""
        if self.home is None:
            return function()

        async def call() -> T:
            return function()

        return await self.home.run(call())
