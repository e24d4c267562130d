"""The operations that workloads are made of, field by field as scheduler_perf names them. Other fields are errors."""

from __future__ import annotations

from typing import Literal

import msgspec


class _Options(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Fields in camelCase, and no others."""


class NodeAllocatable(_Options):
    """What `nodeAllocatableStrategy` adds to nodes: resources, and CSI drivers with their limits."""

    node_allocatable: dict[str, str] = {}
    csi_node_allocatable: dict[str, dict[str, int]] = {}
    migrated_plugins: list[str] = []


class RoundRobinLabel(_Options):
    label_key: str
    label_values: list[str]


class UniqueLabel(_Options):
    label_key: str


class CreateNodes(_Options, tag_field="opcode", tag="createNodes"):
    count: int = 0
    node_template_path: str = ""
    node_allocatable_strategy: NodeAllocatable | None = None
    label_node_prepare_strategy: RoundRobinLabel | None = None
    unique_node_label_strategy: UniqueLabel | None = None


class CreateNamespaces(_Options, tag_field="opcode", tag="createNamespaces"):
    prefix: str
    count: int = 0
    namespace_template_path: str = ""


class CreatePods(_Options, tag_field="opcode", tag="createPods"):
    count: int = 0
    steady_state: bool = False
    duration: str = ""
    collect_metrics: bool = False
    namespace: str = ""
    pod_template_path: str = ""
    skip_wait_to_completion: bool = False
    persistent_volume_template_path: str = ""
    persistent_volume_claim_template_path: str = ""

    def __post_init__(self) -> None:
        if self.collect_metrics and self.skip_wait_to_completion:
            raise ValueError("collectMetrics and skipWaitToCompletion exclude each other")
        if self.steady_state and self.skip_wait_to_completion:
            raise ValueError("steadyState and skipWaitToCompletion exclude each other")
        if self.steady_state and not self.duration:
            raise ValueError("steadyState needs a duration")
        if bool(self.persistent_volume_template_path) != bool(self.persistent_volume_claim_template_path):
            raise ValueError("persistentVolumeTemplatePath and persistentVolumeClaimTemplatePath go together")


class CreatePodSets(_Options, tag_field="opcode", tag="createPodSets"):
    namespace_prefix: str
    create_pods_op: CreatePods
    count: int = 0


class DeletePods(_Options, tag_field="opcode", tag="deletePods"):
    namespace: str
    label_selector: dict[str, str] = {}
    skip_wait_to_completion: bool = False
    delete_pods_per_second: int = 0


class CreateAny(_Options, tag_field="opcode", tag="createAny"):
    template_path: str
    namespace: str = ""
    count: int = 1


class UpdateAny(_Options, tag_field="opcode", tag="updateAny"):
    template_path: str
    namespace: str = ""
    count: int = 1
    update_per_second: int = 0
    subresources: list[str] = []


class Churn(_Options, tag_field="opcode", tag="churn"):
    mode: Literal["create", "recreate"]
    template_paths: list[str]
    number: int = 0
    interval_milliseconds: int = 500
    namespace: str = ""

    def __post_init__(self) -> None:
        if self.mode == "recreate" and self.number <= 0:
            raise ValueError("mode recreate needs a number")


class Barrier(_Options, tag_field="opcode", tag="barrier"):
    namespaces: list[str] = []
    label_selector: dict[str, str] = {}
    stage_requirement: Literal["Scheduled", "Attempted"] = "Scheduled"


class Sleep(_Options, tag_field="opcode", tag="sleep"):
    duration: str


class StartCollectingMetrics(_Options, tag_field="opcode", tag="startCollectingMetrics"):
    namespaces: list[str]
    name: str = ""
    label_selector: dict[str, str] = {}


class StopCollectingMetrics(_Options, tag_field="opcode", tag="stopCollectingMetrics"):
    pass


class CreateResourceDriver(_Options, tag_field="opcode", tag="createResourceDriver"):
    driver_name: str
    nodes: str
    max_claims_per_node: int = 0


class CreateResourceClaims(_Options, tag_field="opcode", tag="createResourceClaims"):
    namespace: str
    template_path: str
    count: int = 0


class AllocResourceClaims(_Options, tag_field="opcode", tag="allocResourceClaims"):
    namespace: str = ""


Operation = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreatePodSets
    | DeletePods
    | CreateAny
    | UpdateAny
    | Churn
    | Barrier
    | Sleep
    | StartCollectingMetrics
    | StopCollectingMetrics
    | CreateResourceDriver
    | CreateResourceClaims
    | AllocResourceClaims
)


def opcode(operation: Operation) -> str:
    """The name that files use for an operation."""
    return str(operation.__struct_config__.tag)
