"""A table's columns, and the small cells that many tables share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from kubesched.objects.base import Json

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """Priority 1 shows with `-o wide` only."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """`row` gets an object and the current time, and returns one cell per column."""

    columns: tuple[Column, ...]
    row: Callable[[Json, float], list[Any]]


def columns(*names: str, wide: Iterable[str] = (), **types: str) -> tuple[Column, ...]:
    """Columns from their names; the first one is the object's name. Types are given as `Up_to_date="integer"`."""

    def column(name: str, priority: int) -> Column:
        kind = types.get(name.replace("-", "_").replace(" ", "_"), "string")
        return Column(name, kind, priority, "name" if name == "Name" else "")

    return tuple(column(name, 0) for name in names) + tuple(column(name, 1) for name in wide)


def name_of(value: Json) -> str:
    return str(value["metadata"]["name"])


def age_of(value: Json, now: float) -> str:
    return since(value["metadata"].get("creationTimestamp"), now)


def since(timestamp: str | None, now: float) -> str:
    """How long ago, as kubectl writes it; `<unknown>` without a time."""
    return human_duration(now - seconds_of(timestamp)) if timestamp else UNKNOWN


def seconds_of(timestamp: str) -> float:
    """Seconds since the epoch; the epoch itself for a text that only looks like a time."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return 0.0


def human_duration(seconds: float) -> str:
    """`duration.HumanDuration` upstream: at most two units, the second one only while it matters."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if days < 8 * 365 else f"{years}y"


def labels_text(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Json | None) -> str:
    """A LabelSelector as a string (`FormatLabelSelector`)."""
    if not selector:
        return NONE
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression.get("key", ""), ",".join(sorted(expression.get("values") or ()))
        match expression.get("operator"):
            case "In":
                terms.append((key, f"{key} in ({values})"))
            case "NotIn":
                terms.append((key, f"{key} notin ({values})"))
            case "Exists":
                terms.append((key, key))
            case _:
                terms.append((key, f"!{key}"))
    return ",".join(text for _, text in sorted(terms)) or NONE


def container_cells(pod_spec: Json) -> tuple[str, str]:
    """The names and the images of a template's containers."""
    containers = pod_spec.get("containers") or ()
    return (
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    )


def condition_status(value: Json, condition_type: str) -> str:
    """The status of that condition, or an empty string."""
    for condition in (value.get("status") or {}).get("conditions") or ():
        if condition.get("type") == condition_type:
            return str(condition.get("status", ""))
    return ""


def _two(first: int, first_unit: str, second: int, second_unit: str) -> str:
    return f"{first}{first_unit}{second}{second_unit}" if second else f"{first}{first_unit}"


NAME_AND_CREATION: Final = TableLayout(
    (Column("Name", format="name"), Column("Created At", "date")),
    lambda value, _: [name_of(value), value["metadata"].get("creationTimestamp")],
)
NAME_AND_AGE: Final = TableLayout(columns("Name", "Age"), lambda value, now: [name_of(value), age_of(value, now)])
