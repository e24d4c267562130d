"""Schedules of CronJobs: five fields or a descriptor, as robfig/cron reads them for Kubernetes, with its messages.

A day matches by day of month *and* day of week if one of the two is a star, and by either otherwise. Where clocks are
changed, a time that is skipped is left out, and one that comes twice is met twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from kubesched.config.duration import parse_duration

YEARS_AHEAD: Final = 5
"""How far a time is looked for: `0 0 30 2 *` never comes."""

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=([^ ]*)( .*)?", re.DOTALL)
_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LARGEST: Final = 2**63 - 1
_MOST_DIGITS: Final = 19  # of a number that may be that large; Python reads no endless ones
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)


class InvalidScheduleError(ValueError):
    """A schedule that cannot be read; the message is robfig/cron's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """`@every 90s`: whole seconds, one at least, counted from the last time."""

    every: timedelta

    def next_after(self, moment: datetime) -> datetime | None:
        return moment.replace(microsecond=0) + self.every


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # Sunday is 0
    both_days: bool  # a star in one of the two: a day has to match the other
    zone: tzinfo

    def next_after(self, moment: datetime) -> datetime | None:
        """The first time after `moment` that the schedule names; None if there is none for years."""
        now = self._later(moment.replace(second=0, microsecond=0), _MINUTE)
        last_year = now.year + YEARS_AHEAD
        while now.year <= last_year:
            if now.month not in self.months:
                now = self._midnight(now.year + now.month // 12, now.month % 12 + 1, 1)
            elif not self._has_day(now):
                tomorrow = now.replace(tzinfo=None) + timedelta(days=1)
                now = self._midnight(tomorrow.year, tomorrow.month, tomorrow.day)
            elif now.hour not in self.hours:
                now = self._later(now, _HOUR - timedelta(minutes=now.minute))
            elif now.minute not in self.minutes:
                now = self._later(now, _MINUTE)
            else:
                return now.astimezone(UTC)
        return None

    def _has_day(self, moment: datetime) -> bool:
        by_date, by_weekday = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return by_date and by_weekday if self.both_days else by_date or by_weekday

    def _midnight(self, year: int, month: int, day: int) -> datetime:
        """The day's first moment, which is one o'clock where clocks are put forward at midnight."""
        return datetime(year, month, day, tzinfo=self.zone).astimezone(UTC).astimezone(self.zone)

    def _later(self, moment: datetime, by: timedelta) -> datetime:
        return (moment.astimezone(UTC) + by).astimezone(self.zone)


def parse_schedule(text: str, zone: str = "") -> Schedule | Interval:
    """Read a schedule, whose times are those of `zone` (UTC without one); InvalidScheduleError if it is none."""
    where = load_zone(zone)
    if text.startswith(("TZ=", "CRON_TZ=")):
        text, where = _split_zone(text)
    if text.startswith("@"):
        if text.startswith(_EVERY):
            return _interval(text)
        if text not in _DESCRIPTORS:
            raise InvalidScheduleError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    fields = text.split()
    if len(fields) != 5:
        raise InvalidScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, _ = _field(fields[0], 0, 59)
    hours, _ = _field(fields[1], 0, 23)
    days, any_day = _field(fields[2], 1, 31)
    months, _ = _field(fields[3], 1, 12, _MONTHS)
    weekdays, any_weekday = _field(fields[4], 0, 6, _WEEKDAYS)
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        both_days=any_day or any_weekday,
        zone=where,
    )


def load_zone(name: str) -> tzinfo:
    """The time zone of that name; InvalidScheduleError with Go's words if nobody knows it."""
    if name in ("", "UTC"):
        return UTC
    if not all(_ZONE_PART.fullmatch(part) and part not in (".", "..") for part in name.split("/")):
        raise InvalidScheduleError(f"unknown time zone {name}")
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:  # not there, a directory, or no file of a zone
        raise InvalidScheduleError(f"unknown time zone {name}") from error


def _split_zone(text: str) -> tuple[str, tzinfo]:
    """A zone in the schedule itself, which objects of old may have."""
    found = _ZONE.fullmatch(text)
    assert found is not None
    name, rest = found.groups()
    if rest is None:  # where robfig/cron slices a string beyond its end
        raise InvalidScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
    try:
        return rest.strip(), load_zone(name)
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"provided bad location {name}: {error}") from error


def _interval(text: str) -> Interval:
    try:
        duration = parse_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise InvalidScheduleError(f"failed to parse duration {text}: {error}") from error
    return Interval(every=max(timedelta(seconds=1), timedelta(seconds=duration // timedelta(seconds=1))))


def _field(text: str, low: int, high: int, names: tuple[str, ...] = ()) -> tuple[frozenset[int], bool]:
    """What a field allows, and whether it has a star."""
    allowed: set[int] = set()
    starred = False
    for expression in filter(None, text.split(",")):
        values, star = _range(expression, low, high, names)
        allowed.update(values)
        starred |= star
    return frozenset(allowed), starred


def _range(expression: str, low: int, high: int, names: tuple[str, ...]) -> tuple[range, bool]:
    """`*`, `5`, `1-5`, `mon-fri`, each also with `/step`; `5/10` goes on to the end."""
    span, *steps = expression.split("/")
    first, *rest = span.split("-")
    star = first in ("*", "?")
    if star:
        start, end = low, high
    else:
        start = end = _number(first, low, names)
        if len(rest) > 1:
            raise InvalidScheduleError(f"too many hyphens: {expression}")
        if rest:
            end = _number(rest[0], low, names)
    if len(steps) > 1:
        raise InvalidScheduleError(f"too many slashes: {expression}")
    step = 1
    if steps:
        step = _number(steps[0], 0, ())
        end = high if not rest else end
        star &= step <= 1
    if start < low:
        raise InvalidScheduleError(f"beginning of range ({start}) below minimum ({low}): {expression}")
    if end > high:
        raise InvalidScheduleError(f"end of range ({end}) above maximum ({high}): {expression}")
    if start > end:
        raise InvalidScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise InvalidScheduleError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step), star


def _number(text: str, first: int, names: tuple[str, ...]) -> int:
    """A number or a name, of which the first one stands for `first`; errors as `strconv.Atoi` has them."""
    if text.lower() in names:
        return first + names.index(text.lower())
    if not _INTEGER.fullmatch(text):
        raise InvalidScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    digits = text.lstrip("+-0")
    if len(digits) > _MOST_DIGITS or int(digits or "0") > _LARGEST:
        why = f'strconv.Atoi: parsing "{text}": value out of range'
        raise InvalidScheduleError(f"failed to parse int from {text}: {why}")
    number = int(text[0] + (digits or "0")) if text[0] == "-" else int(digits or "0")
    if number < 0:
        raise InvalidScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
