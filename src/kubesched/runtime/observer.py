"""Where the time of extension points goes: the seam that metrics hang on."""

from __future__ import annotations

from typing import Protocol


class PluginObserver(Protocol):
    """Told about calls; must be cheap."""

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None: ...
    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None: ...
    def permit_wait(self, result: str, seconds: float) -> None: ...


class SilentObserver:
    """Observes nothing."""

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None: ...
    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None: ...
    def permit_wait(self, result: str, seconds: float) -> None: ...
