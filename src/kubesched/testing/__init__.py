"""Builders and fakes for tests of plugins and of kubesched itself. Public."""

from __future__ import annotations

from kubesched.testing.builders import (
    EPOCH,
    HOSTNAME_LABEL,
    REGION_LABEL,
    ZONE_LABEL,
    make_node,
    make_pod,
)
from kubesched.testing.device_builders import (
    make_device_class,
    make_device_taint_rule,
    make_devices_of,
    make_resource_claim,
    make_resource_claim_template,
    make_resource_slice,
)
from kubesched.testing.promises import check_promises
from kubesched.testing.storage_builders import (
    make_csi_capacity,
    make_csi_driver,
    make_csi_node,
    make_pv,
    make_pvc,
    make_storage_class,
    make_volume_attachment,
)
from kubesched.testing.workload_builders import (
    make_namespace,
    make_pdb,
    make_pod_group,
    make_priority_class,
    make_replica_set,
    make_replication_controller,
    make_service,
    make_stateful_set,
)

__all__ = [
    "EPOCH",
    "HOSTNAME_LABEL",
    "REGION_LABEL",
    "ZONE_LABEL",
    "check_promises",
    "make_csi_capacity",
    "make_csi_driver",
    "make_csi_node",
    "make_device_class",
    "make_device_taint_rule",
    "make_devices_of",
    "make_namespace",
    "make_node",
    "make_pdb",
    "make_pod",
    "make_pod_group",
    "make_priority_class",
    "make_pv",
    "make_pvc",
    "make_replica_set",
    "make_replication_controller",
    "make_resource_claim",
    "make_resource_claim_template",
    "make_resource_slice",
    "make_service",
    "make_stateful_set",
    "make_storage_class",
    "make_volume_attachment",
]
