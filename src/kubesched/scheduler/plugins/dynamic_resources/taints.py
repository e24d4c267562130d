"""Tainted devices, and the requests that tolerate them (resourceclaim.ToleratesTaint)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubesched.objects.dra import DeviceTaint
from kubesched.objects.tolerations import Tolerations

_PREVENTING: Final = ("NoSchedule", "NoExecute")


def taints_prevent(taints: Iterable[DeviceTaint], tolerations: Tolerations) -> bool:
    """Whether a taint that prevents allocation is left untolerated. Other effects are ignored."""
    return any(taint.effect in _PREVENTING and not tolerations.tolerate(taint) for taint in taints)
