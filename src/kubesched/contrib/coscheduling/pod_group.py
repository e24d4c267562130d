"""PodGroup of scheduling.x-k8s.io/v1alpha1, and the label by which a pod names its group."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from kubesched.framework import CustomObject, CustomResource, KubeStruct, Pod, Quantity

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"


class PodGroupSpec(KubeStruct):
    """`schedule_timeout_seconds` is how long a pod waits on its node for the others."""

    min_member: int = 0
    min_resources: dict[str, Quantity] | None = None
    schedule_timeout_seconds: int | None = None


class PodGroupStatus(KubeStruct):
    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: datetime | None = None


class PodGroup(CustomObject):
    resource = CustomResource("scheduling.x-k8s.io/v1alpha1", "podgroups")

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


def group_name(labels: Mapping[str, str]) -> str:
    """The name of the group that these labels of a pod give; empty if it belongs to none."""
    return labels.get(POD_GROUP_LABEL, "")


def group_key(pod: Pod) -> str:
    """`namespace/name` of the pod's group; empty if it belongs to none."""
    name = group_name(pod.metadata.labels)
    return f"{pod.metadata.namespace}/{name}" if name else ""
