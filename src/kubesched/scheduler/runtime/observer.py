"""Where the time of extension points goes: the seam that metrics hang on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kubesched.scheduler.framework import CallObserver


class PluginObserver(CallObserver, Protocol):
    """Called for calls of sampled attempts, and for every wait; must be cheap."""

    def permit_wait(self, result: str, seconds: float) -> None: ...


class SilentObserver:
    """Observes nothing."""

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None: ...
    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None: ...
    def evaluated(self, plugins: Iterable[str], point: str, profile: str) -> None: ...
    def permit_wait(self, result: str, seconds: float) -> None: ...
