"""One line of a doctor's report."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class State(StrEnum):
    GOOD = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(msgspec.Struct, frozen=True):
    """What was looked at, what was found, and (unless all is well) what to do."""

    about: str
    state: State
    found: str
    advice: str = ""
