"""storage.k8s.io."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.catalog.parts import status_of
from kubesched.cluster.apiserver.defaulting import volumes as volume_defaults
from kubesched.cluster.apiserver.resource import Resource, Rules
from kubesched.cluster.apiserver.tables import volumes as volume_tables
from kubesched.cluster.apiserver.tables.layout import NAME_AND_CREATION
from kubesched.cluster.apiserver.validation import volumes as volume_rules

STORAGE: Final = (
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="CSIDriver",
        plural="csidrivers",
        struct_name="storage.v1.CSIDriver",
        namespaced=False,
        table=volume_tables.CSI_DRIVERS,
        rules=Rules(
            unconditional_update=False,
            returns_deleted=True,
            default=volume_defaults.default_csi_driver,
        ),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="CSINode",
        plural="csinodes",
        struct_name="storage.v1.CSINode",
        namespaced=False,
        subresources=(status_of("CSINode"),),
        table=volume_tables.CSI_NODES,
        rules=Rules(unconditional_update=False, returns_deleted=True),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="CSIStorageCapacity",
        plural="csistoragecapacities",
        struct_name="storage.v1.CSIStorageCapacity",
        table=NAME_AND_CREATION,
        rules=Rules(unconditional_update=False),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="StorageClass",
        plural="storageclasses",
        struct_name="storage.v1.StorageClass",
        namespaced=False,
        short_names=("sc",),
        table=volume_tables.STORAGE_CLASSES,
        rules=Rules(
            validate=volume_rules.storage_class_problems,
            validate_update=volume_rules.storage_class_update_problems,
            returns_deleted=True,
            default=volume_defaults.default_storage_class,
        ),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="VolumeAttachment",
        plural="volumeattachments",
        struct_name="storage.v1.VolumeAttachment",
        namespaced=False,
        subresources=(status_of("VolumeAttachment"),),
        table=volume_tables.ATTACHMENTS,
        rules=Rules(unconditional_update=False, returns_deleted=True),
    ),
    Resource(
        group="storage.k8s.io",
        version="v1",
        kind="VolumeAttributesClass",
        plural="volumeattributesclasses",
        struct_name="storage.v1.VolumeAttributesClass",
        namespaced=False,
        short_names=("vac",),
        table=volume_tables.ATTRIBUTES_CLASSES,
        rules=Rules(returns_deleted=True),
    ),
)
