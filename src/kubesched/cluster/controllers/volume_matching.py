"""Which of the volumes that exist suits a claim best."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.records import WorkloadRecord
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity


def best_volume(claim: WorkloadRecord, volumes: Iterable[WorkloadRecord]) -> WorkloadRecord | None:
    """The smallest free volume that has all that the claim asks for (`FindMatchingVolume`)."""
    wanted = _storage(claim.spec.get("resources", {}).get("requests"))
    fitting = [item for item in volumes if _is_free(item) and _suits(item, claim) and _size(item) >= wanted]
    return min(fitting, key=lambda item: (_size(item), item.metadata.name), default=None)


def _suits(volume: WorkloadRecord, claim: WorkloadRecord) -> bool:
    if volume.spec.get("storageClassName", "") != claim.spec.get("storageClassName", ""):
        return False
    if volume.spec.get("volumeMode", "Filesystem") != claim.spec.get("volumeMode", "Filesystem"):
        return False
    if not set(claim.spec.get("accessModes") or ()) <= set(volume.spec.get("accessModes") or ()):
        return False
    selector = claim.spec.get("selector")
    return selector is None or object_selector(selector).matches(volume.metadata.labels)


def _is_free(volume: WorkloadRecord) -> bool:
    return not volume.spec.get("claimRef") and volume.metadata.deletion_timestamp is None


def _size(volume: WorkloadRecord) -> int:
    return _storage(volume.spec.get("capacity"))


def _storage(amounts: Json | None) -> int:
    return Quantity.parse((amounts or {}).get("storage", "0")).value()
