"""Findings of validation, in the words of Kubernetes' `field.Error`: `path: Invalid value: 101: not in valid range`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec

from kubesched.config.duration import format_duration


def invalid(path: str, value: object, detail: str) -> str:
    """A value that is not allowed."""
    return f"{path}: Invalid value: {show_value(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    """A value that is missing."""
    return f"{path}: Required value: {detail}" if detail else f"{path}: Required value"


def duplicate(path: str, value: object) -> str:
    """A value that must be unique and is not."""
    return f"{path}: Duplicate value: {show_value(value)}"


def forbidden(path: str, detail: str) -> str:
    """A value that must not be set here."""
    return f"{path}: Forbidden: {detail}"


def not_supported(path: str, value: object, supported: Iterable[str]) -> str:
    """A value outside an enumeration."""
    known = ", ".join(_quote(name) for name in supported)
    return f"{path}: Unsupported value: {show_value(value)}: supported values: {known}"


def show_value(value: object) -> str:
    """A value as Kubernetes prints it in a finding: text quoted, numbers and booleans bare, the rest as JSON."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, timedelta):
        return _quote(format_duration(value))
    return json.dumps(msgspec.to_builtins(value, enc_hook=_plain), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    return str(value)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
