"""How many pods every controller has, counted as they change."""

from __future__ import annotations

from kubesched.cluster.informer import Informer
from kubesched.cluster.records import PodRecord, controller_uid


class PodCounts:
    """By the controller's uid: pods that count (neither finished nor being deleted), and how many of them are ready."""

    def __init__(self, pods: Informer[PodRecord]) -> None:
        self._active: dict[str, int] = {}
        self._ready: dict[str, int] = {}
        pods.listen(self._changed)

    def active(self, uid: str) -> int:
        return self._active.get(uid, 0)

    def ready(self, uid: str) -> int:
        return self._ready.get(uid, 0)

    def _changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if old is not None:
            self._count(old, -1)
        if new is not None:
            self._count(new, 1)

    def _count(self, pod: PodRecord, change: int) -> None:
        if pod.is_active and (uid := controller_uid(pod.metadata)):
            _add(self._active, uid, change)
            if pod.is_ready:
                _add(self._ready, uid, change)


def _add(counts: dict[str, int], uid: str, change: int) -> None:
    total = counts.get(uid, 0) + change
    if total:
        counts[uid] = total
    else:
        counts.pop(uid, None)
