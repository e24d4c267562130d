"""What reports of plans are made of: one structure for text, JSON and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kubesched.objects import to_builtins
from kubesched.objects.base import KubeStruct
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do."""

MOST_NAMES: Final = 4


class ReportPart(KubeStruct):
    """A frozen value; in JSON its fields are written as Kubernetes would, and those at their default are left out."""


def as_data(report: ReportPart) -> Any:
    """For programs: JSON's own types."""
    return to_builtins(report)


def some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first of them, and how many there are besides."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def limited(lines: Iterable[str], most: int) -> list[str]:
    """The first lines, and how many were left out."""
    every = list(lines)
    if len(every) <= most:
        return every
    return [*every[:most], f"  … and {len(every) - most} more (-o json has all)"]


def amount(resource: str, units: int) -> str:
    """From the scheduler's units to what people write."""
    if resource == CPU:
        return str(Quantity.of_milli(units))
    if resource in (MEMORY, EPHEMERAL_STORAGE):
        whole = next((size for size in (1 << 30, 1 << 20) if units >= 10 * size), 1)
        return str(Quantity.of(units // whole * whole, "BinarySI"))
    return str(units)
