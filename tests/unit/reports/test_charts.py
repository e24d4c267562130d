"""Charts: well-formed, within their frame, and with round numbers at their axes."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kubesched.reports.charts import LinearAxis, LogAxis, chart, short


@pytest.mark.parametrize("axis", [LinearAxis, LogAxis])
def test_a_chart_is_well_formed_and_in_its_frame(axis: type[LinearAxis | LogAxis]) -> None:
    """Also with names that XML must not take literally, and with values far apart."""
    root = ElementTree.fromstring(chart("a < b", "x & y", {"one": [(1, 0.5), (1e6, 99999)]}, axis=axis, dots=True))
    circles = [
        (float(c.get("cx", "")), float(c.get("cy", ""))) for c in root.iter("{http://www.w3.org/2000/svg}circle")
    ]
    assert len(circles) == 2
    assert all(0 < x < 640 and 0 < y < 360 for x, y in circles)
    assert circles[0][0] < circles[1][0]
    assert circles[0][1] > circles[1][1]


@pytest.mark.parametrize(
    ("least", "most", "ticks"),
    [
        pytest.param(0, 100, [0, 20, 40, 60, 80, 100], id="round already"),
        pytest.param(3, 97, [0, 20, 40, 60, 80, 100], id="from 0 if that is not far"),
        pytest.param(990, 1000, [990, 992, 994, 996, 998, 1000], id="not from 0 if that is far"),
        pytest.param(5, 5, [5, 5.2, 5.4, 5.6, 5.8, 6.0], id="all values are equal"),
        pytest.param(0, 0, [0, 0.2, 0.4, 0.6, 0.8, 1.0], id="nothing but zeros"),
    ],
)
def test_an_axis_has_round_numbers(least: float, most: float, ticks: list[float]) -> None:
    """A reader counts in ones, twos and fives."""
    assert LinearAxis(least, most, 0, 100).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.25, "0.25"), (1200, "1,200"), (2.5e9, "2.5G"), (3e6, "3M")])
def test_large_numbers_are_short(value: float, text: str) -> None:
    """They stand beside an axis."""
    assert short(value) == text
