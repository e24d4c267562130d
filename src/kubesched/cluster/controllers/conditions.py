"""Conditions in a status."""

from __future__ import annotations

from kubesched.objects.base import Json


def find(status: Json, kind: str) -> Json | None:
    return next((item for item in status.get("conditions") or () if item.get("type") == kind), None)


def put(status: Json, condition: Json, now: str) -> None:
    """Set a condition; one whose status stays the same keeps the time of its last transition."""
    old = find(status, condition["type"])
    kept = old.get("lastTransitionTime") if old is not None and old["status"] == condition["status"] else None
    new = {**condition, "lastTransitionTime": kept or now}
    conditions = status.setdefault("conditions", [])
    if old is None:
        conditions.append(new)
    else:
        conditions[conditions.index(old)] = new


def drop(status: Json, kind: str) -> None:
    left = [item for item in status.get("conditions") or () if item.get("type") != kind]
    if left:
        status["conditions"] = left
    else:
        status.pop("conditions", None)
