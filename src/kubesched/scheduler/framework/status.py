"""What a plugin answers: a code, reasons, and who said it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Final


class Code(enum.Enum):
    """What the scheduler does next with the pod.

    SUCCESS          go on
    ERROR            something is broken: retry after the error backoff
    UNSCHEDULABLE    does not fit now; preemption may help. Wait for an event that the plugin registered
    UNRESOLVABLE     does not fit, and preemption cannot help (Kubernetes: UnschedulableAndUnresolvable)
    WAIT             (Permit only) hold the pod until it is allowed, rejected or timed out
    SKIP             (PreFilter, PreScore, Bind, PreBindPreFlight) this plugin has nothing to do for this pod
    PENDING          rejected until something outside happens; the pod skips its backoff when it does
    """

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"

    def __str__(self) -> str:
        return self.value


_REJECTING: Final = frozenset((Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING))


@dataclass(frozen=True, slots=True)
class Status:
    """An answer. `plugin` is filled in by whoever called the plugin; `error` chains the exception behind an ERROR."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    error: BaseException | None = None
    is_success: bool = field(init=False, repr=False, compare=False)
    is_skip: bool = field(init=False, repr=False, compare=False)
    is_wait: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Statuses are few and asked often: a dozen times for every pod.
        object.__setattr__(self, "is_success", self.code is Code.SUCCESS)
        object.__setattr__(self, "is_skip", self.code is Code.SKIP)
        object.__setattr__(self, "is_wait", self.code is Code.WAIT)

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        return cls(Code.UNRESOLVABLE, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        return cls(Code.PENDING, reasons)

    @classmethod
    def failed(cls, error: BaseException | str) -> Status:
        """An ERROR from an exception or a message."""
        if isinstance(error, str):
            return cls(Code.ERROR, (error,))
        return cls(Code.ERROR, (str(error),), error=error)

    @property
    def is_rejection(self) -> bool:
        """The pod does not fit or must wait: not an error."""
        return self.code in _REJECTING

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """The same status with its plugin named, unless one is named already."""
        return self if self.plugin else replace(self, plugin=plugin)


SUCCESS: Final = Status()
SKIP: Final = Status(Code.SKIP)
WAIT: Final = Status(Code.WAIT)
