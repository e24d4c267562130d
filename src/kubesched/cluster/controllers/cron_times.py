"""Which of a CronJob's times have passed, and when the next one comes (`mostRecentScheduleTime` upstream)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kubesched.cluster.cron import Interval, Schedule

TOO_MANY: Final = 100
"""So many missed times are worth a warning: clocks that are wrong, or a controller that was away for long."""
LATE_ENOUGH: Final = timedelta(milliseconds=100)
"""After its time, so that rounding does not bring a CronJob's turn before it."""
_ENDLESS: Final = "time difference between two schedules is less than 1 second"


class NoTimeError(ValueError):
    """The schedule can be read, but no time satisfies it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The last time that has passed since `since`; None if none has. `count` says how many there were, roughly."""

    since: datetime
    last: datetime | None
    count: int


def passed_times(schedule: Schedule | Interval, since: datetime, now: datetime) -> Passed:
    """Only the last two intervals are walked through, however long `since` is past; NoTimeError if nothing comes."""
    first = schedule.next_after(since)
    second = schedule.next_after(first) if first is not None else None
    if first is None or second is None:
        raise NoTimeError(_ENDLESS)
    if now < second:
        return Passed(since=since, last=first if first <= now else None, count=int(first <= now))
    between = second - first
    count = (now - first) // between + 1
    last: datetime | None = None
    moment = schedule.next_after(first + between * (count - 2))
    while moment is not None and moment <= now:
        last, moment = moment, schedule.next_after(moment)
    return Passed(since=since, last=last, count=count)


def until_next(schedule: Schedule | Interval, since: datetime, now: datetime) -> float | None:
    """Seconds until the first time after the last one that has passed; None if nothing comes."""
    passed = passed_times(schedule, since, now)
    start = passed.last or (now if passed.count else passed.since)
    following = schedule.next_after(start)
    return None if following is None else (following + LATE_ENOUGH - now).total_seconds()
