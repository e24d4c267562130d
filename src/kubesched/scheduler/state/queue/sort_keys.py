"""The order of pods by a QueueSort plugin that may fail."""

from __future__ import annotations

from typing import Any, Final

from kubesched.errors import PluginError
from kubesched.scheduler.framework import QueuedPod, QueueSortPlugin
from kubesched.telemetry.logging import log


class _Last:
    """Greater than every key, and equal to itself only."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return other is not self


LAST: Final = _Last()


class SortKeys:
    """The plugin's keys. A pod for which it has none that can be compared comes last: it must not be lost."""

    def __init__(self, plugin: QueueSortPlugin) -> None:
        self._plugin = plugin.name
        self._sort_key = plugin.sort_key
        self._first: Any = LAST  # a key that others can be compared with

    def of(self, queued: QueuedPod) -> Any:
        try:
            key = self._sort_key(queued)
            bool(key < self._first)
        except Exception as error:
            broken = PluginError.raised(self._plugin, "QueueSort", error)
            log.error("Pod cannot be ordered, it comes last", broken, pod=queued.info.key)
            return LAST
        if self._first is LAST:
            self._first = key
        return key
