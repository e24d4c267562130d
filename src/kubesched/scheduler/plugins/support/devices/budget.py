"""What a decision about devices may cost: one pod's search must not keep all other pods waiting."""

from __future__ import annotations

from typing import Final

from kubesched.clock import Clock

MOST_SECONDS_AT_ONCE: Final = 0.25
"""Of one scheduling attempt. A search that is not done then goes on in the pod's next attempt."""

_SHORT_SECONDS: Final = 0.02
"""A search that takes no longer is nobody's concern."""
_MOST_SAVED, _SHARE = 0.5, 0.25

STEPS_PER_SECOND: Final = 10_000
"""What stands for a second where time stands still: about what a slow machine does in one."""


class BudgetSpent(Exception):  # noqa: N818 - a limit, not an error of anybody
    """A search has taken as long as it may."""


class Budget:
    """Of one scheduling attempt, for all nodes together: time by the clock, and steps.

    In a simulation the clock stands still while a decision is made: there, the steps are what ends it.
    """

    def __init__(self, clock: Clock, seconds: float, steps: int | None = None) -> None:
        """Without `steps`, only time counts."""
        self._clock = clock
        self._started = clock.monotonic()
        self._deadline = self._started + seconds
        self._most_steps = steps
        self.steps = 0

    @property
    def seconds(self) -> float:
        """That have passed."""
        return self._clock.monotonic() - self._started

    @property
    def seconds_left(self) -> float:
        return max(self._deadline - self._clock.monotonic(), 0.0)

    @property
    def is_out_of_steps(self) -> bool:
        return self._most_steps is not None and self.steps >= self._most_steps

    @property
    def is_spent(self) -> bool:
        return self.is_out_of_steps or self._clock.monotonic() >= self._deadline

    def spend(self, steps: int = 1) -> None:
        """Before something is done that takes so many steps. BudgetSpent if there is no time for it."""
        if self.is_spent:
            raise BudgetSpent
        self.steps += steps


class LongSearches:
    """What all pods with long searches may take together: a quarter of the time, however many they are.

    Time that is not used is saved up, but not much of it. What every search may take anyway does not count.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._saved = _MOST_SAVED
        self._saved_at = clock.monotonic()

    def seconds_at_once(self) -> float:
        """For one attempt, now."""
        now = self._clock.monotonic()
        self._saved = min(self._saved + _SHARE * (now - self._saved_at), _MOST_SAVED)
        self._saved_at = now
        return min(_SHORT_SECONDS + max(self._saved, 0.0), MOST_SECONDS_AT_ONCE)

    def took(self, seconds: float) -> None:
        """A search is over, or was interrupted."""
        self._saved -= max(seconds - _SHORT_SECONDS, 0.0)
