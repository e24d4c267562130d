"""Schedules of CronJobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from kubesched.cluster.cron import InvalidScheduleError, load_zone, parse_schedule

NEVER: Final = ""


def times(schedule: str, after: str, count: int = 1, zone: str = "") -> list[str]:
    """The next times in UTC; an empty one where the schedule ends."""
    parsed = parse_schedule(schedule, zone)
    moment: datetime | None = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = []
    for _ in range(count):
        moment = parsed.next_after(moment) if moment is not None else None
        found.append(moment.strftime("%Y-%m-%d %H:%M:%S") if moment is not None else NEVER)
    return found


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        pytest.param("* * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01:00", id="the time itself does not count"),
        pytest.param("* * * * *", "2026-01-01 00:00:59.9", "2026-01-01 00:01:00", id="seconds are rounded up"),
        pytest.param("*/15 * * * *", "2026-01-01 00:16:00", "2026-01-01 00:30:00", id="steps"),
        pytest.param("5/20 * * * *", "2026-01-01 00:26:00", "2026-01-01 00:45:00", id="steps from a number on"),
        pytest.param("10-12,40 * * * *", "2026-01-01 00:12:00", "2026-01-01 00:40:00", id="a range and a number"),
        pytest.param("0 3 * * *", "2026-01-01 03:00:00", "2026-01-02 03:00:00", id="daily"),
        pytest.param("0 0 * * mon-fri", "2026-01-03 00:00:00", "2026-01-05 00:00:00", id="weekdays by name"),
        pytest.param("0 0 31 * *", "2026-02-01 00:00:00", "2026-03-31 00:00:00", id="months without that day"),
        pytest.param("0 0 1 JAN *", "2026-01-01 00:00:00", "2027-01-01 00:00:00", id="months by name, over the year"),
        pytest.param("0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00", id="leap years"),
        pytest.param("0 0 13 * 5", "2026-01-01 00:00:00", "2026-01-02 00:00:00", id="day of month or of week"),
        pytest.param("0 0 */1 * 5", "2026-01-03 00:00:00", "2026-01-09 00:00:00", id="a star with a step of one"),
        pytest.param("0 0 */2 * 5", "2026-01-03 12:00:00", "2026-01-05 00:00:00", id="a star with a step is none"),
        pytest.param("0 0 30 2 *", "2026-01-01 00:00:00", NEVER, id="a day that never comes"),
        pytest.param(", * * * *", "2026-01-01 00:00:00", NEVER, id="a field that allows nothing"),
        pytest.param("@weekly", "2026-01-01 00:00:00", "2026-01-04 00:00:00", id="weeks begin on Sunday"),
        pytest.param("@every 1h30m10s", "2026-01-01 00:00:00", "2026-01-01 01:30:10", id="an interval"),
        pytest.param(
            "@every 10ms", "2026-01-01 00:00:00.5", "2026-01-01 00:00:01", id="an interval of a second at least"
        ),
        pytest.param("TZ=Asia/Tokyo 0 9 * * *", "2026-01-01 00:00:00", "2026-01-02 00:00:00", id="a zone of its own"),
    ],
)
def test_the_next_time(schedule: str, after: str, expected: str) -> None:
    """The first one after the given moment."""
    assert times(schedule, after) == [expected]


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected"),
    [
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28 12:00:00",
            ["2026-03-30 00:30:00", "2026-03-31 00:30:00"],
            id="a time that is skipped",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24 12:00:00",
            ["2026-10-25 00:30:00", "2026-10-25 01:30:00", "2026-10-26 01:30:00"],
            id="a time that comes twice",
        ),
        pytest.param(
            "0 * * * *",
            "Africa/Cairo",
            "2026-04-23 20:30:00",
            ["2026-04-23 21:00:00", "2026-04-23 22:00:00", "2026-04-23 23:00:00"],
            id="hours go on where midnight is skipped",
        ),
        pytest.param(
            "@daily",
            "Asia/Kolkata",
            "2026-01-01 00:00:00",
            ["2026-01-01 18:30:00", "2026-01-02 18:30:00"],
            id="a zone of half an hour",
        ),
    ],
)
def test_the_next_times_in_a_zone(schedule: str, zone: str, after: str, expected: list[str]) -> None:
    """Fields are about the zone's own clock, also when it is changed."""
    assert times(schedule, after, len(expected), zone) == expected


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        pytest.param("* * * *", "expected exactly 5 fields, found 4: [* * * *]", id="too few fields"),
        pytest.param("61 * * * *", "end of range (61) above maximum (59): 61", id="a minute that no hour has"),
        pytest.param("* * 0 * *", "beginning of range (0) below minimum (1): 0", id="a day before the first"),
        pytest.param("* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3", id="a range backwards"),
        pytest.param("*/0 * * * *", "step of range should be a positive number: */0", id="no step"),
        pytest.param("1-2-3 * * * *", "too many hyphens: 1-2-3", id="too many hyphens"),
        pytest.param("1/2/3 * * * *", "too many slashes: 1/2/3", id="too many slashes"),
        pytest.param(
            "a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax', id="not a number"
        ),
        pytest.param(
            "1_0 * * * *",
            'failed to parse int from 1_0: strconv.Atoi: parsing "1_0": invalid syntax',
            id="Python's own",
        ),
        pytest.param(
            f"{'9' * 5000} * * * *",
            f'failed to parse int from {"9" * 5000}: strconv.Atoi: parsing "{"9" * 5000}": value out of range',
            id="a number without an end",
        ),
        pytest.param(
            "-1 * * * *",
            'failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
            id="a range from nothing",
        ),
        pytest.param("*/-1 * * * *", "negative number (-1) not allowed: -1", id="a negative step"),
        pytest.param("@fortnightly", "unrecognized descriptor: @fortnightly", id="an unknown descriptor"),
        pytest.param(
            "@every x", 'failed to parse duration @every x: time: invalid duration "x"', id="an interval of nothing"
        ),
        pytest.param(
            "TZ=Mars/Base * * * * *",
            "provided bad location Mars/Base: unknown time zone Mars/Base",
            id="a zone that nobody knows",
        ),
        pytest.param(
            "TZ=UTC",
            "invalid schedule format: runtime error: slice bounds out of range [:-1]",
            id="nothing but a zone",
        ),
    ],
)
def test_what_is_no_schedule(schedule: str, message: str) -> None:
    """The message says what is wrong, as kube-apiserver does."""
    with pytest.raises(InvalidScheduleError) as caught:
        parse_schedule(schedule)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["Mars/Base", "../etc/passwd", "Europe", "-", "/etc/localtime", "a" * 15])
def test_what_is_no_zone(name: str) -> None:
    """Nothing outside the zones' folder is ever opened."""
    with pytest.raises(InvalidScheduleError, match=r"^unknown time zone "):
        load_zone(name)
