"""How much plugins were asked."""

from __future__ import annotations


class Asked:
    """A count that only grows, for a metric."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows = 0
        """Answers about single nodes."""
