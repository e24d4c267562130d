"""Cells that many tables share."""

from __future__ import annotations

import pytest

from kubesched.cluster.apiserver.tables.layout import human_duration, selector_text, since

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 5, "2m5s"),
        (10 * MINUTE + 5, "10m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (9 * HOUR, "9h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (9 * DAY, "9d"),
        (3 * 365 * DAY + 5 * DAY, "3y5d"),
        (9 * 365 * DAY, "9y"),
    ],
)
def test_ages(seconds: int, expected: str) -> None:
    """As kubectl writes them."""
    assert human_duration(seconds) == expected


def test_no_time_is_unknown() -> None:
    """Not an age of decades."""
    assert since(None, 1e9) == "<unknown>"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(None, "<none>", id="none"),
        pytest.param({}, "<none>", id="empty"),
        pytest.param({"matchLabels": {"b": "1", "a": "2"}}, "a=2,b=1", id="labels in order"),
        pytest.param(
            {
                "matchExpressions": [
                    {"key": "d", "operator": "In", "values": ["y", "x"]},
                    {"key": "c", "operator": "NotIn", "values": ["z"]},
                    {"key": "b", "operator": "Exists"},
                    {"key": "a", "operator": "DoesNotExist"},
                ]
            },
            "!a,b,c notin (z),d in (x,y)",
            id="expressions",
        ),
    ],
)
def test_selectors(selector: dict[str, object] | None, expected: str) -> None:
    """As in a query."""
    assert selector_text(selector) == expected
