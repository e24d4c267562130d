"""QOSSort: among pods of equal priority, Guaranteed before Burstable before BestEffort."""

from __future__ import annotations

from typing import Final

from kubesched.contrib.quality_of_service import QualityOfService, quality_of_service
from kubesched.framework import QueuedPod, QueueSortPlugin

NAME: Final = "QOSSort"


class QOSSort(QueueSortPlugin):
    """Orders the active queue by priority, then by quality of service, then by the time of the last addition."""

    name = NAME

    def sort_key(self, pod: QueuedPod) -> tuple[int, int, float]:
        template = pod.info.template
        quality = template.memo.get(QualityOfService)
        if quality is None:
            quality = template.memo[QualityOfService] = quality_of_service(template)
        return (-template.priority, quality, pod.timestamp)
