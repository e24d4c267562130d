"""Volumes, claims and storage classes."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.problems import Problem, forbidden, invalid, required, unsupported
from kubesched.cluster.apiserver.validation.metadata import IMMUTABLE
from kubesched.objects.base import Json

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_CLAIM_FREE: Final = frozenset({"resources", "volumeAttributesClassName"})
_CLAIM_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_VOLUME_PLAIN: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def claim_problems(claim: Json) -> list[Problem]:
    spec = claim.get("spec") or {}
    problems = _access_modes(spec)
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        problems.append(required("spec.resources[storage]"))
    if spec.get("volumeMode") not in ("Block", "Filesystem"):
        problems.append(unsupported("spec.volumeMode", spec.get("volumeMode", ""), ("Block", "Filesystem")))
    return problems


def claim_update_problems(claim: Json, old: Json) -> list[Problem]:
    """Only the binding, once, and the size of a bound claim may change."""
    new_spec, old_spec = claim.get("spec") or {}, old.get("spec") or {}
    free = set(_CLAIM_FREE)
    if not old_spec.get("volumeName"):
        free.add("volumeName")
    if "storageClassName" not in old_spec:
        free.add("storageClassName")  # a default class that came later (KEP-3333)
    changed = [key for key in {*new_spec, *old_spec} - free if new_spec.get(key) != old_spec.get(key)]
    if changed:
        return [forbidden("spec", _CLAIM_FIXED)]
    bound = (old.get("status") or {}).get("phase") == "Bound"
    if not bound and (new_spec.get("resources") or {}) != (old_spec.get("resources") or {}):
        return [forbidden("spec", _CLAIM_FIXED)]
    return []


def volume_problems(volume: Json) -> list[Problem]:
    spec = volume.get("spec") or {}
    problems = _access_modes(spec)
    if not spec.get("capacity"):
        problems.append(required("spec.capacity"))
    if set(spec.get("capacity") or {}) != {"storage"}:
        problems.append(unsupported("spec.capacity", spec.get("capacity"), ("storage",)))
    if set(spec) <= _VOLUME_PLAIN:
        problems.append(required("spec", "must specify a volume type"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy not in RECLAIM_POLICIES:
        problems.append(unsupported("spec.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES))
    return problems


def storage_class_problems(storage_class: Json) -> list[Problem]:
    problems: list[Problem] = []
    if not storage_class.get("provisioner"):
        problems.append(required("provisioner"))
    if storage_class.get("reclaimPolicy") not in ("Delete", "Retain"):
        problems.append(unsupported("reclaimPolicy", storage_class.get("reclaimPolicy"), ("Delete", "Retain")))
    if storage_class.get("volumeBindingMode") not in BINDING_MODES:
        problems.append(unsupported("volumeBindingMode", storage_class.get("volumeBindingMode"), BINDING_MODES))
    return problems


def storage_class_update_problems(storage_class: Json, old: Json) -> list[Problem]:
    problems: list[Problem] = []
    if storage_class.get("parameters") != old.get("parameters"):
        problems.append(forbidden("parameters", "updates to parameters are forbidden."))
    fixed = ("provisioner", "reclaimPolicy", "volumeBindingMode")
    changed = [key for key in fixed if storage_class.get(key) != old.get(key)]
    # kube-apiserver does not show a provisioner since v1.37.
    shown = {key: None if key == "provisioner" else storage_class.get(key) for key in changed}
    return problems + [invalid(key, value, IMMUTABLE) for key, value in shown.items()]


def _access_modes(spec: Json) -> list[Problem]:
    modes = spec.get("accessModes") or ()
    if not modes:
        return [required("spec.accessModes", "at least 1 access mode is required")]
    return [unsupported("spec.accessModes", mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
