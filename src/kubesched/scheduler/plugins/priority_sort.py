"""PrioritySort: the most important pod first, and among equals the one that has waited longest."""

from __future__ import annotations

from typing import Final

from kubesched.scheduler.framework import QueuedPod, QueueSortPlugin

NAME: Final = "PrioritySort"


class PrioritySort(QueueSortPlugin):
    """Orders the active queue by descending priority, then by the time of the last addition."""

    name = NAME

    def sort_key(self, pod: QueuedPod) -> tuple[int, float]:
        return (-pod.info.template.priority, pod.timestamp)
