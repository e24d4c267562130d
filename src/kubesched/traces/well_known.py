"""Names that say nothing about who runs a cluster, and that scheduling or people need to recognise."""

from __future__ import annotations

from typing import Final

ZONE_KEYS: Final = frozenset(
    {
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.cinder.csi.openstack.org/zone",
        "topology.disk.csi.azure.com/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.gke.io/zone",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Labels with zones and regions; those of CSI drivers stand in for Kubernetes' own."""

METADATA_NAME: Final = "kubernetes.io/metadata.name"
"""The label of every namespace with its name."""

KEYS_WITH_PUBLIC_VALUES: Final = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
    }
)

KEYS: Final = (
    ZONE_KEYS
    | KEYS_WITH_PUBLIC_VALUES
    | {
        METADATA_NAME,
        "kubernetes.io/hostname",
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        *(
            f"app.kubernetes.io/{part}"
            for part in ("component", "instance", "managed-by", "name", "part-of", "version")
        ),
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-name",
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "pod-template-generation",
        "pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Keys of labels and taints."""

NAMESPACES: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
PRIORITY_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
KINDS_OF_OWNERS: Final = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "Node", "Pod", "ReplicaSet", "ReplicationController", "StatefulSet"}
)
