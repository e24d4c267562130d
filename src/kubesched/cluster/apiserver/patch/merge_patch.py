"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """The patched value; `target` is changed in place where it is an object."""
    if not isinstance(patch, dict):
        return patch
    merged = target if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply_merge_patch(merged.get(key), value)
    return merged
