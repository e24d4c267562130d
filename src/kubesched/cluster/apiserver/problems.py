"""What is wrong with a field, in Kubernetes' words (`field.Error` upstream): path, reason and message."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """One finding of a validator. `field` is the JSON path; `message` does not repeat it."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> Problem:
    return Problem(field, "FieldValueRequired", _join("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> Problem:
    return Problem(field, "FieldValueInvalid", _join(f"Invalid value: {shown(value)}", detail))


def unsupported(field: str, value: Any, supported: Iterable[str]) -> Problem:
    allowed = "supported values: " + ", ".join(shown(item) for item in supported)
    return Problem(field, "FieldValueNotSupported", _join(f"Unsupported value: {shown(value)}", allowed))


def forbidden(field: str, detail: str) -> Problem:
    return Problem(field, "FieldValueForbidden", _join("Forbidden", detail))


def duplicate(field: str, value: Any) -> Problem:
    return Problem(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def not_found(field: str, value: Any) -> Problem:
    return Problem(field, "FieldValueNotFound", f"Not found: {shown(value)}")


def too_long(field: str, limit: int) -> Problem:
    return Problem(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def shown(value: Any) -> str:
    """A value as an error message shows it: strings quoted, the rest as JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _join(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head
