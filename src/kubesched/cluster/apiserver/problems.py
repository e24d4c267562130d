"""What is wrong with a field, in Kubernetes' words (`field.Error` upstream): path, reason and message.

A finding keeps the value that it is about, and shows it only when it is rendered: a list with 20,000 bad items that are
each shown with the whole list would be 20 GB of text. Whoever renders findings takes the first `MOST_SHOWN`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_SHOWN: Final = 100
"""Findings of one request that are shown; upstream shows them all."""
LONGEST_SHOWN: Final = 1 << 18
"""Characters of findings after which no further one is shown."""
LONGEST_VALUE: Final = 1 << 16
"""Characters of a value that are shown."""
_NO_VALUE: Final = object()


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding of a validator. `field` is the JSON path; `message` does not repeat it."""

    field: str
    reason: str
    what: str
    detail: str = ""
    value: Any = _NO_VALUE

    @property
    def message(self) -> str:
        head = self.what
        if self.value is not _NO_VALUE:
            value = shown(self.value)
            head += f": {value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + '...'}"
        return f"{head}: {self.detail}" if self.detail else head

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> Problem:
    return Problem(field, "FieldValueRequired", "Required value", detail)


def invalid(field: str, value: Any, detail: str) -> Problem:
    return Problem(field, "FieldValueInvalid", "Invalid value", detail, value)


def unsupported(field: str, value: Any, supported: Iterable[str]) -> Problem:
    allowed = "supported values: " + ", ".join(shown(item) for item in supported)
    return Problem(field, "FieldValueNotSupported", "Unsupported value", allowed, value)


def forbidden(field: str, detail: str) -> Problem:
    return Problem(field, "FieldValueForbidden", "Forbidden", detail)


def duplicate(field: str, value: Any) -> Problem:
    return Problem(field, "FieldValueDuplicate", "Duplicate value", value=value)


def not_found(field: str, value: Any) -> Problem:
    return Problem(field, "FieldValueNotFound", "Not found", value=value)


def too_long(field: str, limit: int) -> Problem:
    return Problem(field, "FieldValueTooLong", "Too long", f"may not be more than {limit} bytes")


def first(problems: Sequence[Problem]) -> list[tuple[Problem, str]]:
    """Those that are shown, each with its message: one at least, and not more than anybody reads."""
    taken: list[tuple[Problem, str]] = []
    length = 0
    for problem in problems[:MOST_SHOWN]:
        message = problem.message
        length += len(message)
        if taken and length > LONGEST_SHOWN:
            break
        taken.append((problem, message))
    return taken


def shown(value: Any) -> str:
    """A value as an error message shows it: strings quoted, the rest as JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
