"""GPUSharing: which nodes have room for a pod on their GPUs, and which of them it gets.

NodeResourcesFit looks at the sum of what a node's GPUs have left; this plugin looks at each of them. The GPUs are
chosen when the pod is assumed, and written to it as an annotation before it is bound (PreBind).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kubesched.contrib.gpu_sharing.devices import (
    DEVICES,
    WHOLE,
    DeviceTable,
    as_annotation,
    best_fit,
    is_share,
    requested,
)
from kubesched.framework import (
    FIXED,
    SKIP,
    SUCCESS,
    Action,
    ClientError,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    NodeView,
    PodTemplate,
    PreBindPlugin,
    Reason,
    ReservePlugin,
    Resource,
    Status,
    Verdict,
)
from kubesched.objects import Pod

CHOSEN: Final = "GPUSharing: the GPUs of the pod"
"""The key of the cycle's state; all policies use it, so that of several that are enabled the first one chooses."""

NO_GPUS: Final = Reason.unresolvable("node(s) had no GPUs")
NO_ROOM: Final = Reason.unschedulable("node(s) had no GPU with enough left")
TOO_FEW: Final = Reason.unschedulable("node(s) had too few free GPUs")
NO_WHOLE_NUMBER: Final = Reason.unresolvable("more than one GPU can be requested in whole numbers only")


class GPUSharing(FilterPlugin, ReservePlugin, PreBindPlugin):
    """Pods share the GPUs of a node, each within one of them, or get whole ones. It has no opinion about nodes.

    A share goes to the fullest GPU on which it fits.
    """

    name = "GPUSharing"
    depends_on = DependsOn.NODE_AND_PODS
    changes_assumed_pod = True
    pre_binds_in_parallel = True

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self.handle = handle
        self.devices = DeviceTable(handle.cluster)

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.NODE_AND_PODS if requested(pod) else DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return requested(pod)

    def external_version(self, pod: PodTemplate) -> Hashable:
        return FIXED

    def concerns(self, pod: PodTemplate) -> bool:
        return requested(pod) > 0

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(ClusterEvent(Resource.POD, Action.DELETE)),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)),
        )

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        thousandths = requested(pod)
        if not thousandths:
            return Verdict.fits(nodes)
        free, _ = self.devices.view(nodes)
        without = self.devices.count[nodes.rows] == 0
        if is_share(thousandths):
            return Verdict.first_of(nodes, (without, NO_GPUS), (free.max(axis=1) < thousandths, NO_ROOM))
        count, rest = divmod(thousandths, WHOLE)
        if rest:
            return Verdict.rejects(nodes, where=nodes.exists, reason=NO_WHOLE_NUMBER)
        return Verdict.first_of(nodes, (without, NO_GPUS), ((free == WHOLE).sum(axis=1) < count, TOO_FEW))

    def choose(self, pod: PodTemplate, free: Sequence[int], node_name: str) -> tuple[int, ...]:
        """Which GPUs of the chosen node the pod gets, given what each has left. Policies may differ in that."""
        return best_fit(free, requested(pod))

    def assumed_pod(self, state: CycleState, pod: Pod, node_name: str) -> Pod:
        """With its GPUs as an annotation, so that the next pod finds them taken."""
        template = state.pod.template
        if not requested(template) or state.get(CHOSEN) is not None:
            return pod
        devices = as_annotation(self.choose(template, self.devices.at(node_name), node_name))
        state.write(CHOSEN, devices)
        annotations = {**pod.metadata.annotations, DEVICES: devices}
        return replace(pod, metadata=replace(pod.metadata, annotations=annotations))

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS if state.get(CHOSEN) else Status.unschedulable("the GPUs were taken by another pod")

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing: a pod that is no longer assumed takes its annotation along."""

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS if state.get(CHOSEN) else SKIP

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The uid guards against writing to a newer pod of the same name."""
        metadata = {"uid": pod.metadata.uid, "annotations": {DEVICES: state.read(CHOSEN, str)}}
        try:
            await self.handle.api.patch(
                Pod, pod.metadata.name, {"metadata": metadata}, namespace=pod.metadata.namespace
            )
        except ClientError as error:
            return Status.failed(error)
        return SUCCESS
