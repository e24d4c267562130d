"""Tainted devices, and the requests that tolerate them (resourceclaim.ToleratesTaint)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubesched.objects.dra import DeviceTaint, DeviceToleration

_PREVENTING: Final = ("NoSchedule", "NoExecute")


def taints_prevent(taints: Iterable[DeviceTaint], tolerations: tuple[DeviceToleration, ...]) -> bool:
    """Whether a taint that prevents allocation is left untolerated. Other effects are ignored."""
    return any(
        taint.effect in _PREVENTING and not any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
    )


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
