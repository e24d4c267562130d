"""The tables of volumes, claims, storage classes and CSI objects."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.tables.layout import NONE, UNSET, Column, TableLayout, age_of, columns, name_of
from kubesched.objects.base import Json

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _phase(value: Json) -> str:
    if value["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str((value.get("status") or {}).get("phase", ""))


def _class(value: Json) -> str:
    annotations = value["metadata"].get("annotations") or {}
    return str(annotations.get(CLASS_ANNOTATION) or (value.get("spec") or {}).get("storageClassName", ""))


def _volume(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    claim = spec.get("claimRef")
    return [
        name_of(value),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(value),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(value),
        spec.get("volumeAttributesClassName", UNSET),
        (value.get("status") or {}).get("reason", ""),
        age_of(value, now),
        spec.get("volumeMode", UNSET),
    ]


def _claim(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    bound = bool(spec.get("volumeName"))
    return [
        name_of(value),
        _phase(value),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        _class(value),
        spec.get("volumeAttributesClassName", UNSET),
        age_of(value, now),
        spec.get("volumeMode", UNSET),
    ]


def _storage_class(value: Json, now: float) -> list[Any]:
    return [
        name_of(value),
        value.get("provisioner", ""),
        value.get("reclaimPolicy", "Delete"),
        value.get("volumeBindingMode", "Immediate"),
        value.get("allowVolumeExpansion", False),
        age_of(value, now),
    ]


def _csi_node(value: Json, now: float) -> list[Any]:
    return [name_of(value), len((value.get("spec") or {}).get("drivers") or ()), age_of(value, now)]


def _csi_driver(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    requests = spec.get("tokenRequests")
    return [
        name_of(value),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if requests is None else ",".join(request.get("audience", "") for request in requests),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(value, now),
    ]


def _attachment(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    return [
        name_of(value),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        (value.get("status") or {}).get("attached", False),
        age_of(value, now),
    ]


def _attributes_class(value: Json, now: float) -> list[Any]:
    return [name_of(value), value.get("driverName", ""), age_of(value, now)]


VOLUMES: Final = TableLayout(
    columns(
        "Name",
        "Capacity",
        "Access Modes",
        "Reclaim Policy",
        "Status",
        "Claim",
        "StorageClass",
        "VolumeAttributesClass",
        "Reason",
        "Age",
        wide=("VolumeMode",),
    ),
    _volume,
)
CLAIMS: Final = TableLayout(
    columns(
        "Name",
        "Status",
        "Volume",
        "Capacity",
        "Access Modes",
        "StorageClass",
        "VolumeAttributesClass",
        "Age",
        wide=("VolumeMode",),
    ),
    _claim,
)
STORAGE_CLASSES: Final = TableLayout(
    columns("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"), _storage_class
)
CSI_NODES: Final = TableLayout(columns("Name", "Drivers", "Age", Drivers="integer"), _csi_node)
CSI_DRIVERS: Final = TableLayout(
    columns(
        "Name",
        "AttachRequired",
        "PodInfoOnMount",
        "StorageCapacity",
        "TokenRequests",
        "RequiresRepublish",
        "Modes",
        "Age",
        AttachRequired="boolean",
        PodInfoOnMount="boolean",
        StorageCapacity="boolean",
        RequiresRepublish="boolean",
    ),
    _csi_driver,
)
ATTACHMENTS: Final = TableLayout(
    (
        Column("Name", format="name"),
        Column("Attacher", format="name"),
        *columns("PV", "Node", "Attached", "Age", Attached="boolean"),
    ),
    _attachment,
)
ATTRIBUTES_CLASSES: Final = TableLayout(columns("Name", "DriverName", "Age"), _attributes_class)
