"""The solver, which is an extra: `pip install kubesched[plan]`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

MISSING: Final = "this needs the solver: pip install 'kubesched[plan]'"


def is_installed() -> bool:
    return find_spec("ortools") is not None


def cp_model() -> Any:
    """OR-Tools' CP-SAT, imported on first use: it takes half a second."""
    from ortools.sat.python import cp_model as module

    return module
