"""Facts that are worked out at the first question."""

from __future__ import annotations

from kubesched.scheduler.columns.once import once


class Circle:
    def __init__(self, radius: int) -> None:
        self.radius = radius
        self.asked = 0

    @once
    def diameter(self) -> int:
        """All the way across."""
        self.asked += 1
        return 2 * self.radius


def test_a_fact_is_worked_out_once_for_each() -> None:
    """And keeps its docstring."""
    small, large = Circle(1), Circle(5)
    assert [small.diameter, small.diameter, large.diameter] == [2, 2, 10]
    assert (small.asked, large.asked) == (1, 1)
    assert Circle.diameter.__doc__ == "All the way across."
