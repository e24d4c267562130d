"""Numbers that may be percentages (`intstr.IntOrString`)."""

from __future__ import annotations


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """A count as it is; a percentage of `total`, rounded as asked. Nothing is zero."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    percent = int(value.rstrip("%"))
    return -(-percent * total // 100) if round_up else percent * total // 100
