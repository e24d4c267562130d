"""Passwords do not belong in logs and error messages."""

from __future__ import annotations

import re
from typing import Final

_PASSWORD: Final = re.compile(r"(?<=://)([^\s/?#@:\"']*):[^\s/?#\"']*(?=@)")


def redacted(text: str) -> str:
    """The text with `xxxxx` for the password of every URL in it, as Go's `URL.Redacted` shows it."""
    return _PASSWORD.sub(r"\1:xxxxx", text) if "://" in text and "@" in text else text
