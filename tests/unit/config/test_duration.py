"""Go's durations."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched.config.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("15s", timedelta(seconds=15), id="seconds"),
        pytest.param("1m30s", timedelta(seconds=90), id="several units"),
        pytest.param("1.5h", timedelta(minutes=90), id="a fraction"),
        pytest.param(".5s", timedelta(milliseconds=500), id="a fraction without whole part"),
        pytest.param("-250ms", timedelta(milliseconds=-250), id="negative"),
        pytest.param("40µs", timedelta(microseconds=40), id="the micro sign"),
        pytest.param("40us", timedelta(microseconds=40), id="microseconds in ASCII"),
        pytest.param("0", timedelta(), id="zero needs no unit"),
        pytest.param("1ns", timedelta(microseconds=1), id="a nanosecond does not become zero"),
    ],
)
def test_parse(text: str, expected: timedelta) -> None:
    """Everything that time.ParseDuration takes is taken."""
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", 'time: invalid duration ""', id="empty"),
        pytest.param("15", 'time: missing unit in duration "15"', id="no unit"),
        pytest.param("1x", 'time: unknown unit "x" in duration "1x"', id="an unknown unit"),
        pytest.param("s", 'time: invalid duration "s"', id="no number"),
        pytest.param("-", 'time: invalid duration "-"', id="only a sign"),
        pytest.param("3000000h", 'time: invalid duration "3000000h"', id="more than an int64 of nanoseconds"),
    ],
)
def test_parse_refuses(text: str, message: str) -> None:
    """The refusal is worded as in Go."""
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        pytest.param(timedelta(), "0s", id="zero"),
        pytest.param(timedelta(seconds=15), "15s", id="seconds"),
        pytest.param(timedelta(minutes=10), "10m0s", id="minutes show their seconds"),
        pytest.param(timedelta(hours=1, seconds=0.5), "1h0m0.5s", id="hours show everything"),
        pytest.param(timedelta(milliseconds=1.5), "1.5ms", id="milliseconds"),
        pytest.param(timedelta(microseconds=7), "7µs", id="microseconds"),
        pytest.param(timedelta(seconds=-90), "-1m30s", id="negative"),
    ],
)
def test_format(duration: timedelta, text: str) -> None:
    """Durations are written as Go's String does."""
    assert format_duration(duration) == text


@given(st.timedeltas(min_value=timedelta(days=-1000), max_value=timedelta(days=1000)))
def test_round_trip(duration: timedelta) -> None:
    """What is written reads back as the same duration."""
    assert parse_duration(format_duration(duration)) == duration
